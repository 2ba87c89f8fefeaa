import type { Coincidence, PoolHead, Suspicion } from "../ports/state.ts";

/** Buckets whose refusals are followed, and partners kept for each: bounds the pool's row to a few kilobytes. */
const FOLLOWED_MAX = 12;
/** Instants remembered to tell which buckets were in use in the window before a call. */
const RECENT_MAX = 64;
/** Evidence is halved when it holds this many calls, so that an old truth fades. */
const CALLS_MAX = 400;
/** Fewest calls on either side of the comparison. */
const SIDE_MIN = 12;
/** Fewest refusals, smallest difference of shares and smallest z that count as evidence. */
const REFUSED_MIN = 6;
const DIFFERENCE_MIN = 0.2;
const Z_MIN = 3.5;

type Recent = PoolHead["recent"];

export function remember(recent: Recent, used: Recent): Recent {
  return used.length === 0 ? recent : [...recent, ...used].slice(-RECENT_MAX);
}

/** Enters one answered call of `bucket` that left at `at`: which others were in use in the window before it? */
export function follow(
  head: Pick<PoolHead, "recent" | "coincidences">,
  call: { bucket: string; at: number; refused: boolean },
  windowMs: number,
): PoolHead["coincidences"] {
  const known = head.coincidences[call.bucket];
  if (known === undefined && (!call.refused || Object.keys(head.coincidences).length >= FOLLOWED_MAX)) {
    return head.coincidences;
  }
  const half = known !== undefined && known.calls >= CALLS_MAX ? 0.5 : 1;
  const refused = call.refused ? 1 : 0;
  const partners: Record<string, readonly [number, number]> = {};
  for (const [other, [calls, bad]] of Object.entries(known?.with ?? {})) partners[other] = [calls * half, bad * half];
  const others = new Set<string>();
  for (const [other, at] of head.recent) {
    if (other !== call.bucket && at > call.at - windowMs && at <= call.at) others.add(other);
  }
  for (const other of others) {
    const seen = partners[other];
    if (seen === undefined && Object.keys(partners).length >= FOLLOWED_MAX) continue;
    partners[other] = [(seen?.[0] ?? 0) + 1, (seen?.[1] ?? 0) + refused];
  }
  const entry: Coincidence = {
    calls: (known?.calls ?? 0) * half + 1,
    refused: (known?.refused ?? 0) * half + refused,
    with: partners,
  };
  return { ...head.coincidences, [call.bucket]: entry };
}

interface Shares {
  readonly together: number;
  readonly alone: number;
  readonly calls: number;
}

/** Two-proportion z test: is `bucket` refused more often while `other` is in use than while it is not? */
function evidence(entry: Coincidence | undefined, other: string): Shares | null {
  const [calls, refused] = entry?.with[other] ?? [0, 0];
  const callsAlone = (entry?.calls ?? 0) - calls;
  if (entry === undefined || calls < SIDE_MIN || callsAlone < SIDE_MIN || refused < REFUSED_MIN) return null;
  const together = refused / calls;
  const alone = (entry.refused - refused) / callsAlone;
  const pooled = entry.refused / entry.calls;
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / calls + 1 / callsAlone));
  const strong = together - alone >= DIFFERENCE_MIN && together - alone >= Z_MIN * deviation;
  return strong ? { together, alone, calls: Math.round(entry.calls) } : null;
}

/** Groups of buckets that hold each other's refusals: evidence is needed both ways, since load alone explains one. */
export function suspect(coincidences: PoolHead["coincidences"]): Suspicion[] {
  const ids = Object.keys(coincidences);
  const groups: { members: Set<string>; shares: Shares }[] = [];
  for (const [i, a] of ids.entries()) {
    for (const b of ids.slice(i + 1)) {
      const there = evidence(coincidences[a], b);
      const back = evidence(coincidences[b], a);
      if (there === null || back === null) continue;
      const joined = groups.find((group) => group.members.has(a) || group.members.has(b));
      if (joined === undefined) groups.push({ members: new Set([a, b]), shares: there });
      else joined.members.add(a).add(b);
    }
  }
  return groups.map(({ members, shares }) => ({ buckets: [...members].sort(), ...shares }));
}
