import type { Suspicion } from "../ports/state.ts";
import type { Board } from "./board.ts";
import type { UpstreamDefinition } from "./definition.ts";

/** Targets that the upstream seems to count together, why we think so, and the setting that would declare it. */
export interface SuspectedGroup {
  readonly targets: readonly string[];
  readonly evidence: string;
  readonly setting: string;
}

/** A suspicion in the operator's terms. */
export function toSuspectedGroup(
  { buckets, before, usual, refused }: Suspicion,
  board: Board,
  definition: UpstreamDefinition,
): SuspectedGroup {
  const targets = [...board.all()].filter((target) => buckets.includes(target.bucket));
  const times = (calls: number) => `${calls.toFixed(1)} times`;
  return {
    targets: targets.map((target) => target.id),
    evidence: `in the window before a refusal the others were used ${times(before)}, usually ${times(usual)} (${refused} refusals)`,
    setting: definition.groupSetting(targets.map((target) => target.position)),
  };
}
