/** Requests under way get this long to end when the server stops. */
const STOP_AFTER_MS = 10_000;
/** How often the server is asked what it is still sending. */
const LOOK_EVERY_MS = 5;

/** Counts what is under way, so that a server can wait for it. */
export class RequestsUnderWay {
  readonly #underWay = new Set<Promise<void>>();

  add(request: Promise<unknown>): void {
    const end = (): void => void this.#underWay.delete(ended);
    const ended: Promise<void> = request.then(end, end);
    this.#underWay.add(ended);
  }

  /** Resolves when all have been answered, and `unsent` counts none that is still being sent; or after ten seconds. */
  async end(unsent: () => number): Promise<void> {
    const until = performance.now() + STOP_AFTER_MS;
    // One turn at least, so that an answer of this very turn is handed over.
    do {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    } while ((this.#underWay.size > 0 || unsent() > 0) && performance.now() < until);
  }
}
