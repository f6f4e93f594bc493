import type { CallOptions } from '../client.ts'
import { type LaunchWorkflowBody, launchWorkflow, Workflows as Printed } from '../generated/workflows.ts'
import { RunHandle } from '../run-handle.ts'

/** The workflows of the workspace. */
export class Workflows extends Printed {
  /** Runs a workflow, named by slug, runtime id or declared id. */
  async launch(id: string, body: LaunchWorkflowBody = {}, options?: CallOptions): Promise<RunHandle> {
    const { runId } = await this.client.call(launchWorkflow, { params: { id }, body }, options)
    return new RunHandle(this.client, runId)
  }
}
