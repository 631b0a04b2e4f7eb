// Maintains one session with the daemon: reconnects when the session is lost, and requests missed events.

import { endpoint } from "./address";
import { CallError } from "./call-error";
import type {
  CallOptions,
  Clock,
  Connection,
  ConnectionOptions,
  ConnectionState,
  Socket,
  Unsubscribe,
} from "./connection";
import { Listeners } from "./listeners";
import { keyOf, makeNonce, proof } from "./proof";
import type {
  CancelParams,
  ChallengeAnswer,
  ClientNotifications,
  EventMeta,
  InitializeResult,
  Methods,
  PingResult,
  RequestId,
  ServerNotifications,
  ServerRequests,
  SubscribeParams,
  SubscribeResult,
} from "./protocol";
import { Serving, type Serve } from "./serving";
import { NOT_THE_DAEMON, Session, type SessionEnd } from "./session";

/** The default timeout of a call. */
const CALL_MS = 30_000;
/** The timeout of the daemon's proof. */
const ASK_MS = 5_000;
/** A browser cannot send a WebSocket ping, and does not notice that the machine slept. */
const PING_MS = 25_000;
const PING_ANSWER_MS = 10_000;
/** Pauses before the next attempt when no program answers: short, since the address is local. */
const PAUSES_MS = [250, 500, 1_000, 2_000, 5_000] as const;
/** Pauses after a refusal, which lasts until a person changes something. */
const REFUSED_PAUSES_MS = [5_000, 15_000, 60_000] as const;
/** After a connection that lasted this long, the pauses start again with the shortest. */
const STOOD_MS = 5_000;

const OTHER_TOKEN =
  "the daemon has another token: the token was changed, or another vault's daemon uses this port; pair again with `steward pair`";
const BUSY = "the daemon refuses connections; it may have too many";

/** The only implementation of `Connection`. */
export class DaemonConnection implements Connection {
  readonly #options: ConnectionOptions;
  readonly #clock: Clock;
  readonly #states = new Listeners<ConnectionState>();
  readonly #snapshots = new Listeners<void>();
  readonly #events = new Map<string, Listeners<unknown>>();
  readonly #serving: Serving;
  #state: ConnectionState = { kind: "off" };
  #daemon: InitializeResult | null = null;
  #session: Session | null = null;
  /** Asynchronous results with an earlier number are dropped. */
  #attempt = 0;
  #failures = 0;
  #retry: unknown = null;
  #asking: unknown = null;
  #ping: unknown = null;
  #connectedAt = 0;
  /** The address and token of the current session. */
  #used = { address: "", token: "" };
  /** The position in the event stream; null before the first subscription. */
  #position: { epoch: string; seq: number } | null = null;
  #subscribing = false;
  /** A client could not load its data: it needs a reload instead of the missed events. */
  #isMissed = false;
  /** Requests of the daemon that arrived before the clients could load their data. */
  #early: { id: RequestId; name: string; params: unknown }[] = [];

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? windowClock();
    this.#serving = new Serving((id, outcome) => this.#session?.answer(id, outcome));
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get daemon(): InitializeResult | null {
    return this.#daemon;
  }

  start(): void {
    if (this.#state.kind !== "off") return;
    this.#failures = 0;
    this.#become({ kind: "connecting" });
    void this.#try();
  }

  stop(): void {
    if (this.#state.kind === "off") return;
    this.#leave();
    this.#position = null;
    this.#become({ kind: "off" });
  }

  retryNow(): void {
    if (this.#state.kind === "off") return;
    if (this.#state.kind === "connected") {
      void this.#moveIfOther();
      return;
    }
    this.#failures = 0;
    this.#leave();
    this.#become({ kind: "connecting" });
    void this.#try();
  }

  onState(listener: (state: ConnectionState) => void): Unsubscribe {
    return this.#states.add(listener);
  }

  onSnapshot(listener: () => void): Unsubscribe {
    if (this.#state.kind !== "connected") this.missed();
    return this.#snapshots.add(listener);
  }

  missed(): void {
    this.#isMissed = true;
  }

  on<N extends keyof ServerNotifications>(
    name: N,
    listener: (params: ServerNotifications[N]) => void,
  ): Unsubscribe {
    const listeners = this.#events.get(name) ?? new Listeners<unknown>();
    this.#events.set(name, listeners);
    return listeners.add((params) => listener(params as ServerNotifications[N]));
  }

  answer<R extends keyof ServerRequests>(
    name: R,
    serve: (
      params: ServerRequests[R]["params"],
      signal: AbortSignal,
    ) => Promise<ServerRequests[R]["result"]>,
  ): Unsubscribe {
    return this.#serving.add(name, serve as Serve);
  }

  call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options: CallOptions = {},
  ): Promise<Methods[M]["result"]> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const session = this.#session;
      if (session === null || this.#state.kind !== "connected") {
        reject(new CallError("not connected to the daemon", 0, "not_connected", true));
        return;
      }
      if (signal?.aborted === true) {
        reject(cancelled());
        return;
      }
      const unlimited = method === "session/prompt" ? null : CALL_MS;
      const giveUp = (): void => {
        if (id !== null) session.giveUp(id, cancelled());
      };
      const over = (): void => signal?.removeEventListener("abort", giveUp);
      const id = session.request(
        method,
        params,
        options.timeoutMs ?? unlimited,
        (result) => {
          over();
          resolve(result as Methods[M]["result"]);
        },
        (error) => {
          over();
          reject(error);
        },
      );
      signal?.addEventListener("abort", giveUp, { once: true });
    });
  }

