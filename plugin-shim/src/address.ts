// Where the daemon is. It listens on this machine and nowhere else, so no other address is used:
// the token must not leave the machine.

/** The address of a daemon whose settings say nothing else. */
export const DEFAULT_ADDRESS = "127.0.0.1:27180";

/** Host and port of a daemon, or why a text is none. */
export type Endpoint = { host: string } | { problem: string };

/**
 * Reads an address as a person writes it: `127.0.0.1:27180`, or the port alone. The daemon listens on
 * 127.0.0.1 alone, so whatever else this machine is called, that is where it is looked for: another
 * program may have the same port of another address.
 */
export function endpoint(text: string): Endpoint {
  const trimmed = text.trim();
  const port = /^(?:(?:127\.0\.0\.1|localhost|\[::1\]):)?(\d{1,5})$/.exec(trimmed)?.[1];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535) {
    return {
      problem: `\`${trimmed}\` is no address of a daemon on this machine; write it as ${DEFAULT_ADDRESS}`,
    };
  }
  return { host: `127.0.0.1:${Number(port)}` };
}
