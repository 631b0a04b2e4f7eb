// Pairing: the token that lets this plugin in at the daemon, and where it is kept.

import type { App, ObsidianProtocolData } from "obsidian";
import type { Connection } from "./connection";
import type { Host } from "./host";

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

/** What a person pasted, the token or the whole link; or why it is neither. */
export function parseToken(text: string): PairingLink | { problem: string } {
  const trimmed = text.trim();
  if (/^obsidian:\/\/vault-steward\b/.test(trimmed)) {
    const parameters = Object.fromEntries(new URLSearchParams(trimmed.split("?")[1] ?? ""));
    return parseLink({ action: "", ...parameters });
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

/** Where the plugin keeps what is no secret: which port the daemon listens on. */
export interface AddressBook {
  address: string;
  save(): Promise<void>;
}

/** Pairs this vault with a daemon, and undoes that. */
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

  /** Whether there is a token, be it right or not. */
  get paired(): boolean {
    return readToken(this.#app) !== null;
  }

  /** Where the daemon is looked for. */
  get address(): string {
    return this.#book.address;
  }

  /** Keeps a token, and an address with it, and connects. */
  async pair({ token, address }: PairingLink): Promise<void> {
    keepToken(this.#app, token);
    if (address !== undefined) await this.move(address);
    this.#connection.retryNow();
  }

  /** Looks for the daemon elsewhere. The address must be one (`endpoint`). */
  async move(address: string): Promise<void> {
    this.#book.address = address;
    await this.#book.save();
    this.#connection.retryNow();
  }

  /** Forgets the token. The daemon still takes it, until `steward token --rotate`. */
  forget(): void {
    keepToken(this.#app, "");
    this.#connection.stop();
    this.#connection.start();
  }

  /**
   * Takes what `obsidian://vault-steward?…` brings. Any page can open such a link, and whoever made
   * it would then read and write this vault's conversations: so a person is asked, always.
   */
  async follow(data: ObsidianProtocolData, host: Pick<Host, "confirm" | "notice">): Promise<void> {
    const link = parseLink(data);
    if ("problem" in link) return host.notice(link.problem);
    const where = link.address ?? this.#book.address;
    const question = `Pair this vault with the daemon at ${where}? Agree only if you have just run \`steward pair\` yourself.`;
    if (!(await host.confirm(question, "Pair"))) return;
    const same = readToken(this.#app) === link.token && where === this.#book.address;
    if (same && this.#connection.state.kind === "connected") {
      return host.notice("Paired already: the steward is connected");
    }
    this.#tellOnce(host);
    await this.pair(link);
  }

  /** Says what the next try to connect comes to. */
  #tellOnce(host: Pick<Host, "notice">): void {
    const end = this.#connection.onState(({ kind, detail }) => {
      if (kind === "connecting") return;
      end();
      if (kind === "connected") host.notice("Paired: the steward is connected");
      if (kind === "absent") host.notice("Paired; this connects once the daemon runs");
      if (kind === "refused") host.notice(`Not paired: ${detail ?? "the daemon refuses"}`);
    });
  }
}
