// What waits for a decision, kept true by the daemon's events.
import { beforeEach, expect, it } from "vitest";
import { Activity } from "../src/activity";
import type { WaitingProposals } from "../src/protocol";
import { FakeClock, settle } from "./fake-clock";
import { connected, FakeDaemon } from "./fake-daemon";

let daemon: FakeDaemon;
let activity: Activity;
let waiting: WaitingProposals[];
let changes: number;

const asked = (): number => daemon.last.asked("_vault/proposals/list").length;
const ids = (): string[] => activity.proposals.waiting.map(({ sessionId }) => sessionId);

async function event(method: string, params: object): Promise<void> {
  daemon.last.event(method, ++daemon.seq, params);
  await settle();
}

function state(of: string, now: string): Promise<void> {
  return event("_vault/state", { sessionId: of, state: now, waiting: false, queued: 0 });
}

function called(of: string, rawOutput: object): Promise<void> {
  return event("session/update", { sessionId: of, update: { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", rawOutput } });
}

beforeEach(async () => {
  [daemon, changes] = [new FakeDaemon(), 0];
  waiting = [{ sessionId: "7", turn: "3", time: "" }];
  daemon.answers.set("_vault/proposals/list", () => ({ waiting }));
  activity = new Activity(await connected(daemon, new FakeClock()));
  activity.onChange(() => changes++);
  await settle();
});

it("is asked for once a turn that proposed something is over, and not after others", async () => {
  expect(ids()).toEqual(["7"]);
  const before = asked();
  await state("8", "running");
  await called("8", { path: "A.md" });
  await state("8", "idle");
  expect(asked()).toBe(before);
  waiting.push({ sessionId: "8", turn: "4", time: "" });
  await state("8", "running");
  await called("8", { proposed: true, changes: [] });
  expect(asked()).toBe(before);
  await state("8", "idle");
  expect(ids()).toEqual(["7", "8"]);
});

it("waits no longer where the person says something else, unless the daemon says that it does", async () => {
  await state("7", "running");
  expect(ids()).toEqual([]);
  await state("7", "idle");
  expect(ids()).toEqual(["7"]);
});

it("is gone where somebody decided or ended the conversation elsewhere", async () => {
  waiting = [];
  await event("_vault/conversation_changed", { sessionId: "9", kind: "ended" });
  expect(ids()).toEqual(["7"]);
  await event("_vault/conversation_changed", { sessionId: "7", kind: "decided" });
  expect(ids()).toEqual([]);
  const told = changes;
  await event("_vault/conversation_changed", { sessionId: "9", kind: "decided" });
  expect(changes).toBe(told);
});

it("stays as it was where the daemon does not say", async () => {
  daemon.answers.delete("_vault/proposals/list");
  await event("_vault/conversation_changed", { sessionId: "7", kind: "decided" });
  const open = daemon.last.asked("_vault/proposals/list").at(-1);
  daemon.last.deliver({ id: open?.id, error: { code: -32601, message: "there is no such method" } });
  await settle();
  expect(ids()).toEqual(["7"]);
  activity.stop();
});
