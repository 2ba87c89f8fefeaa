import { FastResponse } from "srvx";

/**
 * Makes srvx's `Response` the process's own: of a body it makes a stream only for those who ask for one, and writes
 * bytes to the socket as they are. For programs that own their process; a library must leave globals alone.
 */
export function useFastResponse(): void {
  globalThis.Response = FastResponse;
}
