import { SluiceError } from "../../errors.ts";
import { expandIndexes, type IndexRange, parseIndexList } from "../../lib/index-list.ts";

/**
 * The keys that `spec` names, positions from 1: `"1-5"`, `"1,3,7"` or a mix. Absent, empty, or a spec that selects
 * nothing: all keys, since a service without a key serves nobody. Throws `config_invalid` for a spec it cannot read.
 *
 * ```ts
 * import { applyKeySlice } from "@sluice/sluice";
 *
 * applyKeySlice(["a", "b", "c"], "1,3"); // ["a", "c"]
 * ```
 */
export function applyKeySlice(keys: readonly string[], spec?: string): readonly string[] {
  const positions = slicePositions(keys.length, spec);
  return positions.length === 0 ? keys : positions.flatMap((position) => keys[position - 1] ?? []);
}

/**
 * The keys that the provider counts together: the slice's syntax with `;` between groups, positions in the full pool.
 * A group of one is left out. Throws `config_invalid` for a key in two groups and a position beyond the pool.
 *
 * ```ts
 * import { applyKeyGroups } from "@sluice/sluice";
 *
 * applyKeyGroups(["a", "b", "c", "d", "e"], "1-2;4,5"); // [["a", "b"], ["d", "e"]]
 * ```
 */
export function applyKeyGroups(keys: readonly string[], spec?: string): readonly (readonly string[])[] {
  return groupPositions(keys.length, spec).map((group) => group.flatMap((position) => keys[position - 1] ?? []));
}

/** The positions of a slice; empty when it selects nothing, all of them when there is no spec. */
export function slicePositions(count: number, spec: string | undefined): readonly number[] {
  const text = (spec ?? "").trim();
  if (text === "") return Array.from({ length: count }, (_, index) => index + 1);
  return expandIndexes(readRanges(text, "slice (ETHERSCAN_KEY_SLICE)"), count);
}

/** The groups of two and more keys, as positions in the full pool. */
export function groupPositions(
  count: number,
  spec: string | readonly (readonly number[])[] | undefined,
): readonly (readonly number[])[] {
  const owner = new Map<number, number>();
  const groups = readGroups(spec).map((text, index) => {
    const name = `group ${index + 1} of groups (ETHERSCAN_KEY_GROUPS)`;
    const ranges = readRanges(text, name);
    const beyond = ranges.find((range) => range.to > count);
    if (beyond !== undefined) {
      throw new SluiceError(
        "config_invalid",
        `${name} names key ${beyond.to} of ${count}; write positions from 1 to ${count}.`,
      );
    }
    const positions = expandIndexes(ranges, count);
    for (const position of positions) {
      const other = owner.get(position);
      if (other !== undefined) {
        throw new SluiceError(
          "config_invalid",
          `${name} and group ${other + 1} both have key ${position}; write it in one.`,
        );
      }
      owner.set(position, index);
    }
    return positions;
  });
  return groups.filter((group) => group.length > 1);
}

function readGroups(spec: string | readonly (readonly number[])[] | undefined): readonly string[] {
  if (spec === undefined || spec === "") return [];
  if (typeof spec === "string") return spec.split(";").filter((text) => text.trim() !== "");
  if (Array.isArray(spec) && spec.every((group) => Array.isArray(group))) {
    return spec.filter((group) => group.length > 0).map((group) => group.join(","));
  }
  throw new SluiceError("config_invalid", 'groups (ETHERSCAN_KEY_GROUPS) is neither text nor lists; write "4-6;7,8".');
}

function readRanges(text: string, name: string): readonly IndexRange[] {
  const ranges = parseIndexList(text);
  if (typeof ranges !== "string") return ranges;
  throw new SluiceError("config_invalid", `${name}: ${ranges}; write it like "1-5" or "1,3,7".`);
}
