/** A table for a terminal: the first column to the left, the others (numbers) to the right. `null` is a rule. */
export function printTable(head: readonly string[], rows: readonly (readonly string[] | null)[]): void {
  const full = rows.filter((row) => row !== null);
  const widths = head.map((name, i) => Math.max(name.length, ...full.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, i) => (i === 0 ? (cells[i] ?? "").padEnd(width) : (cells[i] ?? "").padStart(width)))
      .join("  ")
      .trimEnd();
  const rule = "─".repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  const lines = [line(head), rule, ...rows.map((row) => (row === null ? rule : line(row)))];
  process.stdout.write(`${lines.join("\n")}\n`);
}
