import { beforeEach, describe, expect, it } from "vitest";
import type { ChangeSetInfo, ItemInfo, SessionUpdate } from "../protocol";
import { changesOf, entriesOf, type Outcome, Timeline } from "./timeline";

let timeline: Timeline;
beforeEach(() => (timeline = new Timeline()));

const text = (words: string): { type: "text"; text: string } => ({ type: "text", text: words });
const user = (messageId: string, words: string, source = "chat", clientMessageId?: string): SessionUpdate => ({
  sessionUpdate: "user_message_chunk",
  content: text(words),
  messageId,
  _meta: { vault: { source, clientMessageId } },
});
const chunk = (messageId: string, words: string): SessionUpdate => ({
  sessionUpdate: "agent_message_chunk",
  content: text(words),
  messageId,
});
const thought = (messageId: string, words: string): SessionUpdate => ({
  sessionUpdate: "agent_thought_chunk",
  content: text(words),
  messageId,
});
const call = (toolCallId: string): SessionUpdate => ({
  sessionUpdate: "tool_call",
  toolCallId,
  title: "Read a file",
  kind: "read",
  status: "pending",
  locations: [],
  rawInput: { path: "a" },
  _meta: { vault: { tool: "read_file" } },
});
const set = (id: number, more: Partial<ChangeSetInfo> = {}): ChangeSetInfo => ({
  id,
  title: "t",
  time: "",
  caller: "steward",
  changes: [{ id: `${id}.1`, action: "modified", path: "a.md" }],
  total: 1,
  ...more,
});
const idle = { state: "idle" as const, queued: 0, waiting: false };
const running = { state: "running" as const, queued: 0, waiting: false };
const kinds = (): string[] => timeline.entries.map((entry) => entry.kind);

describe("a live turn", () => {
  it("appends chunks to their message, and replaces them by the complete text", () => {
    timeline.update(user("u1", "hello"), "1");
    timeline.update(chunk("m1", "Hel"), "1");
    timeline.update(chunk("m1", "lo"), "1");
    expect(timeline.get("message:m1")).toMatchObject({ text: "Hello", open: true });
    timeline.message({ messageId: "m1", kind: "answer", text: "Hello there" }, "1");
    expect(timeline.get("message:m1")).toMatchObject({ text: "Hello there", open: false });
    timeline.update(chunk("m1", "late"), "1");
    expect(timeline.get("message:m1")).toMatchObject({ text: "Hello there" });
    expect(kinds()).toEqual(["user", "agent"]);
  });

  it("removes void messages", () => {
    timeline.update(thought("m1", "hm"), "1");
    timeline.update(chunk("m1", "no"), "1");
    timeline.message({ messageId: "m1", kind: "void", text: "" }, "1");
    expect(kinds()).toEqual([]);
    timeline.update(chunk("m2", "yes"), "1");
    expect(kinds()).toEqual(["agent"]);
  });

  it("shows a message without chunks", () => {
    timeline.message({ messageId: "m1", kind: "question", text: "Which?" }, "1");
    expect(timeline.entries[0]).toMatchObject({ kind: "agent", message: "question", open: false });
    timeline.message({ messageId: "m2", kind: "answer", text: "" }, "1");
    expect(timeline.entries).toHaveLength(1);
  });

  it("closes everything at its end", () => {
    timeline.state(running, "1");
    timeline.update(thought("t", "hm"), "1");
    timeline.update(call("c1"), "1");
    timeline.update(chunk("m1", "half"), "1");
    expect(timeline.status).toMatchObject({ state: "running", turn: "1" });
    timeline.state({ ...idle, stopReason: "cancelled" }, "1");
    expect(timeline.entries.filter((entry) => "open" in entry && entry.open)).toEqual([]);
    expect(timeline.get("call:c1")).toMatchObject({ status: "failed" });
    expect(timeline.last("end")).toMatchObject({ stopReason: "cancelled" });
    expect(timeline.status).toMatchObject({ state: "idle", turn: null });
  });

  it("shows nothing for a regular end", () => {
    timeline.state({ ...idle, stopReason: "end_turn" }, "1");
    expect(kinds()).toEqual([]);
    timeline.state({ ...idle, error: "no answer" }, "2");
    expect(timeline.last("end")).toMatchObject({ error: "no answer" });
  });

  it("follows a call", () => {
    timeline.update(call("c1"), "1");
    timeline.update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "pending", title: "agree?" }, "1");
    expect(timeline.get("call:c1")).toMatchObject({ waitsFor: "agree?" });
    timeline.update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed", content: [{ type: "content", content: text("done") }], rawOutput: { diff: "x" } }, "1");
    expect(timeline.get("call:c1")).toMatchObject({ status: "completed", result: "done", output: { diff: "x" }, waitsFor: undefined });
    timeline.update({ sessionUpdate: "tool_call_update", toolCallId: "unknown", status: "failed" }, "1");
    expect(timeline.entries).toHaveLength(1);
  });

  it("marks an answer whose beginning was missed", () => {
    timeline.replace([], { state: "running" });
    timeline.update(chunk("m1", "…the end"), "1");
    expect(timeline.get("message:m1")).toMatchObject({ cutBefore: true });
    timeline.message({ messageId: "m1", kind: "answer", text: "From the beginning to the end" }, "1");
    expect(timeline.get("message:m1")).toMatchObject({ cutBefore: false, text: "From the beginning to the end" });
  });
});

