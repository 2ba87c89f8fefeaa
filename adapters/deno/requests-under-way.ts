/** Requests under way get this long to end when the server stops. */
const STOP_AFTER_MS = 10_000;

/** Counts what is under way, so that a server can wait for it. */
export class RequestsUnderWay {
  readonly #underWay = new Set<Promise<void>>();

  add(request: Promise<unknown>): void {
    const end = (): void => void this.#underWay.delete(ended);
    const ended: Promise<void> = request.then(end, end);
    this.#underWay.add(ended);
  }

  /** Resolves when all have ended, those that come meanwhile included, or after ten seconds. */
  async end(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), STOP_AFTER_MS)));
    while (this.#underWay.size > 0) {
      if ((await Promise.race([late, Promise.all(this.#underWay)])) === "late") break;
    }
    clearTimeout(timer);
  }
}
