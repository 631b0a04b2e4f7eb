import { beforeEach, describe, expect, it } from "vitest";
import type { CallError, Connection, ConnectionState } from "../src/connection";
import type { RequestPermissionParams, RequestPermissionResult } from "../src/protocol";
import { FakeClock, settle } from "./fake-clock";
import { connected, connectTo, FakeDaemon, hmac, PLACE, TOKEN } from "./fake-daemon";

let daemon: FakeDaemon;
let clock: FakeClock;

beforeEach(() => {
  daemon = new FakeDaemon();
  clock = new FakeClock();
});

/** What a call that fails came to. */
async function failure(call: Promise<unknown>): Promise<CallError> {
  return call.then(
    () => {
      throw new Error("the call did not fail");
    },
    (error: unknown) => error as CallError,
  );
}

function answered(answer: object | null): { status: number; text: string } {
  return { status: 200, text: JSON.stringify(answer) };
}

function seen(connection: Connection): string[] {
  const told: string[] = [];
  connection.onState(({ kind }) => told.push(kind));
  connection.onSnapshot(() => told.push("snapshot"));
  connection.on("_vault/changed", ({ path }) => told.push(path));
  return told;
}

describe("getting in", () => {
  it("comes in with a ticket for the daemon's nonce, and shows the token nowhere", async () => {
    const connection = await connected(daemon, clock);
    expect(daemon.asked).toHaveLength(1);
    expect(daemon.asked[0]).toMatch(new RegExp(`^http://${PLACE}/v1/challenge/${daemon.name}/[0-9a-f]{64}$`));
    expect(daemon.last.url).toBe(`ws://${PLACE}/v1`);
    const ticket = hmac(TOKEN, `vault-steward ticket ${PLACE} 1-nonce`);
    expect(daemon.last.protocols).toEqual(["vault.v1", `vault.ticket.${daemon.name}.1-nonce.${ticket}`]);
    expect(JSON.stringify([daemon.asked, daemon.last.protocols, daemon.last.sent])).not.toContain(TOKEN);
    expect(connection.daemon?.agentCapabilities._meta.vault.name).toBe("Notes");
  });

  it.each([
    ["has another token's proof", () => {
      daemon.challenge = ({ nonce }) => answered({ nonce, proof: hmac("another", "x") });
    }],
    ["gives its client's ticket back for a proof", () => {
      daemon.challenge = ({ nonce }) => answered({ nonce, proof: hmac(TOKEN, `vault-steward ticket ${PLACE} ${nonce}`) });
    }],
    ["has an old answer", () => {
      const old = { nonce: "0-nonce", proof: hmac(TOKEN, `vault-steward challenge ${PLACE} ${"ab".repeat(32)} 0-nonce`) };
      daemon.challenge = () => answered(old);
    }],
    ["has no proof", () => (daemon.challenge = ({ nonce }) => answered({ nonce }))],
    ["has no nonce", () => (daemon.challenge = ({ proof }) => answered({ proof }))],
    ["has a nonce that is no word", () => {
      const nonce = "a, vault.v1";
      daemon.challenge = () => answered({ nonce, proof: hmac(TOKEN, `vault-steward challenge ${PLACE} x ${nonce}`) });
    }],
    ["speaks something else", () => (daemon.challenge = () => ({ status: 200, text: "<html>" }))],
    ["says nothing", () => (daemon.challenge = () => answered(null))],
    ["knows no such address", () => (daemon.challenge = () => ({ status: 404, text: "" }))],
    // What it passes on is true, and true of another port.
    ["passes everything on to the daemon elsewhere", () => (daemon.elsewhere = "127.0.0.1:27999")],
  ])("opens no socket to a program that %s", async (_, act) => {
    act();
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("not this vault's daemon");
    await clock.pass(600_000);
    expect(daemon.sockets).toHaveLength(0);
    expect(daemon.asked.join()).not.toContain(TOKEN);
    daemon.challenge = null;
    daemon.elsewhere = null;
    await clock.pass(60_000);
    expect(connection.state.kind).toBe("connected");
  });

  it("asks nothing any more for an attempt that is over", async () => {
    let address = PLACE;
    const connection = connectTo(daemon, clock, { address: () => address });
    connection.start();
    // The first one is on its way: what it signs is signed beside everything else.
    await Promise.resolve();
    address = "127.0.0.1:27999";
    connection.retryNow();
    await settle();
    expect(daemon.asked.map((url) => new URL(url).host)).toEqual([address]);
    expect(connection.state.kind).toBe("connected");
  });

  it("is called by a name of this machine's and looks at the daemon's own address", async () => {
    await connected(daemon, clock, { address: () => "localhost:27180" });
    await connected(daemon, clock, { address: () => "27180" });
    expect(daemon.sockets.map(({ url }) => url)).toEqual([`ws://${PLACE}/v1`, `ws://${PLACE}/v1`]);
  });

  it("says so where the daemon knows another token, or has no room", async () => {
    const connection = connectTo(daemon, clock, { token: () => Promise.resolve("another token") });
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("steward pair");
    const full = connectTo(daemon, clock);
    daemon.challenge = () => ({ status: 503, text: "" });
    full.start();
    await settle();
    expect(full.state.detail).toContain("too many");
    expect(daemon.sockets).toHaveLength(0);
  });

  it("shows the name and the key of a page's token as they are", async () => {
    const [name, key] = ["page-9-ab-run", "cd".repeat(32)];
    const nonce = "1-nonce";
    const get = (url: string): Promise<{ status: number; text: string }> => {
      const theirs = url.split("/").at(-1) ?? "";
      expect(url).toContain(`/${name}/`);
      return Promise.resolve(answered({ nonce, proof: hmac(key, `vault-steward challenge ${PLACE} ${theirs} ${nonce}`) }));
    };
    const connection = connectTo(daemon, clock, { get, token: () => Promise.resolve(`${name}.${key}`) });
    connection.start();
    await settle();
    const ticket = hmac(key, `vault-steward ticket ${PLACE} ${nonce}`);
    expect(daemon.last.protocols[1]).toBe(`vault.ticket.${name}.${nonce}.${ticket}`);
    connection.stop();
  });

  it("says what it can do, with a nonce of its own each time", async () => {
    await connected(daemon, clock, { capabilities: { approvals: true } });
    await connected(daemon, clock);
    const nonces = daemon.sockets.map((socket) => {
      const params = socket.asked("initialize")[0]?.params as {
        clientCapabilities: { _meta: { vault: { approvals: boolean; nonce: string } } };
      };
      expect(params.clientCapabilities._meta.vault.approvals).toBe(true);
      return params.clientCapabilities._meta.vault.nonce;
    });
    expect(nonces[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  it.each([
    ["another token's", (nonce: string) => new FakeDaemon().proof(nonce, "another")],
    ["none", () => undefined],
    ["no hex", () => "proof"],
    ["an empty one", () => ""],
  ])("sends nothing to a program whose proof is %s, and does not come back", async (_, proof) => {
    const original = daemon.proof;
    daemon.proof = (nonce) => proof(nonce);
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("not this vault's daemon");
    expect(daemon.last.sent.map(({ method }) => method)).toEqual(["initialize"]);
    expect(daemon.last.closed).toBe(true);
    expect(clock.timers).toBe(0);
    await clock.pass(3_600_000);
    expect(daemon.sockets).toHaveLength(1);
    daemon.proof = original;
    connection.retryNow();
    await settle();
    expect(connection.state.kind).toBe("connected");
  });

  it("hears nothing from a program that has not proved itself", async () => {
    daemon.proof = () => "00";
    const connection = connectTo(daemon, clock);
    const told = seen(connection);
    const receive = daemon.receive.bind(daemon);
    daemon.receive = (socket, message) => {
      socket.event("_vault/changed", 1, { path: "Lie.md" });
      receive(socket, message);
      socket.event("_vault/changed", 2, { path: "Another.md" });
    };
    connection.start();
    await settle();
    expect(told).toEqual(["connecting", "refused"]);
  });

  it("says that it is absent, and finds it when it appears", async () => {
    daemon.there = false;
    const connection = connectTo(daemon, clock);
    const states: ConnectionState[] = [];
    connection.onState((state) => states.push(state));
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("absent");
    expect(connection.state.retryAt).toBe(clock.now() + 250);
    await clock.pass(60_000);
    expect(daemon.sockets).toHaveLength(0);
    // It does not flicker while it looks again.
    expect(new Set(states.slice(1).map(({ kind }) => kind))).toEqual(new Set(["absent"]));
    daemon.there = true;
    await clock.pass(5_000);
    expect(connection.state).toEqual({ kind: "connected" });
  });

  it("takes a question that is never answered for nobody there", async () => {
    const connection = connectTo(daemon, clock, { get: () => new Promise(() => undefined) });
    connection.start();
    await settle();
    await clock.pass(5_000);
    expect(connection.state.kind).toBe("absent");
    connection.stop();
    expect(clock.timers).toBe(0);
  });

  it("tells refused from absent, and comes back seldom", async () => {
    daemon.opening = "refuse";
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("too many");
    await clock.pass(20_000);
    expect(daemon.sockets).toHaveLength(3);
    await clock.pass(600_000);
    expect(daemon.sockets).toHaveLength(13);
  });

  it("says that nobody has paired, and connects when somebody has", async () => {
    let token: string | null = null;
    const connection = connectTo(daemon, clock, { token: () => Promise.resolve(token) });
    connection.start();
    await settle();
    expect(connection.state).toEqual({ kind: "unpaired" });
    expect(clock.timers).toBe(0);
    token = TOKEN;
    connection.retryNow();
    await settle();
    expect(connection.state.kind).toBe("connected");
  });

  it.each(["example.org:27180", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999", "a b", "127.0.0.1:1@evil:2", ""])(
    "shows the token to no other machine: %s",
    async (address) => {
      const connection = connectTo(daemon, clock, { address: () => address });
      connection.start();
      await settle();
      expect(connection.state.kind).toBe("refused");
      expect(connection.state.detail).toContain("127.0.0.1:27180");
      expect(daemon.sockets).toHaveLength(0);
    },
  );

  it("refuses a daemon of another protocol, and a token that is no person's", async () => {
    daemon.protocolVersion = 2;
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.detail).toContain("version 2");
    daemon.protocolVersion = 1;
    daemon.scope = "mcp";
    connection.retryNow();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("`mcp`");
  });

  it("says so where something else answers", async () => {
    const connection = connectTo(daemon, clock);
    daemon.receive = (socket) => socket.onmessage?.({ data: "<html>" });
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("does not speak");
  });

  it("waits for a socket that never opens no longer than ten seconds", async () => {
    daemon.opening = "never";
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    await clock.pass(9_999);
    expect(daemon.last.closed).toBe(false);
    await clock.pass(1);
    expect(daemon.sockets[0]?.closed).toBe(true);
    expect(connection.state.kind).toBe("refused");
  });
});

describe("events", () => {
  it("asks for all to be loaded at first, after `connected` and before any event", async () => {
    daemon.seq = 7;
    const connection = connectTo(daemon, clock);
    const told = seen(connection);
    connection.start();
    await settle();
    daemon.last.event("_vault/changed", 8, { path: "A.md" });
    expect(told).toEqual(["connecting", "connected", "snapshot", "A.md"]);
  });

  it("hears after a lost connection what was missed, each once", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    daemon.last.event("_vault/changed", 1, { path: "A.md" });
    daemon.last.event("_vault/changed", 2, { path: "B.md" });
    daemon.last.lose();
    await clock.pass(250);
    const subscribe = daemon.last.asked("_vault/subscribe")[0];
    expect(subscribe?.params).toEqual({ epoch: "first", after: 2 });
    daemon.last.event("_vault/changed", 2, { path: "B.md" });
    daemon.last.event("_vault/changed", 3, { path: "C.md" });
    expect(told).toEqual(["A.md", "B.md", "connecting", "connecting", "connected", "C.md"]);
  });

  it("asks for all to be loaded anew after a restart of the daemon", async () => {
    const connection = await connected(daemon, clock);
    daemon.last.event("_vault/changed", 1, { path: "A.md" });
    const told = seen(connection);
    daemon.epoch = "second";
    daemon.seq = 40;
    daemon.last.lose();
    await clock.pass(250);
    daemon.last.event("_vault/changed", 41, { path: "B.md" });
    expect(told.slice(-3)).toEqual(["connected", "snapshot", "B.md"]);
  });

  it("asks for all to be loaded anew where somebody came meanwhile, or missed what was to be loaded", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    const again = async (): Promise<string[]> => {
      daemon.last.lose();
      await clock.pass(2_000);
      return told.splice(0);
    };
    expect(await again()).toEqual(["connecting", "connecting", "connected"]);
    connection.missed();
    expect(await again()).toEqual(["connecting", "connecting", "connected", "snapshot"]);
    expect(daemon.last.asked("_vault/subscribe")[0]?.params).toEqual({});
    daemon.last.lose();
    const late = seen(connection);
    await clock.pass(2_000);
    expect(late).toEqual(["connecting", "connected", "snapshot"]);
    told.length = 0;
    // That holds for one connection.
    expect(await again()).toEqual(["connecting", "connecting", "connected"]);
  });

  it("asks for all to be loaded anew where the daemon has forgotten too much", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    daemon.subscription = () => "snapshot";
    daemon.seq = 9_000;
    daemon.last.lose();
    await clock.pass(250);
    expect(told.slice(-2)).toEqual(["connected", "snapshot"]);
  });

  it("asks again from the last one where one is missing, and tells none twice or too early", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    daemon.last.event("_vault/changed", 1, { path: "A.md" });
    daemon.last.event("_vault/changed", 3, { path: "C.md" });
    const again = daemon.last.asked("_vault/subscribe")[1];
    expect(again?.params).toEqual({ epoch: "first", after: 1 });
    for (const [seq, path] of [[2, "B.md"], [3, "C.md"], [4, "D.md"]] as const) {
      daemon.last.event("_vault/changed", seq, { path });
    }
    expect(told).toEqual(["A.md", "B.md", "C.md", "D.md"]);
  });

  it("notices by a ping that it missed the last ones", async () => {
    await connected(daemon, clock);
    daemon.seq = 5;
    await clock.pass(25_000);
    expect(daemon.last.asked("_vault/subscribe").at(-1)?.params).toEqual({ epoch: "first", after: 0 });
  });

  it("counts what is not for it, and lets a history that is told again through", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    daemon.last.event("_vault/hidden", 1);
    daemon.last.event("_vault/changed", 0, { path: "Old.md" });
    daemon.last.event("_vault/changed", 2, { path: "New.md" });
    expect(told).toEqual(["Old.md", "New.md"]);
    expect(daemon.last.asked("_vault/subscribe")).toHaveLength(1);
  });

  it("tells the others where one who hears throws", async () => {
    const connection = await connected(daemon, clock);
    const error = console.error;
    const said: unknown[] = [];
    console.error = (...what) => said.push(...what);
    connection.on("_vault/changed", () => {
      throw new Error("torn");
    });
    const told = seen(connection);
    daemon.last.event("_vault/changed", 1, { path: "A.md" });
    console.error = error;
    expect(told).toEqual(["A.md"]);
    expect(String(said[1])).toContain("torn");
  });

  it("ends a connection on which nothing comes back any more", async () => {
    const connection = await connected(daemon, clock);
    daemon.answers.set("_vault/ping", () => undefined);
    await clock.pass(35_000);
    expect(daemon.sockets[0]?.closed).toBe(true);
    daemon.answers.delete("_vault/ping");
    await clock.pass(1_000);
    expect(connection.state.kind).toBe("connected");
    expect(daemon.sockets).toHaveLength(2);
  });
});

