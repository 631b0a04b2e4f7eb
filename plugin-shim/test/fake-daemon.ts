// A daemon as the protocol's page describes it, without a socket beneath.
import { createHmac } from "node:crypto";
import { createConnection, type Connection, type ConnectionOptions, type Socket } from "../src/connection";
import type { ErrorObject, InitializeParams, SubscribeResult } from "../src/protocol";
import { FakeClock, settle } from "./fake-clock";

export const TOKEN = "ab".repeat(32);

export interface Sent {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: ErrorObject;
}

/** One socket, seen from the daemon. */
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

  close(): void {
    this.closed = true;
  }

  /** The daemon's side of the connection goes away. */
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

/** What answers at the address. */
export class FakeDaemon {
  readonly sockets: FakeSocket[] = [];
  /** Whether anything listens there. */
  there = true;
  /** What is done with a socket that is opened: `never` leaves it hanging. */
  opening: "accept" | "refuse" | "never" = "accept";
  token = TOKEN;
  epoch = "first";
  seq = 0;
  protocolVersion = 1;
  scope = "person";
  maxMessageBytes = 4_194_304;
  proof: (nonce: string, token: string) => string | undefined = (nonce, token) =>
    createHmac("sha256", token).update(nonce).digest("hex");
  /** What a subscription is answered with; left out, as the real one would without having forgotten. */
  subscription: ((params: { epoch?: string; after?: number }) => SubscribeResult["mode"]) | null = null;
  /** Answers of the other methods; what is not here is left unanswered. */
  readonly answers = new Map<string, (params: Record<string, unknown>) => unknown>();

  socket = (url: string, protocols: string[]): Socket => {
    const socket = new FakeSocket(url, protocols, this);
    this.sockets.push(socket);
    queueMicrotask(() => {
      if (this.opening === "never" || socket.closed) return;
      if (!this.there || this.opening === "refuse") socket.lose();
      else socket.onopen?.();
    });
    return socket;
  };

  probe = (): Promise<boolean> => Promise.resolve(this.there);

  get last(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (socket === undefined) throw new Error("nobody has connected");
    return socket;
  }

  receive(socket: FakeSocket, message: Sent): void {
    const { id, method } = message;
    if (id === undefined || method === undefined) return;
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

/** A connection to a daemon that a test plays. */
export function connectTo(
  daemon: FakeDaemon,
  clock: FakeClock,
  options: Partial<ConnectionOptions> = {},
): Connection {
  return createConnection({
    address: () => "127.0.0.1:27180",
    token: () => Promise.resolve(TOKEN),
    capabilities: { approvals: true },
    clientInfo: { name: "test", version: "1.0.0" },
    probe: daemon.probe,
    socket: daemon.socket,
    clock,
    ...options,
  });
}

/** A connection that stands. */
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
