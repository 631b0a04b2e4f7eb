// The interface of the connection to the daemon: one socket, typed calls, and events without gaps.

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

/** Ends the subscription. A second call does nothing. */
export type Unsubscribe = () => void;

/** The state of the connection. */
export interface ConnectionState {
  /**
   * - `off`: not started, or stopped
   * - `connecting`: an attempt is in progress
   * - `connected`: calls and events pass
   * - `absent`: no program answers at the address
   * - `refused`: a program answers, but cannot be used: `detail` gives the reason and the remedy
   * - `unpaired`: there is no token yet
   */
  kind: "off" | "connecting" | "connected" | "absent" | "refused" | "unpaired";
  /** The reason, as text for the user. */
  detail?: string;
  /** The time of the next attempt, on the clock of `Date.now()`; undefined if none is planned. */
  retryAt?: number;
}

/** The options of a call. */
export interface CallOptions {
  /** Cancels the call: the daemon is notified, and the call fails with the kind `cancelled`. */
  signal?: AbortSignal;
  /**
   * Milliseconds until the call fails with the kind `timeout`. Default: 30 seconds; none for
   * `session/prompt`, since its answer arrives at the end of the turn. Every call fails when the connection
   * ends.
   */
  timeoutMs?: number;
}

/** A connection to the daemon that reconnects automatically. */
export interface Connection {
  readonly state: ConnectionState;
  /** The daemon's answer to `initialize` on this connection; null while not connected. */
  readonly daemon: InitializeResult | null;
  /** Connects, and reconnects whenever the connection is lost. */
  start(): void;
  /** Ends the connection until the next `start`. Closes the socket and all timers; pending calls fail. */
  stop(): void;
  /** Makes the planned attempt now; used after a change of address or token too. */
  retryNow(): void;
  /** Calls the listener with every new state. */
  onState(listener: (state: ConnectionState) => void): Unsubscribe;
  /** Calls a method of the daemon. Rejects only with a `CallError`. */
  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options?: CallOptions,
  ): Promise<Methods[M]["result"]>;
  /** Sends a notification to the daemon. It is lost without a connection. */
  notify<N extends keyof ClientNotifications>(name: N, params: ClientNotifications[N]): void;
  /** Subscribes to an event. Each event arrives once and in order, across reconnections too. */
  on<N extends keyof ServerNotifications>(
    name: N,
    listener: (params: ServerNotifications[N]) => void,
  ): Unsubscribe;
  /**
   * Subscribes to reload requests: the client must reload its data after the first connection, after a
   * restart of the daemon, and after too many missed events. The listener is called once `state` is
   * `connected` and before the next event, so a client that loads at that moment misses nothing. A listener
   * that is added without a connection is called after the next connection.
   */
  onSnapshot(listener: () => void): Unsubscribe;
  /** Reports that a reload failed: the next connection is followed by a reload request. */
  missed(): void;
  /**
   * Handles a request of the daemon. The signal aborts when the answer is no longer needed: another client
   * answered, the connection is lost, or the handler was removed. If several handlers serve the same request,
   * the first answer counts. Approval requests (`session/request_permission`) wait until a handler exists.
   */
  answer<R extends keyof ServerRequests>(
    name: R,
    serve: (
      params: ServerRequests[R]["params"],
      signal: AbortSignal,
    ) => Promise<ServerRequests[R]["result"]>,
  ): Unsubscribe;
}

/** The used part of a WebSocket. */
export type Socket = Pick<WebSocket, "onopen" | "onmessage" | "onclose" | "readyState" | "send" | "close">;

/** An injected clock, so that tests can set the time. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  setTimeout(run: () => void, milliseconds: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** The options of a connection. */
export interface ConnectionOptions {
  /** Host and port of the daemon: `127.0.0.1:27180`. Read before every attempt. */
  address(): string;
  /** The token; null before pairing. Read before every attempt. */
  token(): Promise<string | null>;
  /** The client's capabilities; the connection adds the nonce. */
  capabilities: Omit<ClientVaultMeta, "nonce">;
  /** Name and version of this client, for the daemon's log. */
  clientInfo: Implementation;
  /**
   * Sends an HTTP GET to the daemon. Resolves with any status; rejects if no program answers. A page may not
   * read the response, but Obsidian's `requestUrl` may.
   */
  get(url: string): PromiseLike<{ status: number; text: string }>;
  /** Creates a socket. Default: a WebSocket. */
  socket?: (url: string, protocols: string[]) => Socket;
  /** Default: the window's clock. */
  clock?: Clock;
}

/** Creates a connection in the state `off`. */
export function createConnection(options: ConnectionOptions): Connection {
  return new DaemonConnection(options);
}
