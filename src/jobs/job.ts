/** Something that is done now and then, whether or not anybody calls. */
export interface Job {
  readonly name: string;
  /** Returns what was done, in a few words. Throws when it could not be done. */
  run(): Promise<string>;
}

export interface JobReport {
  readonly job: string;
  readonly ok: boolean;
  /** What was done, or why not; free of secrets. */
  readonly detail: string;
}
