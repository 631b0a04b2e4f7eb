// The traffic of a connection: events, calls, and the daemon's requests.
import { beforeEach, describe, expect, it } from "vitest";
import type { RequestPermissionParams, RequestPermissionResult } from "../src/protocol";
import { FakeClock, settle } from "./fake-clock";
import { connected, connectTo, failure, FakeDaemon, seen } from "./fake-daemon";

let daemon: FakeDaemon;
let clock: FakeClock;

beforeEach(() => {
  daemon = new FakeDaemon();
  clock = new FakeClock();
});

describe("events", () => {
  it("requests a reload at first, after `connected` and before any event", async () => {
    daemon.seq = 7;
    const connection = connectTo(daemon, clock);
    const told = seen(connection);
    connection.start();
    await settle();
    daemon.last.event("_vault/changed", 8, { path: "A.md" });
    expect(told).toEqual(["connecting", "connected", "snapshot", "A.md"]);
  });

  it("delivers missed events once after a reconnection", async () => {
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

  it("requests a reload after a restart of the daemon", async () => {
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

  it("requests a reload for a listener that was added meanwhile, or whose load failed", async () => {
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
    // The unsubscription lasts for one connection.
    expect(await again()).toEqual(["connecting", "connecting", "connected"]);
  });

  it("requests a reload if the daemon no longer has the missed events", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    daemon.subscription = () => "snapshot";
    daemon.seq = 9_000;
    daemon.last.lose();
    await clock.pass(250);
    expect(told.slice(-2)).toEqual(["connected", "snapshot"]);
  });

  it("requests missing events again, and delivers none twice or too early", async () => {
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

  it("notices missed events by a ping", async () => {
    await connected(daemon, clock);
    daemon.seq = 5;
    await clock.pass(25_000);
    expect(daemon.last.asked("_vault/subscribe").at(-1)?.params).toEqual({ epoch: "first", after: 0 });
  });

  it("counts hidden events, and delivers a replayed history", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    daemon.last.event("_vault/hidden", 1);
    daemon.last.event("_vault/changed", 0, { path: "Old.md" });
    daemon.last.event("_vault/changed", 2, { path: "New.md" });
    expect(told).toEqual(["Old.md", "New.md"]);
    expect(daemon.last.asked("_vault/subscribe")).toHaveLength(1);
  });

  it("calls the other listeners if one throws", async () => {
    const connection = await connected(daemon, clock);
    const error = console.error;
    const logged: unknown[] = [];
    console.error = (...what) => logged.push(...what);
    connection.on("_vault/changed", () => {
      throw new Error("torn");
    });
    const told = seen(connection);
    daemon.last.event("_vault/changed", 1, { path: "A.md" });
    console.error = error;
    expect(told).toEqual(["A.md"]);
    expect(String(logged[1])).toContain("torn");
  });

  it("closes a connection without responses", async () => {
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
  it("resolves with their answers, in whatever order these arrive", async () => {
    const connection = await connected(daemon, clock);
    const first = connection.call("tools/call", { name: "one" });
    const second = connection.call("tools/call", { name: "two" });
    const [one, two] = daemon.last.asked("tools/call");
    daemon.last.deliver({ id: two?.id, result: { content: [], structuredContent: 2, isError: false } });
    daemon.last.deliver({ id: one?.id, result: { content: [], structuredContent: 1, isError: false } });
    expect((await first).structuredContent).toBe(1);
    expect((await second).structuredContent).toBe(2);
  });

  it("rejects with the daemon's error", async () => {
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

  it("times out, and ignores a later answer", async () => {
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

  it("times out after thirty seconds by default, and never for a prompt", async () => {
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

  it("is cancelled by its signal", async () => {
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

  it("is not made if it exceeds the daemon's limit", async () => {
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

  it("are answered by the first handler, and withdrawn from the others", async () => {
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

  it("wait for a handler", async () => {
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

  it("that arrive before the first load are handled after it", async () => {
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

  it("are withdrawn after an answer in another client, and after a lost connection", async () => {
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

  it("are refused without a handler", async () => {
    await connected(daemon, clock);
    daemon.last.deliver({ id: 9, method: "_vault/host/fly", params: {} });
    const answer = daemon.last.sent.find(({ id, method }) => id === 9 && method === undefined);
    expect(answer?.error).toMatchObject({ code: -32601, data: { kind: "unknown_method" } });
  });
});