describe("calls", () => {
  it("brings answers to those who asked, in whatever order they come", async () => {
    const connection = await connected(daemon, clock);
    const first = connection.call("tools/call", { name: "one" });
    const second = connection.call("tools/call", { name: "two" });
    const [one, two] = daemon.last.asked("tools/call");
    daemon.last.deliver({ id: two?.id, result: { content: [], structuredContent: 2, isError: false } });
    daemon.last.deliver({ id: one?.id, result: { content: [], structuredContent: 1, isError: false } });
    expect((await first).structuredContent).toBe(1);
    expect((await second).structuredContent).toBe(2);
  });

  it("fails with what the daemon says", async () => {
    const connection = await connected(daemon, clock);
    const call = failure(connection.call("_vault/end", {}));
    daemon.last.deliver({
      id: daemon.last.asked("_vault/end")[0]?.id,
      error: {
        code: 1001,
        message: "a turn is at work",
        data: { kind: "turn_running", retryable: true, hint: "cancel it first" },
      },
    });
    const error = await call;
    expect(error).toMatchObject({ code: 1001, kind: "turn_running", retryable: true });
    expect(error.advice).toBe("a turn is at work (cancel it first)");
  });

  it("is given up after its time, and what comes later counts for nothing", async () => {
    const connection = await connected(daemon, clock);
    const call = failure(connection.call("_vault/status", {}, { timeoutMs: 2_000 }));
    await clock.pass(2_000);
    expect(await call).toMatchObject({ kind: "timeout", retryable: true });
    const id = daemon.last.asked("_vault/status")[0]?.id;
    expect(daemon.last.asked("$/cancel_request")[0]?.params).toEqual({ requestId: id });
    daemon.last.deliver({ id, result: { version: "late" } });
    await settle();
    expect(connection.state.kind).toBe("connected");
  });

  it("has thirty seconds where nothing else is said, and a prompt has no end", async () => {
    const connection = await connected(daemon, clock);
    const status = failure(connection.call("_vault/status", {}));
    let over = false;
    const prompt = connection.call("session/prompt", { prompt: [] }).finally(() => {
      over = true;
    });
    await clock.pass(30_000);
    expect((await status).kind).toBe("timeout");
    await clock.pass(24 * 3_600_000);
    expect(over).toBe(false);
    daemon.last.lose();
    expect((await failure(prompt)).kind).toBe("disconnected");
  });

  it("is given up by its signal", async () => {
    const connection = await connected(daemon, clock);
    const controller = new AbortController();
    const call = failure(connection.call("_vault/status", {}, { signal: controller.signal }));
    controller.abort();
    expect((await call).kind).toBe("cancelled");
    expect(daemon.last.asked("$/cancel_request")).toHaveLength(1);
    const early = failure(connection.call("_vault/status", {}, { signal: controller.signal }));
    expect((await early).kind).toBe("cancelled");
    expect(daemon.last.asked("_vault/status")).toHaveLength(1);
  });

  it("is not made without a connection", async () => {
    const connection = connectTo(daemon, clock);
    expect((await failure(connection.call("_vault/status", {}))).kind).toBe("not_connected");
    connection.notify("session/cancel", { sessionId: "1" });
    expect(daemon.sockets).toHaveLength(0);
  });

  it("is not made where it is larger than the daemon takes", async () => {
    daemon.maxMessageBytes = 200;
    const connection = await connected(daemon, clock);
    const text = "ä".repeat(120);
    const error = await failure(connection.call("session/prompt", { prompt: [{ type: "text", text }] }));
    expect(error).toMatchObject({ kind: "invalid_params", retryable: false });
    expect(daemon.last.asked("session/prompt")).toHaveLength(0);
    expect(connection.state.kind).toBe("connected");
  });
});

