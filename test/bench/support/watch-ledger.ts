import type { Target } from "../../../src/engine/target.ts";
import type { ExchangeReply, ExchangeRequest, Ledger } from "../../../src/ports/ledger.ts";

export interface RefusedCall {
  /** Instant of its slot, epoch ms. */
  readonly at: number;
  /** 1-based place of the key. */
  readonly position: number;
  /** Whether it was the probe of a sick key; else it was an ordinary choice. */
  readonly probe: boolean;
}

/**
 * A ledger that notes where refusals come from. Without `probes` it takes the probes off the lists of places: a chooser
 * that knows the truth has no use for them.
 */
export function watchLedger(
  inner: Ledger,
  targets: readonly Target[],
  options: { readonly probes: boolean },
): { readonly ledger: Ledger; readonly refused: readonly RefusedCall[] } {
  const refused: RefusedCall[] = [];
  const probes = new Set<string>();
  const positions = new Map(targets.map(({ id, position }) => [id, position]));
  const nameOf = ({ target, at }: { target: string; at: number }): string => `${target} ${at}`;

  const note = (reply: ExchangeReply): ExchangeReply => {
    for (const lease of reply.leases) if (lease.probe) probes.add(nameOf(lease));
    return reply;
  };
  const ledger: Ledger = {
    exchange(pool, request) {
      for (const item of request.settle) {
        const probe = probes.delete(nameOf(item));
        if (item.outcome !== "refused") continue;
        refused.push({ at: item.at, position: positions.get(item.target) ?? 0, probe });
      }
      const reply = inner.exchange(pool, options.probes ? request : withoutProbes(request));
      return reply instanceof Promise ? reply.then(note) : note(reply);
    },
  };
  return { ledger, refused };
}

function withoutProbes(request: ExchangeRequest): ExchangeRequest {
  const want = request.want.map((each) => ({ ...each, picks: each.picks.filter((pick) => pick.probe !== true) }));
  return { ...request, want };
}
