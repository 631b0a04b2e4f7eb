// The daemon's requests to this client, and their handlers.

import { CallError } from "./call-error";
import type { Unsubscribe } from "./connection";
import type { ErrorObject, RequestId } from "./protocol";

/** Handles one request; the signal aborts when the answer is no longer needed. */
export type Serve = (params: unknown, signal: AbortSignal) => Promise<unknown>;

/** The response to a request. */
export type Outcome = { result: unknown } | { error: ErrorObject };

/** Approval requests wait for a handler; all other requests are answered at once. */
const PATIENT = new Set(["session/request_permission"]);

interface Open {
  id: RequestId;
  name: string;
  params: unknown;
  /** The handlers that are running. */
  serving: Map<Serve, AbortController>;
}

/** The pending requests of the daemon, and the handlers. */
export class Serving {
  readonly #servers = new Map<string, Set<Serve>>();
  readonly #open = new Map<RequestId, Open>();

  readonly #send: (id: RequestId, outcome: Outcome) => void;
  /** `send` sends a response to the daemon; it is not called for withdrawn requests. */
  constructor(send: (id: RequestId, outcome: Outcome) => void) {
    this.#send = send;
  }

  /** Adds a handler for a method; it also receives the waiting requests. */
  add(name: string, serve: Serve): Unsubscribe {
    const entry: Serve = (params, signal) => serve(params, signal);
    const servers = this.#servers.get(name) ?? new Set();
    servers.add(entry);
    this.#servers.set(name, servers);
    for (const open of [...this.#open.values()]) {
      if (open.name === name) this.#begin(open, entry);
    }
    return () => {
      servers.delete(entry);
      for (const open of [...this.#open.values()]) {
        open.serving.get(entry)?.abort();
        if (open.serving.delete(entry) && open.serving.size === 0 && !PATIENT.has(open.name)) {
          this.#close(open, { error: unavailable(open.name) });
        }
      }
    };
  }

  request(id: RequestId, name: string, params: unknown): void {
    // After a reconnection the daemon sends pending requests again.
    this.withdraw(id);
    const open: Open = { id, name, params, serving: new Map() };
    const servers = this.#servers.get(name);
    if (servers === undefined || servers.size === 0) {
      if (PATIENT.has(name)) this.#open.set(id, open);
      else this.#send(id, { error: unavailable(name) });
      return;
    }
    this.#open.set(id, open);
    for (const serve of [...servers]) this.#begin(open, serve);
  }

  /** Withdraws a request: its answer is no longer needed. */
  withdraw(id: RequestId): void {
    const open = this.#open.get(id);
    if (open !== undefined) this.#close(open, null);
  }

  /** Withdraws all requests, since the connection is lost. */
  withdrawAll(): void {
    for (const open of [...this.#open.values()]) this.#close(open, null);
  }

  #begin(open: Open, serve: Serve): void {
    if (this.#open.get(open.id) !== open) return;
    const controller = new AbortController();
    open.serving.set(serve, controller);
    const counts = (): boolean =>
      !controller.signal.aborted && this.#open.get(open.id) === open;
    // A synchronous exception is an answer, too.
    const served = async (): Promise<unknown> => serve(open.params, controller.signal);
    served().then(
      (result) => {
        if (counts()) this.#close(open, { result });
      },
      (error: unknown) => {
        if (!counts()) return;
        open.serving.delete(serve);
        // Another handler may still return the person's answer.
        if (!PATIENT.has(open.name)) this.#close(open, { error: failure(error) });
      },
    );
  }

  #close(open: Open, outcome: Outcome | null): void {
    this.#open.delete(open.id);
    for (const controller of open.serving.values()) controller.abort();
    open.serving.clear();
    if (outcome !== null) this.#send(open.id, outcome);
  }
}

function unavailable(name: string): ErrorObject {
  return {
    code: -32601,
    message: `this client does not serve \`${name}\``,
    data: { kind: "unknown_method", retryable: false },
  };
}

function failure(error: unknown): ErrorObject {
  if (error instanceof CallError) {
    const { message, retryable, hint } = error;
    return { code: 1009, message, data: { kind: "failed", retryable, hint } };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 1009, message, data: { kind: "failed", retryable: false } };
}
