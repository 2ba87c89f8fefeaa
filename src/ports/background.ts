/** Work that goes on after the response: platforms that stop an isolate between requests must be told of it. */
export interface Background {
  /** Keeps the isolate running until `work` has settled, as far as the platform allows. Never throws; a rejection is nobody's. */
  waitUntil(work: Promise<unknown>): void;
}
