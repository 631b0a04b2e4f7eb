// The contract of the connection to the daemon: one socket, typed calls, events that have no gaps.

import { DaemonConnection } from "./daemon-connection";
import type {
  ClientNotifications,
  ClientVaultMeta,
  Implementation,
  InitializeResult,
  Methods,
  ServerNotifications,
  ServerRequests,
} from "./protocol";

export { CallError } from "./call-error";

/** Ends what the function that returned it began. A second call does nothing. */
export type Unsubscribe = () => void;

/** How the connection stands. */
export interface ConnectionState {
  /**
   * - `off`: not started, or stopped
   * - `connecting`: being made
   * - `connected`: calls go through, events come
   * - `absent`: nobody answers at the address
   * - `refused`: somebody answers and it is no use: `detail` says why and what to do
   * - `unpaired`: there is no token yet
   */
  kind: "off" | "connecting" | "connected" | "absent" | "refused" | "unpaired";
  /** Why, for people. */
  detail?: string;
  /** When the next try is made, on the clock of `Date.now()`; left out where none is planned. */
  retryAt?: number;
}

/** How a call is made. */
export interface CallOptions {
  /** Gives the call up: the daemon is told, and the call fails with the kind `cancelled`. */
  signal?: AbortSignal;
  /**
   * Milliseconds until the call fails with the kind `timeout`. Left out: 30 seconds;
   * `session/prompt` has no limit, since its answer comes when the turn is over. Every call fails
   * when the connection ends.
   */
  timeoutMs?: number;
}

/** A connection to the daemon that mends itself. */
export interface Connection {
  /** How it stands. */
  readonly state: ConnectionState;
  /** What the daemon said of itself on this connection; null while not connected. */
  readonly daemon: InitializeResult | null;
  /** Connects, and connects again whenever the connection is lost. */
  start(): void;
  /** Ends it for good, until `start`. No timer and no socket is left; calls in flight fail. */
  stop(): void;
  /** Tries now what would be tried later; after a change of address or token too. */
  retryNow(): void;
  /** Hears every new state. */
  onState(heard: (state: ConnectionState) => void): Unsubscribe;
  /** Asks the daemon. Fails with a `CallError`, and with nothing else. */
  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options?: CallOptions,
  ): Promise<Methods[M]["result"]>;
  /** Tells the daemon something that has no answer. Lost where there is no connection. */
  notify<N extends keyof ClientNotifications>(name: N, params: ClientNotifications[N]): void;
  /** Hears an event: each once, in order, over lost connections too. */
  on<N extends keyof ServerNotifications>(
    name: N,
    heard: (params: ServerNotifications[N]) => void,
  ): Unsubscribe;
  /**
   * Hears that what is shown has to be loaded anew: after the first connection, after a restart of
   * the daemon, and where too much was missed. Called once `state` is `connected` and before the
   * first event that follows, so whoever loads now misses nothing. Whoever begins to hear it while there
   * is no connection hears it with the next one.
   */
  onSnapshot(heard: () => void): Unsubscribe;
  /** What was to be loaded could not be: the next connection is followed by a snapshot. */
  missed(): void;
  /**
   * Serves a request of the daemon's. The signal aborts when the answer is no longer wanted: it was
   * answered elsewhere, the connection is lost, or this was unsubscribed. Where several serve the
   * same request the first answer counts. Questions to a person (`session/request_permission`) that
   * come while nobody serves them wait for who does.
   */
  answer<R extends keyof ServerRequests>(
    name: R,
    serve: (
      params: ServerRequests[R]["params"],
      signal: AbortSignal,
    ) => Promise<ServerRequests[R]["result"]>,
  ): Unsubscribe;
}

/** The part of a WebSocket that is used. */
export type Socket = Pick<WebSocket, "onopen" | "onmessage" | "onclose" | "send" | "close">;

/** Time, from outside, so that tests can set it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  setTimeout(run: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** What a connection is made of. */
export interface ConnectionOptions {
  /** Host and port of the daemon: `127.0.0.1:27180`. Asked at every try. */
  address(): string;
  /** The token; null while the person has not paired. Asked at every try. */
  token(): Promise<string | null>;
  /** What this client can do; the nonce is the connection's own. */
  capabilities: Omit<ClientVaultMeta, "nonce">;
  /** Name and version of this client, for the daemon's log. */
  clientInfo: Implementation;
  /**
   * Asks an address of the daemon's by HTTP, whatever the status of the answer is; fails where nobody
   * answers. A page may not read the answer, Obsidian's `requestUrl` may.
   */
  get(url: string): PromiseLike<{ status: number; text: string }>;
  /** Makes a socket; left out, a WebSocket. */
  socket?: (url: string, protocols: string[]) => Socket;
  /** Left out, the window's. */
  clock?: Clock;
}

/** A connection, which is off until it is started. */
export function createConnection(options: ConnectionOptions): Connection {
  return new DaemonConnection(options);
}
