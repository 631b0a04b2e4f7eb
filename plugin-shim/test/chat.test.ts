// A conversation with a fake daemon that disconnects and reconnects, without the view.
import { beforeEach, describe, expect, it } from "vitest";
import { Activity } from "../src/activity";
import type { Connection } from "../src/connection";
import type { ItemInfo } from "../src/protocol";
import { Chat } from "../src/view/chat";
import type { Draft } from "../src/view/draft";
import { FakeClock, settle } from "./fake-clock";
import { connected, connectTo, FakeDaemon } from "./fake-daemon";

let daemon: FakeDaemon;
let clock: FakeClock;
/** The stored items of each conversation. */
let kept: Map<string, ItemInfo[]>;
let current: string | null;
let problems: string[];

beforeEach(() => {
  [daemon, clock, current, problems] = [new FakeDaemon(), new FakeClock(), "a", []];
  kept = new Map([["a", [item(1, "In a")]], ["b", [item(1, "In b")]]]);
  daemon.answers.set("session/new", () => {
    current = `new ${kept.size}`;
    kept.set(current, []);
    return { sessionId: current };
  });
  daemon.answers.set("_vault/status", () => ({ smarthole: null }));
  daemon.answers.set("session/list", () => ({ sessions: [] }));
  answering();
});

/** Lets the daemon answer requests about its conversations. */
function answering(): void {
  daemon.answers.set("_vault/conversation", ({ sessionId = current, before = Infinity, last }) => {
    const all = (kept.get(String(sessionId)) ?? []).filter((one) => one.item < Number(before));
    const items = all.slice(-Number(last));
    const conversation = { sessionId, state: "open", shown: "done", branch: 1 };
    return { conversation, branches: [], items, earlier: items.length < all.length, changes: [] };
  });
}

function item(number: number, text: string, messageId = `m${number}`): ItemInfo {
  const content = { type: "text", text };
  const update = { sessionUpdate: "user_message_chunk", messageId, content };
  return { item: number, kind: "user", text, turn: number, time: "2026-11-21T10:00:00+01:00", updates: [update] } as unknown as ItemInfo;
}

function chatOn(connection: Connection): Chat {
  const chat = new Chat(connection, new Activity(connection));
  chat.on(({ problem }) => problem !== undefined && problems.push(problem));
  chat.start();
  return chat;
}

async function opened(): Promise<{ chat: Chat; connection: Connection }> {
  const connection = await connected(daemon, clock);
  const chat = chatOn(connection);
  await settle();
  return { chat, connection };
}

function draft(text: string): Draft {
  return { text, attachments: [], images: [] };
}

function texts(chat: Chat): string[] {
  return chat.timeline.entries.map((entry) => (entry.kind === "user" ? `${entry.text}${entry.pending ? ` (${entry.pending})` : ""}` : entry.kind));
}

/** Disconnects, with no daemon at the address until `back`. */
function away(): void {
  daemon.there = false;
  daemon.last.lose();
}

async function back(): Promise<void> {
  daemon.there = true;
  await clock.pass(10_000);
}

/** The sent messages with their conversations. */
function sentMessages(): unknown[] {
  const prompts = daemon.sockets.flatMap((socket) => socket.asked("session/prompt"));
  return prompts.map(({ params }) => [params?.["sessionId"], (params?.["prompt"] as { text: string }[])[0]?.text]);
}

