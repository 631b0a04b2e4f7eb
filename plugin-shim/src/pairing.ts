// Pairing: stores the token with which this plugin connects to the daemon.

import type { App, ObsidianProtocolData } from "obsidian";
import type { Connection } from "./connection";
import type { Host } from "./host";

/** Its key in Obsidian's secret storage, which is encrypted, local to this device and outside the vault. */
const SECRET = "vault-steward-token";

/** The content of a link that `steward pair` prints. */
export interface PairingLink {
  token: string;
  /** Host and port, if the link names a port. */
  address?: string;
}

/** The token; null before pairing. */
export function readToken(app: App): string | null {
  const token = app.secretStorage.getSecret(SECRET);
  return token === null || token === "" ? null : token;
}

/** Stores the token; an empty one removes it. */
export function storeToken(app: App, token: string): void {
  app.secretStorage.setSecret(SECRET, token);
}

/** Parses pasted text: the token or the whole link; returns the problem if it is neither. */
export function parseToken(text: string): PairingLink | { problem: string } {
  const trimmed = text.trim();
  if (/^obsidian:\/\/vault-steward\b/.test(trimmed)) {
    const parameters = Object.fromEntries(new URLSearchParams(trimmed.split("?")[1] ?? ""));
    return parseLink({ action: "", ...parameters });
  }
  if (trimmed === "") return { problem: "paste the link that `steward pair` prints" };
  // The characters that are allowed in the name of a WebSocket subprotocol.
  if (!/^[\w.~-]{16,256}$/.test(trimmed)) {
    return { problem: "this is neither a pairing link nor a token; paste the link that `steward pair` prints" };
  }
  return { token: trimmed };
}

/** Parses `obsidian://vault-steward?token=…&port=…`; returns the problem if it is invalid. */
export function parseLink(data: ObsidianProtocolData): PairingLink | { problem: string } {
  const parsed = parseToken(data.token ?? "");
  if ("problem" in parsed) return { problem: "the link has no valid token; make a new one with `steward pair`" };
  if (data.port === undefined) return parsed;
  const port = Number(data.port);
  if (!/^\d+$/.test(data.port) || port < 1 || port > 65_535) {
    return { problem: `the link's port \`${data.port}\` is not valid; make a new one with \`steward pair\`` };
  }
  return { ...parsed, address: `127.0.0.1:${port}` };
}

/** The daemon's address, which the plugin stores in its `data.json`. */
export interface AddressBook {
  address: string;
  save(): Promise<void>;
}

/** Pairs this vault with a daemon, and removes the pairing. */
export class Pairing {
  readonly #app: App;
  readonly #book: AddressBook;
  readonly #connection: Connection;

  constructor(
    app: App,
    book: AddressBook,
    connection: Connection,
  ) {
    this.#app = app;
    this.#book = book;
    this.#connection = connection;
  }

  /** Whether a token is stored, valid or not. */
  get paired(): boolean {
    return readToken(this.#app) !== null;
  }

  get address(): string {
    return this.#book.address;
  }

  /** Stores a token, and an address if one is given, and connects. */
  async pair({ token, address }: PairingLink): Promise<void> {
    storeToken(this.#app, token);
    if (address !== undefined) await this.move(address);
    this.#connection.retryNow();
  }

  /** Sets the daemon's address, which must be valid (`endpoint`), and connects. */
  async move(address: string): Promise<void> {
    this.#book.address = address;
    await this.#book.save();
    this.#connection.retryNow();
  }

  /** Removes the token. The daemon still accepts it until `steward token --rotate`. */
  forget(): void {
    storeToken(this.#app, "");
    this.#connection.stop();
    this.#connection.start();
  }

  /**
   * Handles a link `obsidian://vault-steward?…`. Any web page can open such a link, and its author could then
   * read and write this vault's conversations. So the user must always confirm.
   */
  async follow(data: ObsidianProtocolData, host: Pick<Host, "confirm" | "notice">): Promise<void> {
    const link = parseLink(data);
    if ("problem" in link) return host.notice(link.problem);
    const where = link.address ?? this.#book.address;
    const question = `Pair this vault with the daemon at ${where}? Agree only if you have just run \`steward pair\` yourself.`;
    if (!(await host.confirm(question, "Pair"))) return;
    const same = readToken(this.#app) === link.token && where === this.#book.address;
    if (same && this.#connection.state.kind === "connected") {
      return host.notice("Already paired and connected");
    }
    this.#reportOnce(host);
    await this.pair(link);
  }

  /** Shows a notice with the result of the next attempt to connect. */
  #reportOnce(host: Pick<Host, "notice">): void {
    const end = this.#connection.onState(({ kind, detail }) => {
      if (kind === "connecting") return;
      end();
      if (kind === "connected") host.notice("Paired and connected");
      if (kind === "absent") host.notice("Paired. The plugin connects when the daemon runs");
      if (kind === "refused") host.notice(`Not paired: ${detail ?? "the daemon refused the connection"}`);
    });
  }
}
