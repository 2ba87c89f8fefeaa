import { createFakeClock } from "../fixtures/fake-clock.ts";
import { clockContract } from "./clock.ts";

clockContract("fake", async () => {
  const clock = createFakeClock({ start: Date.now() });
  return { clock, pass: clock.advance, elapsed: clock.now };
});
