/** Rounded so that mathematical libraries which differ in the last bit give the same: every store must. */
const STEPS = 2 ** 30;

/** What is left of 1 after `elapsed` when half of it goes every `halfLife`; both in one unit. */
export function fade(elapsed: number, halfLife: number): number {
  return Math.round(2 ** (-elapsed / halfLife) * STEPS) / STEPS;
}