describe("the person's message", () => {
  it("is last until its delivery, and then shown once", () => {
    timeline.say("c", "wait for me");
    timeline.update(chunk("m1", "still at work"), "1");
    expect(kinds()).toEqual(["agent", "user"]);
    timeline.update(user("u2", "wait for me", "chat", "c"), "1");
    timeline.update(chunk("m2", "heard"), "1");
    expect(kinds()).toEqual(["agent", "user", "agent"]);
    expect(timeline.last("user")?.pending).toBeUndefined();
    timeline.setPending("c", "failed", "too late");
    expect(timeline.last("user")?.pending).toBeUndefined();
  });

  it("stays after a reload, unless the history contains it", () => {
    timeline.say("a", "kept");
    timeline.say("b", "not kept");
    timeline.replace(entriesOf([item(1, "user", [user("u1", "kept")])]));
    expect(timeline.entries.map((entry) => (entry.kind === "user" ? [entry.text, entry.pending] : []))).toEqual([
      ["kept", undefined],
      ["not kept", "sending"],
    ]);
  });

  it("may repeat an earlier text", () => {
    const kept = entriesOf([item(1, "user", [user("u1", "again")])]);
    timeline.replace(kept);
    timeline.say("a", "again");
    timeline.replace(entriesOf([item(1, "user", [user("u1", "again")])]));
    expect(timeline.entries).toHaveLength(2);
  });

  it("shows why it was rejected", () => {
    timeline.say("a", "x");
    timeline.setPending("a", "failed", "the message is empty");
    expect(timeline.last("user")).toMatchObject({ pending: "failed", error: "the message is empty" });
    timeline.setPending("a", undefined);
    expect(timeline.entries).toEqual([]);
  });
});

function item(number: number, kind: string, updates: SessionUpdate[], turn = 1): ItemInfo {
  return { item: number, turn, branch: 1, kind, time: `t${number}`, text: "", tools: [], cut: false, updates };
}

