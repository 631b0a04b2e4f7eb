// One socket, from its opening to its end: the handshake, the pending calls, and the daemon's messages. A
// session ends once and is not reused; `daemon-connection.ts` reconnects.

import { CallError } from "./call-error";
import type { Clock, ConnectionOptions, Socket } from "./connection";
import { proof } from "./proof";
import {
  PROTOCOL_VERSION,
  type ErrorObject,
  type InitializeParams,
  type InitializeResult,
  type RequestId,
} from "./protocol";

/** `WebSocket.OPEN`. */
const OPEN = 1;

/** The timeout of opening the socket, and of each step of the handshake. */
const HANDSHAKE_MS = 10_000;
/** The maximum number of messages before the daemon has proved itself: pending approval requests. */
const MOST_HELD = 1_000;

/** The message about a program that cannot prove that it knows the token. */
export const NOT_THE_DAEMON =
  "the program at this address is not this vault's daemon: it could not prove that it knows the token, which was not sent to it. Check what runs there; `steward status` shows where the daemon listens";

/** The end of a session. */
export interface SessionEnd {
  /** Whether the socket had opened: the daemon accepted the ticket. */
  opened: boolean;
  /**
   * The reason if the other side cannot be used. `lasting`: nothing may be sent there again before the person
   * has changed something.
   */
  refused?: { detail: string; lasting: boolean };
}

/** The callbacks of a session. */
export interface SessionEvents {
  /** The daemon has proved itself; calls may be made. */
  ready(result: InitializeResult): void;
  notification(name: string, params: unknown): void;
  /** The daemon sent a request. */
  request(id: RequestId, name: string, params: unknown): void;
  /** The session is over; no other callback follows. Pending calls have already failed. */
  ended(end: SessionEnd): void;
}

/** The options of a session. */
export interface SessionOptions {
  /** Host and port. */
  host: string;
  /** The one-time ticket that authenticates the connection in place of the token. */
  ticket: string;
  /** The key with which the daemon proves itself again on this connection. */
  key: string;
  nonce: string;
  clock: Clock;
  socket: (url: string, protocols: string[]) => Socket;
  clientInfo: ConnectionOptions["clientInfo"];
  capabilities: ConnectionOptions["capabilities"];
  events: SessionEvents;
}

interface Waiting {
  done(result: unknown): void;
  failed(error: CallError): void;
  timer: unknown;
}

interface Frame {
  id?: RequestId | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: ErrorObject;
}

/** One socket to the daemon. */
export class Session {
  readonly #options: SessionOptions;
  readonly #socket: Socket;
  readonly #waiting = new Map<RequestId, Waiting>();
  #opening: unknown;
  #last = 0;
  #opened = false;
  #over = false;
  /** Messages that arrived before the daemon has proved itself; null afterwards. */
  #held: Frame[] | null = [];
  #largest = Infinity;