describe("requests of the daemon's", () => {
  const question = { sessionId: "1" } as RequestPermissionParams;
  const allow: RequestPermissionResult = { outcome: { outcome: "selected", optionId: "allow_once" } };

  function ask(id: string): void {
    daemon.last.deliver({ id, method: "session/request_permission", params: question });
  }

  function answers(id: string): unknown[] {
    return daemon.last.sent.filter((message) => message.id === id).map(({ result }) => result);
  }

  it("are answered by the first of those who show them, and taken away from the others", async () => {
    const connection = await connected(daemon, clock);
    let allowIt = (): void => undefined;
    const signals: AbortSignal[] = [];
    connection.answer("session/request_permission", (_, signal) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    connection.answer("session/request_permission", (params, signal) => {
      signals.push(signal);
      expect(params).toEqual(question);
      return new Promise((resolve) => {
        allowIt = () => resolve(allow);
      });
    });
    ask("permission-1");
    allowIt();
    await settle();
    expect(answers("permission-1")).toEqual([allow]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it("wait for whoever comes to show them", async () => {
    const connection = await connected(daemon, clock);
    ask("permission-1");
    await settle();
    expect(answers("permission-1")).toEqual([]);
    const end = connection.answer("session/request_permission", () => new Promise(() => undefined));
    end();
    connection.answer("session/request_permission", () => Promise.resolve(allow));
    await settle();
    expect(answers("permission-1")).toEqual([allow]);
  });

  it("that come before what is shown could be loaded are shown after it", async () => {
    const connection = connectTo(daemon, clock);
    const told = seen(connection);
    connection.answer("session/request_permission", () => {
      told.push("question");
      return Promise.resolve(allow);
    });
    const receive = daemon.receive.bind(daemon);
    daemon.receive = (socket, message) => {
      if (message.method === "_vault/subscribe") setImmediate(() => receive(socket, message));
      else receive(socket, message);
      if (message.method === "initialize") {
        ask("permission-1");
        ask("permission-2");
        socket.deliver({ method: "$/cancel_request", params: { requestId: "permission-1" } });
      }
    };
    connection.start();
    await settle();
    expect(told).toEqual(["connecting", "connected", "snapshot", "question"]);
    expect(answers("permission-2")).toEqual([allow]);
  });

  it("are dropped when they were answered elsewhere, and when the connection is lost", async () => {
    const connection = await connected(daemon, clock);
    const signals: AbortSignal[] = [];
    const resolves: ((result: RequestPermissionResult) => void)[] = [];
    connection.answer("session/request_permission", (_, signal) => {
      signals.push(signal);
      return new Promise((resolve) => resolves.push(resolve));
    });
    ask("permission-1");
    ask("permission-2");
    daemon.last.deliver({ method: "$/cancel_request", params: { requestId: "permission-1" } });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    daemon.last.lose();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    await clock.pass(250);
    for (const resolve of resolves) resolve(allow);
    await settle();
    expect(answers("permission-1")).toEqual([]);
    expect(answers("permission-2")).toEqual([]);
  });

  it("are refused where nobody here serves such", async () => {
    await connected(daemon, clock);
    daemon.last.deliver({ id: 9, method: "_vault/host/fly", params: {} });
    const answer = daemon.last.sent.find(({ id, method }) => id === 9 && method === undefined);
    expect(answer?.error).toMatchObject({ code: -32601, data: { kind: "unknown_method" } });
  });
});

describe("stopping", () => {
  it.each(["connected", "absent", "refused", "connecting", "unpaired"] as const)(
    "leaves no timer, socket or call: %s",
    async (kind) => {
      if (kind === "absent") daemon.there = false;
      if (kind === "refused") daemon.opening = "refuse";
      if (kind === "connecting") daemon.opening = "never";
      const connection = connectTo(daemon, clock, {
        token: () => Promise.resolve(kind === "unpaired" ? null : TOKEN),
      });
      connection.start();
      await settle();
      expect(connection.state.kind).toBe(kind);
      const call = failure(connection.call("session/prompt", { prompt: [] }));
      connection.stop();
      expect((await call).kind).toMatch(/^(dis|not_)connected$/);
      expect(connection.state).toEqual({ kind: "off" });
      expect(clock.timers).toBe(0);
      expect(daemon.sockets.every(({ closed }) => closed)).toBe(true);
      const made = daemon.sockets.length;
      await clock.pass(3_600_000);
      expect(daemon.sockets).toHaveLength(made);
    },
  );

  it("holds while the token is still being read", async () => {
    let give = (_: string): void => undefined;
    const connection = connectTo(daemon, clock, {
      token: () => new Promise((resolve) => { give = resolve; }),
    });
    connection.start();
    connection.stop();
    give(TOKEN);
    await settle();
    expect(daemon.sockets).toHaveLength(0);
    expect(clock.timers).toBe(0);
  });

  it("can be followed by another start, which loads all anew", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    connection.stop();
    connection.start();
    await settle();
    expect(told).toEqual(["off", "connecting", "connected", "snapshot"]);
  });
});

describe("another address or token", () => {
  it("is moved to at once", async () => {
    let address = "127.0.0.1:27180";
    const connection = await connected(daemon, clock, { address: () => address });
    connection.retryNow();
    await settle();
    expect(daemon.sockets).toHaveLength(1);
    address = "127.0.0.1:27181";
    connection.retryNow();
    await settle();
    expect(daemon.last.url).toBe("ws://127.0.0.1:27181/v1");
    expect(connection.state.kind).toBe("connected");
    expect(daemon.sockets[0]?.closed).toBe(true);
  });
});
