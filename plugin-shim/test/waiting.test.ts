import { beforeEach, expect, it, vi } from "vitest";
import type { Host } from "../src/host";
import type { InboxMessage } from "../src/protocol";
import { Scope } from "../src/view/scope";
import type { Parts } from "../src/view/part";
import { waitingView } from "../src/view/waiting";
import { FakeClock, settle } from "./fake-clock";
import { connected, FakeDaemon } from "./fake-daemon";

let daemon: FakeDaemon;
let clock: FakeClock;
let kept: InboxMessage[];
let seq: number;

function spoken(id: number, text: string, more: Partial<InboxMessage> = {}): InboxMessage {
  const received = "2026-11-21T10:00:00+01:00";
  return { id, text, state: "new", attempts: 0, differs: false, received, reason: "", typed: false, direct: true, ...more };
}

beforeEach(() => {
  [daemon, clock, kept, seq] = [new FakeDaemon(), new FakeClock(), [], 0];
  daemon.answers.set("_vault/inbox/list", () => ({ messages: kept }));
});

async function shown(): Promise<{ root: HTMLElement; scope: Scope; notice: ReturnType<typeof vi.fn> }> {
  const connection = await connected(daemon, clock);
  const scope = new Scope(() => window);
  const notice = vi.fn();
  const host = { icon: () => undefined, notice } as unknown as Host;
  const parts = { root: document.body, connection, host, scope, now: () => new Date("2026-11-21T12:00:00+01:00") };
  const root = waitingView(parts as unknown as Parts);
  document.body.replaceChildren(root);
  await settle();
  return { root, scope, notice };
}

/** A message arrived or changed its state, in whichever client. */
async function told(message: InboxMessage): Promise<void> {
  daemon.last.event("_vault/inbox", ++seq, { message });
  await settle();
}

function lines(root: HTMLElement): string[] {
  return [...root.children].map((line) => line.children[1]?.firstElementChild?.textContent ?? "");
}

function button(root: HTMLElement, name: string): HTMLButtonElement | undefined {
  return [...root.querySelectorAll("button")].find(({ textContent }) => textContent === name);
}

it("shows waiting and set-aside messages, but not delivered ones", async () => {
  kept = [
    spoken(1, "Water the beans"),
    spoken(2, "At work on this", { state: "taken" }),
    spoken(3, "Buy <b>seeds</b>", { state: "set_aside", reason: "the model failed three times" }),
  ];
  const { root } = await shown();
  expect(root.hidden).toBe(false);
  expect(lines(root)).toEqual(["Water the beans", "Buy <b>seeds</b>"]);
  expect(root.textContent).toContain("waiting to be read");
  expect(root.textContent).toContain("set aside: the model failed three times");
  expect(root.querySelector("b")).toBeNull();
});

it("is hidden without waiting messages, and follows arrivals and deliveries", async () => {
  const { root } = await shown();
  expect(root.hidden).toBe(true);
  kept = [spoken(1, "Water the beans")];
  await told(spoken(1, "Water the beans"));
  expect(root.hidden).toBe(false);
  expect(lines(root)).toEqual(["Water the beans"]);
  // From here on it is in its conversation.
  kept = [spoken(1, "Water the beans", { state: "taken", sessionId: "7" })];
  await told(kept[0] as InboxMessage);
  expect(root.hidden).toBe(true);
  expect(lines(root)).toEqual([]);
});

it("is loaded with the next connection if the first one broke", async () => {
  daemon.answers.delete("_vault/inbox/list");
  const { root } = await shown();
  kept = [spoken(1, "Water the beans")];
  daemon.answers.set("_vault/inbox/list", () => ({ messages: kept }));
  daemon.last.lose();
  await clock.pass(250);
  expect(lines(root)).toEqual(["Water the beans"]);
});

it("retries and discards messages, and reports failures", async () => {
  kept = [spoken(3, "Buy seeds", { state: "set_aside" })];
  const { root, notice } = await shown();
  button(root, "Try again")?.click();
  expect(daemon.last.asked("_vault/inbox/retry")[0]?.params).toEqual({ id: 3 });
  button(root, "Discard")?.click();
  const [discard] = daemon.last.asked("_vault/inbox/discard");
  expect(discard?.params).toEqual({ id: 3 });
  daemon.last.deliver({ id: discard?.id, error: { code: -32602, message: "message 3 is being worked on", data: { kind: "invalid_params", retryable: false } } });
  await settle();
  expect(notice.mock.calls[0]?.[0]).toContain("is being worked on");
  kept = [spoken(4, "Waits")];
  await told(spoken(4, "Waits"));
  expect(button(root, "Try again")).toBeUndefined();
});

it("ignores an older answer that arrives late, and draws nothing after its end", async () => {
  const { root, scope } = await shown();
  daemon.answers.delete("_vault/inbox/list");
  await told(spoken(1, "Old"));
  await told(spoken(1, "New"));
  const [first, second] = daemon.last.asked("_vault/inbox/list").slice(-2);
  daemon.last.deliver({ id: second?.id, result: { messages: [spoken(1, "New")] } });
  daemon.last.deliver({ id: first?.id, result: { messages: [spoken(1, "Old")] } });
  await settle();
  expect(lines(root)).toEqual(["New"]);
  const asked = daemon.last.asked("_vault/inbox/list").length;
  scope.end();
  await told(spoken(2, "Later"));
  expect(daemon.last.asked("_vault/inbox/list")).toHaveLength(asked);
});
