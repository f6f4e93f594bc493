import { asPerson, by } from './writing-stage.ts'

export const agentCases = {
  createAgent: asPerson(async ({ mark }) => ({
    body: {
      slug: 'helper',
      name: mark,
      description: mark,
      instructions: 'Help.',
      model: null,
      tools: ['ask-human'],
      skills: [],
      primary: true,
    },
  })),
  updateAgent: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'helper' })
    return {
      params: { agentId: 'helper' },
      body: { name: stage.mark, description: stage.mark, instructions: 'Help.', tools: [], skills: ['a'] },
    }
  }),
  restoreAgentVersion: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'helper', name: stage.mark })
    await by(stage, person)('PATCH', '/agents/helper', { name: 'Other', maxCostPerRun: 70, outside: 'never' })
    return { params: { agentId: 'helper', versionNumber: '1' } }
  }),
  deleteAgent: asPerson(async (stage, person) => {
    await by(stage, person)('POST', '/agents', { slug: 'helper' })
    return { params: { agentId: 'helper' } }
  }),
}
