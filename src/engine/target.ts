/** One credential at one base URL: the thing a call is sent to. */
export interface Target {
  /** Fingerprint of the credential; safe to show. */
  readonly id: string;
  /** The unit that the upstream counts in; several targets may share one. */
  readonly bucket: string;
  readonly baseUrl: string;
  /** The secret itself; absent for endpoints without one. Never leaves for anything but `baseUrl`. */
  readonly credential?: string;
  /** Lower goes first under the `priority` strategy. */
  readonly priority: number;
  /** 1-based place in the operator's own list, for messages that name a setting. */
  readonly position: number;
}
