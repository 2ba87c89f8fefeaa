import { describe, expect, test } from "vitest";
import {
  isLoopbackAddress,
  isLoopbackHost,
  isLoopbackHostHeader,
  isLoopbackOrigin,
} from "../../src/callers/loopback.ts";

describe("isLoopbackAddress", () => {
  test.each([
    "127.0.0.1",
    "127.255.3.9",
    "::1",
    "[::1]",
    "0:0:0:0:0:0:0:1",
    "::ffff:127.0.0.1",
    "::FFFF:127.8.8.8",
    "::ffff:7f00:1",
    "::1%lo",
  ])("%s is", (address) => expect(isLoopbackAddress(address)).toBe(true));
  test.each([
    "128.0.0.1",
    "10.0.0.1",
    "0.0.0.0",
    "127.0.0.1.evil.example",
    "127.0.0",
    "127.0.0.256",
    "127.0.0.1:80",
    "::",
    "::2",
    "::ffff:10.0.0.1",
    "::ffff:8f00:1",
    "7f00:1",
    "fe80::1",
    "localhost",
    "",
  ])("%s is not", (address) => expect(isLoopbackAddress(address)).toBe(false));
});

describe("isLoopbackHost", () => {
  test.each(["localhost", "LOCALHOST", "localhost.", "app.localhost", "127.0.0.1", "[::1]"])("%s is", (host) =>
    expect(isLoopbackHost(host)).toBe(true),
  );
  test.each(["localhost.evil.example", "evillocalhost", "0.0.0.0", "example.com", "127.0.0.1.nip.io", ""])(
    "%s is not",
    (host) => expect(isLoopbackHost(host)).toBe(false),
  );
});

test("a Host header may have a port", () => {
  expect(isLoopbackHostHeader("127.0.0.1:8787")).toBe(true);
  expect(isLoopbackHostHeader("[::1]:8787")).toBe(true);
  expect(isLoopbackHostHeader("localhost")).toBe(true);
  expect(isLoopbackHostHeader("rebound.example:8787")).toBe(false);
  expect(isLoopbackHostHeader("localhost:8787:evil")).toBe(false);
});

test("an origin is a page of this machine only by http and a loopback name", () => {
  expect(isLoopbackOrigin("http://localhost:3000")).toBe(true);
  expect(isLoopbackOrigin("https://127.0.0.1")).toBe(true);
  expect(isLoopbackOrigin("http://[::1]:5173")).toBe(true);
  expect(isLoopbackOrigin("http://localhost@evil.example")).toBe(false);
  expect(isLoopbackOrigin("https://evil.example")).toBe(false);
  expect(isLoopbackOrigin("chrome-extension://localhost")).toBe(false);
  expect(isLoopbackOrigin("null")).toBe(false);
});