  /** Opens the socket and starts the handshake. Throws if the address is invalid. */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.#socket = options.socket(`ws://${options.host}/v1`, ["vault.v1", `vault.ticket.${options.ticket}`]);
    this.#socket.onopen = () => this.#greet();
    this.#socket.onmessage = ({ data }) => this.#receive(data);
    this.#socket.onclose = () => this.#end();
    this.#opening = options.clock.setTimeout(() => this.end(), HANDSHAKE_MS);
  }

  /** Sends a request. Exactly one of the callbacks is called, once, and not before this returns. */
  request(
    method: string,
    params: unknown,
    timeoutMs: number | null,
    done: (result: unknown) => void,
    failed: (error: CallError) => void,
  ): RequestId | null {
    const id = ++this.#last;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const tooLarge = this.#tooLarge(text);
    if (tooLarge !== null) {
      queueMicrotask(() => failed(tooLarge));
      return null;
    }
    const timer =
      timeoutMs === null
        ? null
        : this.#options.clock.setTimeout(() => {
            const seconds = timeoutMs / 1000;
            const message = `the daemon did not answer \`${method}\` within ${seconds} seconds`;
            this.giveUp(id, new CallError(message, 0, "timeout", true));
          }, timeoutMs);
    this.#waiting.set(id, { done, failed, timer });
    this.#send(text);
    return id;
  }

  /** Cancels a call: the daemon is notified, and its answer is dropped. */
  giveUp(id: RequestId, error: CallError): void {
    const waiting = this.#settle(id);
    if (waiting === undefined) return;
    this.notify("$/cancel_request", { requestId: id });
    waiting.failed(error);
  }

  notify(method: string, params: unknown): void {
    this.#send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  /** Answers a request of the daemon. */
  answer(id: RequestId, outcome: { result: unknown } | { error: ErrorObject }): void {
    this.#send(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
  }

  /** Closes the session; `ended` is called before this returns. */
  end(refused?: SessionEnd["refused"]): void {
    this.#end(refused);
  }

  #end(refused?: SessionEnd["refused"]): void {
    if (this.#over) return;
    this.#over = true;
    const { clock, events } = this.#options;
    clock.clearTimeout(this.#opening);
    this.#socket.onopen = null;
    this.#socket.onmessage = null;
    this.#socket.onclose = null;
    this.#socket.close(1000);
    for (const id of [...this.#waiting.keys()]) {
      this.#settle(id)?.failed(
        new CallError("the connection was lost before the answer came", 0, "disconnected", true),
      );
    }
    events.ended({ opened: this.#opened, refused });
  }

  #greet(): void {
    this.#opened = true;
    const { clock, host, key, nonce, clientInfo, capabilities, events } = this.#options;
    clock.clearTimeout(this.#opening);
    const params: InitializeParams = {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo,
      clientCapabilities: { _meta: { vault: { ...capabilities, nonce } } },
    };
    const greeted = async (result: InitializeResult): Promise<void> => {
      if (result.protocolVersion !== PROTOCOL_VERSION) {
        const theirs = result.protocolVersion;
        const detail = `the daemon speaks version ${theirs} of the protocol, this plugin version ${PROTOCOL_VERSION}; update the older of the two`;
        return this.end({ detail, lasting: false });
      }
      const { proof: theirs, limits } = result.agentCapabilities._meta.vault;
      const right = await proof(key, "initialize", host, nonce);
      if (this.#over) return;
      if (theirs !== right) return this.end({ detail: NOT_THE_DAEMON, lasting: true });
      this.#largest = limits.maxMessageBytes;
      const held = this.#held ?? [];
      this.#held = null;
      events.ready(result);
      for (const frame of held) this.#dispatch(frame);
    };
    this.request(
      "initialize",
      params,
      HANDSHAKE_MS,
      (result) => {
        greeted(result as InitializeResult).catch(() => this.#nonsense());
      },
      (error) => this.end({ detail: error.advice, lasting: false }),
    );
  }

  #receive(data: unknown): void {
    let frame: Frame;
    try {
      frame = JSON.parse(String(data)) as Frame;
    } catch {
      return this.#nonsense();
    }
    if (typeof frame !== "object" || frame === null) return this.#nonsense();
    if (frame.method === undefined && frame.id !== undefined && frame.id !== null) {
      const waiting = this.#settle(frame.id);
      if (frame.error === undefined) waiting?.done(frame.result);
      else waiting?.failed(CallError.fromAnswer(frame.error));
    } else if (this.#held === null) {
      this.#dispatch(frame);
    } else if (this.#held.push(frame) > MOST_HELD) {
      this.#nonsense();
    }
  }

  #dispatch(frame: Frame): void {
    if (this.#over || frame.method === undefined) return;
    const { events } = this.#options;
    if (frame.id === undefined || frame.id === null) {
      events.notification(frame.method, frame.params);
    } else {
      events.request(frame.id, frame.method, frame.params);
    }
  }

  #nonsense(): void {
    this.end({ detail: "the program at this address does not speak the daemon's protocol", lasting: false });
  }

  #settle(id: RequestId): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) this.#options.clock.clearTimeout(waiting.timer);
    return waiting;
  }

  #send(text: string): void {
    // A socket that the daemon is closing takes no more.
    if (!this.#over && this.#socket.readyState === OPEN) this.#socket.send(text);
  }

  #tooLarge(text: string): CallError | null {
    // A character is at most three bytes, so short texts need not be measured.
    if (3 * text.length <= this.#largest) return null;
    const bytes = new TextEncoder().encode(text).length;
    if (bytes <= this.#largest) return null;
    const message = `the message has ${bytes} bytes; the daemon accepts ${this.#largest}`;
    return new CallError(message, 0, "invalid_params", false, "send less text, or smaller images");
  }
}