describe("history", () => {
  it("has the same entries as the live turn", () => {
    const entries = entriesOf([
      item(1, "user", [user("u1", "hello", "voice")]),
      item(2, "assistant", [thought("i2-thought", "hm"), chunk("m1", "Let me see"), call("1/c1")]),
      item(3, "tool_results", [{ sessionUpdate: "tool_call_update", toolCallId: "1/c1", status: "completed", content: [{ type: "content", content: text("text") }] }]),
      item(4, "question", [chunk("m2", "Which?")]),
    ]);
    expect(entries.map((entry) => [entry.kind, entry.item])).toEqual([
      ["user", 1], ["thought", 2], ["agent", 2], ["call", 2], ["agent", 4],
    ]);
    expect(entries[0]).toMatchObject({ source: "voice", time: "t1" });
    expect(entries[2]).toMatchObject({ open: false, message: "answer" });
    expect(entries[3]).toMatchObject({ status: "completed", result: "text" });
    expect(entries[4]).toMatchObject({ message: "question" });
  });

  it("knows the result of a call in the previous page", () => {
    const done = (id: string): SessionUpdate => ({ sessionUpdate: "tool_call_update", toolCallId: id, status: "completed", content: [{ type: "content", content: text("done") }] });
    const outcomes: Outcome[] = [];
    timeline.replace(entriesOf([item(5, "tool_results", [done("c1"), done("c2")]), item(6, "assistant", [chunk("m1", "x")])], outcomes));
    expect(outcomes).toHaveLength(2);
    timeline.prepend(entriesOf([item(4, "assistant", [call("c2")])], outcomes));
    expect(timeline.get("call:c2")).toMatchObject({ status: "completed", result: "done" });
    expect(outcomes.map((one) => one.toolCallId)).toEqual(["c1"]);
    timeline.prepend(entriesOf([item(3, "assistant", [call("c1")])], outcomes));
    expect(timeline.get("call:c1")).toMatchObject({ status: "completed" });
    expect(outcomes).toEqual([]);
  });

  it("assigns numbers to live entries", () => {
    timeline.update(user("u1", "hello"), "1");
    timeline.annotate(entriesOf([item(7, "user", [user("u1", "hello")])]));
    expect(timeline.get("message:u1")).toMatchObject({ item: 7, time: "t7" });
  });

  it("is inserted before the existing entries, without duplicates", () => {
    timeline.replace(entriesOf([item(3, "user", [user("u3", "three")])]));
    timeline.prepend(entriesOf([item(1, "user", [user("u1", "one")]), item(3, "user", [user("u3", "three")])]));
    expect(timeline.entries.map((entry) => entry.item)).toEqual([1, 3]);
  });

  it("distinguishes equal notices of two turns, and shows none twice", () => {
    const notice = (title: string): SessionUpdate => ({ sessionUpdate: "notice", severity: "info", title });
    const kept = (at: number): ItemInfo => item(at, "user", [user(`u${at}`, "hello"), notice("limited"), notice("stopped")], at);
    timeline.replace(entriesOf([kept(3)]));
    timeline.update(notice("stopped"), "3");
    timeline.update(notice("stopped"), "9");
    timeline.prepend(entriesOf([kept(1), kept(3)]));
    const titles = timeline.entries.map((entry) => (entry.kind === "notice" ? `${entry.title} ${entry.turn ?? ""}` : entry.kind));
    expect(titles).toEqual(["user", "limited 1", "stopped 1", "user", "limited 3", "stopped 3", "stopped 9"]);
  });

  it("is dropped by whole turns", () => {
    const items = Array.from({ length: 100 }, (_, at) => item(at, "assistant", [chunk(`m${at}`, "x")], Math.floor(at / 10)));
    timeline.replace(entriesOf(items));
    expect(timeline.trim(35, "oldest").order).toBe(true);
    expect(timeline.entries).toHaveLength(40);
    expect(timeline.entries[0]?.item).toBe(60);
    expect(timeline.get("message:m3")).toBeUndefined();
    timeline.trim(15, "newest");
    expect(timeline.entries[timeline.entries.length - 1]?.item).toBe(79);
    expect(timeline.trim(50, "oldest").order).toBe(false);
  });
});