  notify<N extends keyof ClientNotifications>(name: N, params: ClientNotifications[N]): void {
    if (this.#state.kind === "connected") this.#session?.notify(name, params);
  }

  async #try(): Promise<void> {
    const attempt = ++this.#attempt;
    const stale = (): boolean => attempt !== this.#attempt;
    const address = this.#options.address();
    const where = endpoint(address);
    if ("problem" in where) return this.#become({ kind: "refused", detail: where.problem });

    let token: string | null;
    try {
      token = await this.#options.token();
    } catch (error) {
      if (stale()) return;
      const detail = `the token cannot be read: ${String(error)}`;
      return this.#become({ kind: "refused", detail });
    }
    if (stale()) return;
    if (token === null || token === "") return this.#become({ kind: "unpaired" });

    this.#used = { address, token };
    const { host } = where;
    const { name, key } = await keyOf(token);
    if (stale()) return;
    const nonce = makeNonce();
    const answer = await this.#ask(`http://${host}/v1/challenge/${name}/${nonce}`);
    if (stale()) return;
    if (answer === null) return this.#later("absent");
    const theirs = nonceIn(answer.text);
    const right = await proof(key, "challenge", host, `${nonce} ${theirs.nonce}`);
    const ticket = `${name}.${theirs.nonce}.${await proof(key, "ticket", host, theirs.nonce)}`;
    if (stale()) return;
    const { status } = answer;
    if (status === 401) return this.#later("refused", OTHER_TOKEN);
    if (status === 429 || status === 503) return this.#later("refused", BUSY);
    // No secret has been sent at this point.
    if (theirs.proof !== right) return this.#later("refused", NOT_THE_DAEMON);
    // The state stays `absent` until a program answers, so that a retry does not flicker.
    if (this.#state.kind !== "connecting" || this.#state.retryAt !== undefined) {
      this.#become({ kind: "connecting" });
    }
    this.#open(host, ticket, key, stale);
  }

