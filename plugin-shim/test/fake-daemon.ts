// A daemon as the protocol's page describes it, without a socket.
import { createHmac } from "node:crypto";
import { type CallError, createConnection, type Connection, type ConnectionOptions, type Socket } from "../src/connection";
import type { ErrorObject, InitializeParams, SubscribeResult } from "../src/protocol";
import { FakeClock, settle } from "./fake-clock";

export const TOKEN = "ab".repeat(32);
/** The address at which clients look for it. */
export const PLACE = "127.0.0.1:27180";

/** The key of the protocol's page. */
export function hmac(key: string, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

export interface Sent {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: ErrorObject;
}

/** One socket, on the daemon's side. */
export class FakeSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  readonly sent: Sent[] = [];
  closed = false;

  constructor(
    readonly url: string,
    readonly protocols: string[],
    private readonly daemon: FakeDaemon,
  ) {}

  send(text: string): void {
    const message = JSON.parse(text) as Sent;
    this.sent.push(message);
    this.daemon.receive(this, message);
  }

  get readyState(): number {
    return this.closed ? 3 : 1;
  }

  close(): void {
    this.closed = true;
  }

  /** Closes the daemon's side of the connection. */
  lose(): void {
    this.closed = true;
    this.onclose?.();
  }

  deliver(message: object): void {
    this.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  }

  event(method: string, seq: number, params: object = {}): void {
    this.deliver({ method, params: { ...params, _meta: { vault: { seq } } } });
  }

  asked(method: string): Sent[] {
    return this.sent.filter((message) => message.method === method);
  }
}

/** The program at the address. */
export class FakeDaemon {
  readonly sockets: FakeSocket[] = [];
  /** Whether the port is open. */
  there = true;
  /** The reaction to a new socket: `never` leaves it hanging. */
  opening: "accept" | "refuse" | "never" = "accept";
  /** The daemon's real address if another program forwards the connection to it. */
  elsewhere: string | null = null;
  #called = PLACE;
  token = TOKEN;
  /** The addresses of HTTP requests. */
  readonly asked: string[] = [];
  /** The answer to a challenge instead of the correct one. */
  challenge: ((honest: { nonce: string; proof: string }) => { status: number; text: string }) | null = null;
  #nonces = 0;
  epoch = "first";
  seq = 0;
  protocolVersion = 1;
  /** What `initialize` is refused with, as by a daemon that is too old for the client, or too new. */
  refusal: ErrorObject | null = null;
  scope = "person";
  maxMessageBytes = 4_194_304;
  proof: (nonce: string, token: string) => string | undefined = (nonce, token) =>
    hmac(token, `vault-steward initialize ${this.place} ${nonce}`);
  /** The answer to a subscription; by default that of a daemon that has every event. */
  subscription: ((params: { epoch?: string; after?: number }) => SubscribeResult["mode"]) | null = null;
  /** The answers of the other methods; without an entry there is no answer. */
  readonly answers = new Map<string, (params: Record<string, unknown>) => unknown>();

  socket = (url: string, protocols: string[]): Socket => {
    const socket = new FakeSocket(url, protocols, this);
    this.sockets.push(socket);
    queueMicrotask(() => {
      if (this.opening === "never" || socket.closed) return;
      if (!this.there || this.opening === "refuse") socket.lose();
      else if (this.takes(protocols)) socket.onopen?.();
      else socket.lose();
    });
    return socket;
  };

  get = (url: string): Promise<{ status: number; text: string }> => {
    this.asked.push(url);
    if (!this.there) return Promise.reject(new Error("net::ERR_CONNECTION_REFUSED"));
    const [, host, name, nonce] = /^http:\/\/(127\.0\.0\.1:\d+)\/v1\/challenge\/([\w-]+)\/([\w-]{16,128})$/.exec(url) ?? [];
    if (host === undefined) return Promise.resolve({ status: 404, text: "" });
    this.#called = host;
    if (name !== this.name) return Promise.resolve({ status: 401, text: "" });
    this.#nonces += 1;
    const ours = `${this.#nonces}-nonce`;
    const proof = hmac(this.token, `vault-steward challenge ${this.place} ${nonce} ${ours}`);
    const honest = { nonce: ours, proof };
    return Promise.resolve(this.challenge?.(honest) ?? { status: 200, text: JSON.stringify(honest) });
  };

