/** Positions from `from` to `to`, both included, counted from 1. */
export interface IndexRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Reads `"1-5"`, `"1,3,7"` or a mix. Ranges are not expanded, so `"1-999999999"` costs nothing.
 * A string says what is wrong with the text.
 */
export function parseIndexList(text: string): readonly IndexRange[] | string {
  const ranges: IndexRange[] = [];
  for (const part of text.split(",")) {
    const match = /^\s*(\d+)\s*(?:-\s*(\d+)\s*)?$/.exec(part);
    if (match === null) return `"${part.trim().slice(0, 20)}" is neither a position nor a range`;
    const from = Number(match[1]);
    const to = Number(match[2] ?? match[1]);
    if (from < 1) return "positions start at 1";
    if (to < from) return `the range ${from}-${to} runs backwards`;
    ranges.push({ from, to });
  }
  return ranges;
}

/** The positions up to `count` that the ranges name: ascending, each once. */
export function expandIndexes(ranges: readonly IndexRange[], count: number): readonly number[] {
  const positions = new Set<number>();
  for (const { from, to } of ranges) {
    for (let position = from; position <= Math.min(to, count); position++) positions.add(position);
  }
  return [...positions].sort((a, b) => a - b);
}

/** The shortest text that `parseIndexList` reads back as these positions: `4-6,8`. */
export function formatIndexList(positions: readonly number[]): string {
  const sorted = [...new Set(positions)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let start = 0; start < sorted.length;) {
    let end = start;
    while (sorted[end + 1] === (sorted[end] ?? Number.NaN) + 1) end++;
    const run = sorted.slice(start, end + 1);
    parts.push(...(run.length > 2 ? [`${run[0]}-${run.at(-1)}`] : run.map(String)));
    start = end + 1;
  }
  return parts.join(",");
}