  #open(host: string, ticket: string, key: string, stale: () => boolean): void {
    const { clientInfo, capabilities } = this.#options;
    this.#session = new Session({
      host,
      ticket,
      key,
      nonce: makeNonce(),
      clock: this.#clock,
      socket: this.#options.socket ?? webSocket,
      clientInfo,
      capabilities,
      events: {
        ready: (result) => this.#ready(result),
        notification: (name, params) => this.#notification(name, params),
        request: (id, name, params) => this.#asked(id, name, params),
        ended: (end) => {
          if (!stale()) this.#ended(end);
        },
      },
    });
  }

  /** The response of an address; null if no program answers. */
  #ask(url: string): Promise<{ status: number; text: string } | null> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => resolve(null), ASK_MS);
      this.#asking = timer;
      this.#options
        .get(url)
        .then(resolve, () => resolve(null))
        .then(() => this.#clock.clearTimeout(timer));
    });
  }

  #ready(result: InitializeResult): void {
    const { scope } = result.agentCapabilities._meta.vault;
    if (scope !== "person") {
      const detail = `the token is for programs (\`${scope}\`), not for a person; \`steward pair\` shows yours`;
      return this.#session?.end({ detail, lasting: false });
    }
    this.#daemon = result;
    if (this.#isMissed) this.#position = null;
    this.#subscribe((subscribed) => {
      this.#connectedAt = this.#clock.now();
      this.#become({ kind: "connected" });
      this.#pingLater();
      const isMissed = this.#isMissed;
      this.#isMissed = false;
      if (isMissed || subscribed.mode !== "replay") this.#snapshots.notify();
      for (const { id, name, params } of this.#early.splice(0)) this.#asked(id, name, params);
    });
  }

  #asked(id: RequestId, name: string, params: unknown): void {
    if (this.#state.kind === "connected") this.#serving.request(id, name, params);
    else this.#early.push({ id, name, params });
  }

  /** Subscribes to events after the last received one. `then` runs before the first of them. */
  #subscribe(then: (result: SubscribeResult) => void): void {
    const params: SubscribeParams =
      this.#position === null ? {} : { epoch: this.#position.epoch, after: this.#position.seq };
    this.#subscribing = true;
    const session = this.#session;
    session?.request(
      "_vault/subscribe",
      params,
      CALL_MS,
      (answer) => {
        const result = answer as SubscribeResult;
        this.#subscribing = false;
        if (result.mode !== "replay") this.#position = { epoch: result.epoch, seq: result.seq };
        then(result);
      },
      () => session.end(),
    );
  }

  #notification(name: string, params: unknown): void {
    if (name === "$/cancel_request") {
      const { requestId } = params as CancelParams;
      this.#early = this.#early.filter(({ id }) => id !== requestId);
      this.#serving.withdraw(requestId);
      return;
    }
    const seq = (params as { _meta?: Partial<EventMeta> } | undefined)?._meta?.vault?.seq ?? 0;
    // 0 marks replayed history, which has no position in the event stream.
    if (seq > 0 && !this.#takes(seq)) return;
    this.#events.get(name)?.notify(params);
  }

  /** Whether an event is the next one. Requests the missing events if there is a gap. */
  #takes(seq: number): boolean {
    if (this.#subscribing || this.#position === null) return false;
    if (seq === this.#position.seq + 1) {
      this.#position.seq = seq;
      return true;
    }
    if (seq > this.#position.seq) this.#catchUp();
    return false;
  }

  #catchUp(): void {
    this.#subscribe(({ mode }) => {
      if (mode !== "replay") this.#snapshots.notify();
    });
  }

  #pingLater(): void {
    this.#ping = this.#clock.setTimeout(() => {
      const session = this.#session;
      session?.request(
        "_vault/ping",
        {},
        PING_ANSWER_MS,
        (answer) => {
          const { epoch, seq } = answer as PingResult;
          const position = this.#position;
          if (position !== null && !this.#subscribing && (epoch !== position.epoch || seq > position.seq)) {
            this.#catchUp();
          }
          this.#pingLater();
        },
        (error) => {
          // Any answer shows that the connection works; without an answer it is dead.
          if (error.code === 0) session.end();
          else this.#pingLater();
        },
      );
    }, PING_MS);
  }

  #ended(end: SessionEnd): void {
    const stood =
      this.#state.kind === "connected" && this.#clock.now() - this.#connectedAt >= STOOD_MS;
    if (stood) this.#failures = 0;
    this.#forgetSession();
    if (end.refused !== undefined) {
      if (end.refused.lasting) this.#become({ kind: "refused", detail: end.refused.detail });
      else this.#later("refused", end.refused.detail);
    } else if (end.opened) {
      this.#later("connecting", "the connection was lost");
    } else {
      this.#later("refused", BUSY);
    }
  }

  #later(kind: "absent" | "refused" | "connecting", detail?: string): void {
    const pauses = kind === "refused" ? REFUSED_PAUSES_MS : PAUSES_MS;
    const pause = pauses[Math.min(this.#failures, pauses.length - 1)] ?? PAUSES_MS[0];
    this.#failures += 1;
    this.#retry = this.#clock.setTimeout(() => void this.#try(), pause);
    this.#become({ kind, detail, retryAt: this.#clock.now() + pause });
  }

  async #moveIfOther(): Promise<void> {
    const attempt = this.#attempt;
    const token = await this.#options.token().catch(() => null);
    if (attempt !== this.#attempt || this.#state.kind !== "connected") return;
    if (token === this.#used.token && this.#options.address() === this.#used.address) return;
    this.#position = null;
    this.#leave();
    this.#become({ kind: "connecting" });
    void this.#try();
  }

  /** Ends the current attempt or session without a state change. */
  #leave(): void {
    this.#attempt += 1;
    this.#clock.clearTimeout(this.#retry);
    this.#clock.clearTimeout(this.#asking);
    const session = this.#session;
    this.#forgetSession();
    session?.end();
  }

  #forgetSession(): void {
    this.#clock.clearTimeout(this.#ping);
    this.#session = null;
    this.#daemon = null;
    this.#subscribing = false;
    this.#early = [];
    this.#serving.withdrawAll();
  }

  #become(state: ConnectionState): void {
    this.#state = state;
    this.#states.notify(state);
  }
}

/** The daemon's nonce and proof in a response. */
function nonceIn(text: string): ChallengeAnswer {
  try {
    const { nonce, proof } = JSON.parse(text) as Partial<ChallengeAnswer>;
    if (typeof nonce === "string" && /^[\w-]+$/.test(nonce)) return { nonce, proof: String(proof) };
  } catch {
    // Any other response proves nothing.
  }
  return { nonce: "", proof: "" };
}

function cancelled(): CallError {
  return new CallError("the call was cancelled", 0, "cancelled", false);
}

function webSocket(url: string, protocols: string[]): Socket {
  return new WebSocket(url, protocols);
}

function windowClock(): Clock {
  return {
    now: () => Date.now(),
    setTimeout: (run, milliseconds) => window.setTimeout(run, milliseconds),
    clearTimeout: (timer) => window.clearTimeout(timer as number | undefined),
  };
}