  /** The address that the daemon uses for its own. */
  get place(): string {
    return this.elsewhere ?? this.#called;
  }

  /** The name of its token. */
  get name(): string {
    return hmac(this.token, "vault-steward name").slice(0, 32);
  }

  /** Whether the daemon accepts a socket with these protocols. */
  takes([version, ticket]: string[]): boolean {
    const [name, nonce, proof] = ticket?.replace("vault.ticket.", "").split(".") ?? [];
    const right = hmac(this.token, `vault-steward ticket ${this.place} ${nonce}`);
    return version === "vault.v1" && name === this.name && nonce === `${this.#nonces}-nonce` && proof === right;
  }

  get last(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error("nobody has connected");
    return socket;
  }

  receive(socket: FakeSocket, message: Sent): void {
    const { id, method } = message;
    if (id === undefined || method === undefined) return;
    if (method === "initialize" && this.refusal !== null) return socket.deliver({ id, error: this.refusal });
    const result = this.answer(method, message.params ?? {});
    if (result !== undefined) socket.deliver({ id, result });
  }

  private answer(method: string, params: Record<string, unknown>): unknown {
    if (method === "initialize") {
      const nonce = (params as InitializeParams).clientCapabilities?._meta?.vault?.nonce ?? "";
      return {
        protocolVersion: this.protocolVersion,
        agentInfo: { name: "vault-steward", version: "0.1.0" },
        agentCapabilities: {
          loadSession: true,
          _meta: {
            vault: {
              name: "Notes",
              epoch: this.epoch,
              seq: this.seq,
              scope: this.scope,
              limits: { maxMessageBytes: this.maxMessageBytes },
              proof: this.proof(nonce, this.token),
            },
          },
        },
        authMethods: [],
      };
    }
    if (method === "_vault/subscribe") {
      const { epoch, after } = params as { epoch?: string; after?: number };
      const usual = epoch === undefined ? "live" : epoch === this.epoch ? "replay" : "snapshot";
      const mode = this.subscription?.({ epoch, after }) ?? usual;
      return { mode, epoch: this.epoch, seq: this.seq };
    }
    if (method === "_vault/ping" && !this.answers.has(method)) {
      return { epoch: this.epoch, seq: this.seq };
    }
    return this.answers.get(method)?.(params);
  }
}

/** A connection to a fake daemon. */
export function connectTo(
  daemon: FakeDaemon,
  clock: FakeClock,
  options: Partial<ConnectionOptions> = {},
): Connection {
  return createConnection({
    address: () => PLACE,
    token: () => Promise.resolve(TOKEN),
    capabilities: { approvals: true },
    clientInfo: { name: "test", version: "1.0.0" },
    get: daemon.get,
    socket: daemon.socket,
    clock,
    ...options,
  });
}

/** An established connection. */
export async function connected(
  daemon: FakeDaemon,
  clock: FakeClock,
  options: Partial<ConnectionOptions> = {},
): Promise<Connection> {
  const connection = connectTo(daemon, clock, options);
  connection.start();
  await settle();
  if (connection.state.kind !== "connected") {
    throw new Error(`not connected: ${JSON.stringify(connection.state)}`);
  }
  return connection;
}

/** The error of a call that fails. */
export async function failure(call: Promise<unknown>): Promise<CallError> {
  return call.then(
    () => {
      throw new Error("the call did not fail");
    },
    (error: unknown) => error as CallError,
  );
}

/** All events of a connection, as they arrive. */
export function seen(connection: Connection): string[] {
  const told: string[] = [];
  connection.onState(({ kind }) => told.push(kind));
  connection.onSnapshot(() => told.push("snapshot"));
  connection.on("_vault/changed", ({ path }) => told.push(path));
  return told;
}