describe("the changes of a turn", () => {
  it("are in one card at its end", () => {
    timeline.state(running, "1");
    timeline.update(chunk("m1", "first"), "1");
    timeline.changes(set(17), true);
    timeline.update(chunk("m2", "then"), "1");
    // A later call of the turn adds changes under the same number.
    timeline.changes(set(17, { changes: [{ id: "17.2", action: "created", path: "b.md" }] }), true);
    timeline.changes(set(18), true);
    expect(kinds()).toEqual(["agent", "agent", "changes"]);
    expect(timeline.last("changes")?.sets.map((one) => [one.info.id, one.info.total])).toEqual([[17, 2], [18, 1]]);
    timeline.changes(set(19), false);
    expect(timeline.last("changes")?.sets).toHaveLength(2);
  });

  it("are in the turn that made them", () => {
    timeline.replace(entriesOf([
      item(1, "user", [user("u1", "one")], 1),
      item(2, "assistant", [chunk("m1", "a")], 1),
      item(3, "user", [user("u2", "two")], 2),
    ]));
    timeline.addSet("1", set(17, { undone: true }));
    expect(kinds()).toEqual(["user", "agent", "changes", "user"]);
    const card = timeline.last("changes");
    expect(card && changesOf(card).every((one) => one.undone)).toBe(true);
  });

  it("are undone and redone by any client", () => {
    timeline.state(running, "1");
    timeline.changes(set(17), true);
    timeline.changes(set(20, { undoes: "17" }), false);
    const [shown] = timeline.last("changes")?.sets ?? [];
    expect(shown).toMatchObject({ undone: true, undoneBy: 20 });
    timeline.changes(set(21, { undoes: "20" }), false);
    expect(shown).toMatchObject({ undone: false, undoneBy: undefined });
    timeline.changes(set(22, { undoes: "17.1" }), false);
    expect(shown?.undoneChanges.get("17.1")).toBe(22);
    timeline.changes(set(23, { undoes: "22" }), false);
    expect(shown?.undoneChanges.size).toBe(0);
    expect(timeline.entries).toHaveLength(1);
  });
});

describe("an answer that was shown when the daemon ended", () => {
  const kept = (): ItemInfo[] => [
    { item: 1, kind: "user", text: "Hello", turn: 1, time: "", updates: [user("u", "Hello")] },
    { item: 2, kind: "note", text: "", turn: 1, time: "", updates: [{ sessionUpdate: "notice", severity: "warning", title: "the steward ended" }] },
  ] as unknown as ItemInfo[];

  beforeEach(() => {
    timeline.update(user("u", "Hello"), "1");
    timeline.update(chunk("m", "The first half"), "1");
  });

  it("stays, marked as interrupted", () => {
    timeline.replace(entriesOf(kept()), {}, true);
    expect(timeline.entries.map(({ kind }) => kind)).toEqual(["user", "agent", "notice"]);
    expect(timeline.last("agent")).toMatchObject({ text: "The first half", message: "part", open: false });
    // After the next load, too.
    timeline.replace(entriesOf(kept()), {}, true);
    expect(timeline.last("agent")?.text).toBe("The first half");
  });

  it("is absent in another conversation, beside its complete text, and while it continues", () => {
    timeline.replace(entriesOf(kept()), { state: "running" }, true);
    expect(timeline.last("agent")).toBeUndefined();
    timeline.update(chunk("m", "The first half"), "1");
    const whole = { item: 3, kind: "message", text: "", turn: 1, time: "", updates: [chunk("m", "The whole")] } as unknown as ItemInfo;
    timeline.replace(entriesOf([...kept(), whole]), {}, true);
    expect(timeline.entries.filter(({ kind }) => kind === "agent")).toMatchObject([{ text: "The whole" }]);
    timeline.update(chunk("m2", "More"), "1");
    timeline.replace(entriesOf(kept()), {});
    expect(timeline.last("agent")).toBeUndefined();
  });
});
