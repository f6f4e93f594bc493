import { countHeaviest } from '../support/count-heaviest.ts'
import { heavyRoutes } from '../support/heavy-calls.ts'

countHeaviest(heavyRoutes.filter(({ route }) => route.method === 'GET'))
