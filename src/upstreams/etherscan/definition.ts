import type { UpstreamDefinition } from "../../engine/definition.ts";
import type { Target } from "../../engine/target.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { formatIndexList } from "../../lib/index-list.ts";
import { parseBaseUrls } from "./base-urls.ts";
import type { EtherscanCall } from "./call.ts";
import type { EtherscanFace } from "./face.ts";
import { groupPositions, slicePositions } from "./key-slice.ts";
import { parseKeys } from "./keys.ts";
import type { EtherscanOptions } from "./options.ts";
import { etherscanProtocol } from "./protocol.ts";
import { booleanOption, numberOption, strategyOption } from "./settings.ts";

type Groups = readonly (readonly number[])[];

/** Where we stop below the day's cap: another service may spend the key too, and its calls are not in our count. */
const DAILY_SHARE = 0.95;

/**
 * A pool of Etherscan keys, v2 or a clone's.
 *
 * ```ts
 * import { etherscan } from "@sluice/sluice/etherscan";
 *
 * const pool = etherscan({ keys: "key1,key2,key3,key4,key5", groups: "1-2;4,5" });
 * console.assert(pool.targets.length === 5);
 * ```
 * Throws `config_invalid`; the message names the option and what to write, and holds no key.
 */
export function etherscan(options: EtherscanOptions = {}): UpstreamDefinition<EtherscanCall, EtherscanFace> {
  const keys = parseKeys(options.keys);
  const groups = keys.length === 0 ? [] : groupPositions(keys.length, options.groups);
  const selected = slicePositions(keys.length, options.slice);
  const positions = selected.length === 0 ? slicePositions(keys.length, undefined) : selected;
  const dailyCap = options.dailyCap === null ? null : numberOption(options, "dailyCap");
  return {
    protocol: etherscanProtocol,
    targets: toTargets(keys, parseBaseUrls(options.baseUrls, keys.length), positions, groups),
    terms: {
      limit: numberOption(options, "callsPerSec"),
      windowMs: numberOption(options, "windowMs"),
      jitterMs: numberOption(options, "jitterMs"),
      dailyStop: dailyCap === null ? null : Math.floor(dailyCap * DAILY_SHARE),
      dailyPacing: booleanOption(options.dailyPacing, "dailyPacing", false),
    },
    strategy: strategyOption(options.strategy),
    maxAttempts: numberOption(options, "maxAttempts"),
    maxWaitMs: numberOption(options, "maxWaitMs"),
    maxQueue: numberOption(options, "maxQueue"),
    timeoutMs: numberOption(options, "timeoutMs"),
    maxResponseBytes: numberOption(options, "maxResponseBytes"),
    missing: keys.length === 0 ? "ETHERSCAN_KEYS" : null,
    warnings:
      keys.length > 0 && selected.length === 0
        ? [`slice (ETHERSCAN_KEY_SLICE) selects none of the ${keys.length} keys, so all of them are used.`]
        : [],
    groupSetting: (joined) => `ETHERSCAN_KEY_GROUPS=${formatGroups(mergeGroup(groups, joined))}`,
    secrets: keys,
    transport: options.transport,
    onEvent: options.onEvent,
  };
}

function toTargets(
  keys: readonly string[],
  baseUrls: readonly string[],
  positions: readonly number[],
  groups: Groups,
): readonly Target[] {
  const ids = keys.map((key) => fingerprint(key));
  const idAt = (position: number): string => ids[position - 1] ?? "";
  const buckets = new Map<number, string>();
  for (const group of groups) {
    // What another service uses of the group is not ours to count.
    const ours = group.filter((position) => positions.includes(position));
    if (ours.length < 2) continue;
    const bucket = `g${fingerprint(ours.map(idAt).sort().join(","))}`;
    for (const position of ours) buckets.set(position, bucket);
  }
  return positions.map((position) => ({
    id: idAt(position),
    bucket: buckets.get(position) ?? idAt(position),
    baseUrl: baseUrls[position - 1] ?? "",
    credential: keys[position - 1] ?? "",
    priority: position,
    position,
  }));
}

/** The groups with `positions` joined to one, together with every group that shares a key with them. */
function mergeGroup(groups: Groups, positions: readonly number[]): Groups {
  const touched = groups.filter((group) => group.some((position) => positions.includes(position)));
  const others = groups.filter((group) => !touched.includes(group));
  return [...others, [...positions, ...touched.flat()]].sort((a, b) => Math.min(...a) - Math.min(...b));
}

function formatGroups(groups: Groups): string {
  return groups.map((group) => formatIndexList(group)).join(";");
}
