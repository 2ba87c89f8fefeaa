/** Bounds of a numeric option, both included. */
export interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly integer?: boolean;
}

/** Whether an unknown value is a finite number (an integer where asked) within the bounds. */
export function isNumberIn(value: unknown, bounds: NumberBounds): value is number {
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  if (bounds.integer === true && !Number.isInteger(value)) return false;
  return value >= bounds.min && value <= bounds.max;
}
