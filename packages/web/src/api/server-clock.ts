/**
 * The server's time, told from the date of its answers. Each names a second, so the difference to this device lies
 * within one; what all answers agree on is narrower.
 */
export class ServerClock {
  #least = Number.NEGATIVE_INFINITY
  #most = Number.POSITIVE_INFINITY

  /** Takes the date of an answer that came at this moment of the device. */
  learn(date: string | null, deviceMs: number): void {
    const second = Date.parse(date ?? '')
    if (Number.isNaN(second)) return
    const [least, most] = [second - deviceMs, second + 1000 - deviceMs]
    // A clock that was set, or has drifted: what was known before is worth nothing.
    const agrees = least <= this.#most && most >= this.#least
    this.#least = agrees ? Math.max(least, this.#least) : least
    this.#most = agrees ? Math.min(most, this.#most) : most
  }

  /** The device's own time until an answer has come. */
  at(deviceMs: number): number {
    if (this.#most === Number.POSITIVE_INFINITY) return deviceMs
    return deviceMs + (this.#least + this.#most) / 2
  }
}
