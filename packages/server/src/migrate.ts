import { migrate } from '#platform/migrate.ts'

const url = process.env['DATABASE_URL']
if (!url) {
  console.error('DATABASE_URL is not set: say which database to bring up to date')
  process.exit(2)
}
const applied = await migrate(url)
console.log(applied.length > 0 ? `Applied ${applied.join(', ')}` : 'The database is up to date')
