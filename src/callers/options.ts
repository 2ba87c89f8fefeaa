/**
 * Who may call: the holders of these tokens, or everybody (`"public"`). Left out: this machine only.
 * A string of tokens is split at commas, as it comes from `SLUICE_TOKENS`.
 */
export type CallersOption = { readonly tokens?: string | readonly string[] | undefined } | "public";

/** The operator's token, for `/-/stats`, `/-/events`, `/-/admin/…` and critical calls. Left out: this machine only. */
export interface AdminOption {
  readonly token?: string | undefined;
}
