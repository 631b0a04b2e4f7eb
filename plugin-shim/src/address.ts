// The daemon's address. The daemon listens only on this machine. No other address is accepted, since the
// token must not leave the machine.

/** The default address of a daemon. */
export const DEFAULT_ADDRESS = "127.0.0.1:27180";

/** Host and port of a daemon, or the reason why a text is not an address. */
export type Endpoint = { host: string } | { problem: string };

/**
 * Parses an address as a person types it: `127.0.0.1:27180`, or only the port. Every name of this machine
 * becomes 127.0.0.1, where the daemon listens: another program may use the same port on another address.
 */
export function endpoint(text: string): Endpoint {
  const trimmed = text.trim();
  const port = /^(?:(?:127\.0\.0\.1|localhost|\[::1\]):)?(\d{1,5})$/.exec(trimmed)?.[1];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
    return {
      problem: `\`${trimmed}\` is not an address on this computer; write it like ${DEFAULT_ADDRESS}`,
    };
  }
  return { host: `127.0.0.1:${Number(port)}` };
}