describe("a connection that breaks", () => {
  it("does not affect a view that was opened meanwhile", async () => {
    const { chat: first, connection } = await opened();
    away();
    const second = chatOn(connection);
    await back();
    expect(texts(second)).toEqual(["In a"]);
    expect(texts(first)).toEqual(["In a"]);
    expect(problems).toEqual([]);
  });

  it("does not affect a view whose conversation was loading", async () => {
    daemon.answers.delete("_vault/conversation");
    const { chat } = await opened();
    expect(daemon.last.asked("_vault/conversation")).toHaveLength(1);
    away();
    answering();
    await back();
    expect(texts(chat)).toEqual(["In a"]);
    // After the first load missed events arrive, and nothing is reloaded.
    away();
    await back();
    expect(daemon.last.asked("_vault/conversation")).toHaveLength(0);
  });

  it("opens the conversation that was requested while disconnected", async () => {
    const connection = connectTo(daemon, clock);
    const chat = chatOn(connection);
    void chat.open("b");
    connection.start();
    await settle();
    expect(texts(chat)).toEqual(["In b"]);
    expect(problems).toEqual([]);
  });

  it("stops the turn that was cancelled while disconnected, once, and before any message is sent", async () => {
    const { chat } = await opened();
    away();
    chat.stop();
    expect(problems).toEqual(["The turn will be stopped when the connection is back"]);
    chat.send(draft("Go on otherwise"));
    await back();
    const methods = daemon.last.sent.map(({ method }) => method).filter((method) => /cancel|prompt/.test(method ?? ""));
    expect(methods).toEqual(["session/cancel", "session/prompt"]);
    expect(daemon.last.asked("session/cancel")[0]?.params).toEqual({ sessionId: "a" });
    away();
    await back();
    expect(daemon.last.asked("session/cancel")).toHaveLength(0);
  });
});

describe("a message that waits for the connection", () => {
  it("is sent to the conversation in which it was written, though another one was started", async () => {
    const { chat } = await opened();
    away();
    chat.send(draft("For a"));
    await settle();
    expect(texts(chat)).toEqual(["In a", "For a (waiting)"]);
    chat.begin();
    expect(texts(chat)).toEqual([]);
    chat.send(draft("For a new one"));
    await back();
    expect(sentMessages()).toEqual([["a", "For a"], ["new 2", "For a new one"]]);
    expect(texts(chat)).toEqual(["For a new one (sending)"]);
  });

  it("is sent to the conversation in which it was written, though another one was about to open", async () => {
    const { chat } = await opened();
    away();
    chat.send(draft("For a"));
    await chat.open("b");
    // The daemon is not running, so the conversation stays visible.
    expect(texts(chat)).toEqual(["In a", "For a (waiting)"]);
    daemon.answers.delete("_vault/conversation");
    await back();
    expect(sentMessages()).toEqual([["a", "For a"]]);
  });

  it("is shown only in its conversation, and no longer after its delivery", async () => {
    const { chat } = await opened();
    away();
    chat.send(draft("For a"));
    await back();
    await chat.open("b");
    expect(texts(chat)).toEqual(["In b"]);
    await chat.open("a");
    expect(texts(chat)).toEqual(["In a", "For a (sending)"]);
    await chat.open("b");
    const [prompt] = daemon.last.asked("session/prompt");
    const { clientMessageId } = (prompt?.params?.["_meta"] as { vault: { clientMessageId: string } }).vault;
    const update = { sessionUpdate: "user_message_chunk", messageId: "m2", content: { type: "text", text: "For a" }, _meta: { vault: { source: "chat", clientMessageId } } };
    daemon.last.event("session/update", 1, { sessionId: "a", update });
    kept.get("a")?.push(item(2, "For a"));
    await chat.open("a");
    expect(texts(chat)).toEqual(["In a", "For a"]);
    expect(chat.elsewhere).toBeNull();
  });

  it("belongs to the current conversation if it was written before the first connection", async () => {
    daemon.answers.delete("_vault/conversation");
    const connection = connectTo(daemon, clock);
    const chat = chatOn(connection);
    chat.send(draft("For a"));
    connection.start();
    await settle();
    expect(texts(chat)).toEqual(["For a (sending)"]);
    answering();
    const [asked] = daemon.last.asked("_vault/conversation");
    const conversation = { sessionId: "a", state: "open", shown: "done", branch: 1 };
    daemon.last.deliver({ id: asked?.id, result: { conversation, branches: [], items: kept.get("a"), earlier: false, changes: [] } });
    await settle();
    expect(sentMessages()).toEqual([["a", "For a"]]);
    expect(daemon.last.asked("session/new")).toEqual([]);
    expect(texts(chat)).toEqual(["In a", "For a (sending)"]);
  });

  it("starts its own conversation though another one was opened before", async () => {
    current = null;
    daemon.answers.set("session/prompt", () => ({ stopReason: "end_turn" }));
    const { chat } = await opened();
    chat.begin();
    away();
    chat.send(draft("Begins one"));
    await settle();
    void chat.open("b");
    await back();
    expect(sentMessages()).toEqual([["new 2", "Begins one"]]);
    expect(chat.sessionId).toBe("b");
    expect(texts(chat)).toEqual(["In b"]);
  });

  it("moves to another window, and is sent from there once", async () => {
    const { chat, connection } = await opened();
    away();
    chat.send(draft("For a"));
    await settle();
    const { unsent } = chat.outbox;
    chat.end();
    const other = chatOn(connection);
    void other.open("a");
    other.outbox.take(unsent);
    await settle();
    await back();
    expect(texts(other)).toEqual(["In a", "For a (sending)"]);
    expect(sentMessages()).toEqual([["a", "For a"]]);
  });

  it("is reported if it was rejected and is not visible", async () => {
    const { chat } = await opened();
    away();
    chat.send(draft("For a"));
    chat.begin();
    await back();
    const [prompt] = daemon.last.asked("session/prompt");
    daemon.last.deliver({ id: prompt?.id, error: { code: -32602, message: "the message is too long", data: { kind: "invalid_params", retryable: false } } });
    await settle();
    expect(problems.join()).toContain("too long");
    await chat.open("a");
    expect(texts(chat)).toEqual(["In a", "For a (failed)"]);
    const entry = chat.timeline.last("user");
    expect(entry && chat.outbox.takeBack(entry)?.text).toBe("For a");
  });
});

