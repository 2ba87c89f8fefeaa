const ACCEPTABLE = /^[\w.-]{1,64}$/;

/** The client's own id for its request where that is short and harmless, else the next of `make`. */
export function requestIdOf(headers: Headers, make: () => string): string {
  const given = headers.get("x-request-id");
  return given !== null && ACCEPTABLE.test(given) ? given : make();
}

/** Sixteen hex digits by the clock's dice. They tell requests apart; they are no secret. */
export function makeRequestId(random: () => number): string {
  return word(random()) + word(random());
}

function word(chance: number): string {
  return Math.floor(chance * 0x1_0000_0000)
    .toString(16)
    .padStart(8, "0");
}
