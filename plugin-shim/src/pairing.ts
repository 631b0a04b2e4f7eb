// Pairing: the token that lets this plugin in at the daemon, and where it is kept.

import type { App, ObsidianProtocolData } from "obsidian";

/** Obsidian's secret storage: on this device alone, encrypted, and never in the vault. */
const SECRET = "vault-steward-token";

/** What a link of `steward pair` brings. */
export interface PairingLink {
  token: string;
  /** Host and port; left out where the link says nothing of it. */
  address?: string;
}

/** The token; null while nobody has paired. */
export function readToken(app: App): string | null {
  const token = app.secretStorage.getSecret(SECRET);
  return token === null || token === "" ? null : token;
}

/** Keeps the token; an empty one forgets it. */
export function keepToken(app: App, token: string): void {
  app.secretStorage.setSecret(SECRET, token);
}

/** The token out of what a person pasted, or why it is none. */
export function parseToken(text: string): { token: string } | { problem: string } {
  const trimmed = text.trim();
  if (/^obsidian:\/\/vault-steward\b/.test(trimmed)) {
    const parameters = new URLSearchParams(trimmed.split("?")[1] ?? "");
    return parseToken(parameters.get("token") ?? "");
  }
  if (trimmed === "") return { problem: "nothing was pasted; `steward token` prints the token" };
  // What a subprotocol may be made of: no blanks, no quotes, no separators.
  if (!/^[\w.~-]{16,256}$/.test(trimmed)) {
    return { problem: "this is no token; `steward token` prints it, 64 letters and digits" };
  }
  return { token: trimmed };
}

/** What `obsidian://vault-steward?token=…&port=…` says, or what is wrong with it. */
export function parseLink(data: ObsidianProtocolData): PairingLink | { problem: string } {
  const parsed = parseToken(data.token ?? "");
  if ("problem" in parsed) return { problem: "the link has no token; make a new one with `steward pair`" };
  if (data.port === undefined) return parsed;
  const port = Number(data.port);
  if (!/^\d+$/.test(data.port) || port < 1 || port > 65_535) {
    return { problem: `the link's port \`${data.port}\` is none; make a new one with \`steward pair\`` };
  }
  return { ...parsed, address: `127.0.0.1:${port}` };
}