describe("paging back", () => {
  /** A conversation whose messages all arrived as events, and whose first half was dropped. */
  async function live(count: number): Promise<Chat> {
    kept.set("a", []);
    const { chat } = await opened();
    for (let at = 1; at <= count; at++) {
      const content = { type: "text", text: `${at}` };
      const update = { sessionUpdate: "user_message_chunk", messageId: `m${at}`, content };
      const params = { sessionId: "a", update, _meta: { vault: { seq: at, turn: `${at}` } } };
      daemon.last.deliver({ method: "session/update", params });
      kept.get("a")?.push(item(at, `${at}`));
    }
    await chat.refresh();
    chat.pages.letGo("oldest");
    return chat;
  }

  it("loads earlier entries though most displayed ones have no number yet", async () => {
    const chat = await live(600);
    expect(texts(chat)[0]).toBe("301");
    let asked = 0;
    for (; chat.pages.earlier && asked < 30; asked++) await chat.pages.older();
    expect(texts(chat)[0]).toBe("1");
    expect(texts(chat).slice(0, 299)).toEqual(Array.from({ length: 299 }, (_, at) => `${at + 1}`));
    expect(asked).toBe(14);
  });

  it("ends at an empty page", async () => {
    const chat = await live(600);
    daemon.answers.set("_vault/conversation", () => ({ conversation: { sessionId: "a" }, branches: [], items: [], earlier: true }));
    await chat.pages.older();
    expect(chat.pages.earlier).toBe(false);
  });

  it("does not prevent the numbering of new messages", async () => {
    const chat = await live(600);
    kept.get("a")?.push(item(601, "601"));
    const content = { type: "text", text: "601" };
    const update = { sessionUpdate: "user_message_chunk", messageId: "m601", content };
    daemon.last.deliver({ method: "session/update", params: { sessionId: "a", update, _meta: { vault: { seq: 601, turn: "601" } } } });
    await Promise.all([chat.refresh(), chat.pages.older()]);
    expect(chat.timeline.last("user")?.item).toBe(601);
  });
});
