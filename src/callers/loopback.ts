/** Whether an address, as a socket reports it, is this machine's own: 127.0.0.0/8, ::1, or the former mapped into IPv6. */
export function isLoopbackAddress(address: string): boolean {
  const bare = address
    .replace(/^\[|\]$/g, "")
    .replace(/%.*$/, "")
    .toLowerCase();
  if (bare === "::1" || bare === "0:0:0:0:0:0:0:1") return true;
  const v4 = bare.startsWith("::ffff:") ? bare.slice("::ffff:".length) : bare;
  return (
    /^127(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}$/.test(v4) || (v4 !== bare && /^7f[\da-f]{2}:[\da-f]{1,4}$/.test(v4))
  );
}

/** Whether a host name (without a port) can only mean this machine: `localhost` and names below it, or a loopback address. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") || isLoopbackAddress(name);
}

/** Whether a `Host` header's value (with or without a port) names this machine. */
export function isLoopbackHostHeader(value: string): boolean {
  const match = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(value.trim());
  return match?.[1] !== undefined && isLoopbackHost(match[1]);
}

/** Whether an `Origin` (or `Referer`) header's value is a page of this machine. `null`, an opaque origin, is not. */
export function isLoopbackOrigin(value: string): boolean {
  return URL.canParse(value) && /^https?:/i.test(value) && isLoopbackHost(new URL(value).hostname);
}
