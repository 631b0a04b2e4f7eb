// Where the daemon is. It listens on this machine and nowhere else, so no other address is used:
// the token must not leave the machine.

/** The address of a daemon whose settings say nothing else. */
export const DEFAULT_ADDRESS = "127.0.0.1:27180";

/** The daemon's addresses, or why a text is none. */
export type Endpoint =
  | { socket: string; health: string }
  | { problem: string };

/** Reads an address as a person writes it: `127.0.0.1:27180`, or the port alone. */
export function endpoint(text: string): Endpoint {
  const trimmed = text.trim();
  const written = /^\d+$/.test(trimmed) ? `127.0.0.1:${trimmed}` : trimmed;
  const parts = /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(written);
  const port = Number(parts?.[2]);
  if (parts === null || port < 1 || port > 65_535) {
    return {
      problem: `\`${trimmed}\` is no address of a daemon on this machine; write it as ${DEFAULT_ADDRESS}`,
    };
  }
  const host = `${parts[1]}:${port}`;
  return { socket: `ws://${host}/v1`, health: `http://${host}/healthz` };
}
