import type { Readable } from "node:stream";
import { FastResponse } from "srvx";

/**
 * An answer whose body is a stream of Node's. It is a `Response` in every respect, and a real one is made of it when
 * somebody needs it; but whoever wants the whole body, as the gateway does, gets the bytes without it.
 */
export class NodeAnswer extends FastResponse {
  readonly #stream: Readable;

  constructor(stream: Readable, init: ResponseInit) {
    super(stream as unknown as BodyInit, init);
    this.#stream = stream;
  }

  override arrayBuffer(): Promise<ArrayBuffer> {
    return this.#isUntouched() ? wholeOf(this.#stream) : super.arrayBuffer();
  }

  #isUntouched(): boolean {
    const stream = this.#stream;
    return !stream.readableDidRead && !stream.destroyed && stream.listenerCount("readable") === 0;
  }
}

function wholeOf(stream: Readable): Promise<ArrayBuffer> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    stream.on("data", (part: Uint8Array) => parts.push(part));
    stream.once("end", () => {
      const whole = Buffer.concat(parts);
      resolve(whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength));
    });
    stream.once("error", reject);
    stream.once("close", () => reject(new Error("the answer broke off")));
  });
}
