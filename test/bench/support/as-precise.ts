/** A figure as precisely as its target is stated: for one of .83, .829 is .83. */
export function asPrecise(value: number, target: number): number {
  const digits = String(target).split(".")[1]?.length ?? 0;
  return Number(value.toFixed(digits));
}
