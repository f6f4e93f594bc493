import type { CallOptions } from '../client.ts'
import { ExecutionHandle } from '../execution-handle.ts'
import { Skills as Printed, type RunSkillBody, runSkill } from '../generated/skills.ts'

/** The skills of the workspace. */
export class Skills extends Printed {
  /** Starts a skill. Follow it through what this gives. */
  async run(slug: string, body: RunSkillBody, options?: CallOptions): Promise<ExecutionHandle> {
    const { executionId } = await this.client.call(runSkill, { params: { slug }, body }, options)
    return new ExecutionHandle(this.client, executionId)
  }
}
