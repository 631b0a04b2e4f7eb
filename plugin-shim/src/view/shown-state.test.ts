import { describe, expect, it } from "vitest";
import type { Activeness } from "../activity";
import { type Known, outcomeOf, shownState } from "./shown-state";
import type { Entry } from "./timeline";

const idle = { state: "idle" as const, turn: null, queued: 0, waiting: false };
const message: Entry = { kind: "user", key: "u", turn: "1", text: "Hello", source: "chat" };
const answer: Entry = { kind: "agent", key: "a", turn: "1", text: "Hi", open: false, message: "answer", cutBefore: false };
const end = (error?: string, stopReason?: "cancelled" | "max_tokens"): Entry => ({ kind: "end", key: "e", turn: "1", error, stopReason });
const notice = (severity: string, title: string): Entry => ({ kind: "notice", key: "n", turn: "1", severity, title });

function shown(given: Partial<Known>): string {
  const { kind, text, work } = shownState({ isConnected: true, activeness: null, status: idle, entries: [message, answer], isEnded: false, ...given });
  return [kind, text, work].filter((part) => part !== "").join(", ");
}

describe("the state of a conversation", () => {
  it("shows pending questions first", () => {
    const running = { ...idle, state: "running" as const };
    const asking: Activeness = "asking";
    expect(shown({})).toBe("done, Done");
    expect(shown({ status: running })).toBe("working, Working, Working…");
    // After a reload the turn is known to run, and the approval to be pending.
    expect(shown({ status: running, activeness: asking })).toBe("waiting, Waiting for you, Waiting for your approval");
    expect(shown({ status: { ...idle, waiting: true } })).toBe("waiting, Waiting for you");
    expect(shown({ entries: [] })).toBe("none");
  });

  it("shows no activity without the daemon", () => {
    const running = { ...idle, state: "running" as const };
    expect(shown({ status: running, isConnected: false })).toBe("away, Disconnected, Interrupted: the daemon is not connected");
    expect(shown({ isConnected: false })).toBe("away, Disconnected");
  });

  it("shows a failure, live and after a reload", () => {
    expect(shown({ entries: [message, end("401: the key was refused")] })).toBe("failed, Failed");
    expect(outcomeOf([message, notice("error", "401: the key was refused")])).toBe("failed");
    expect(outcomeOf([message, answer, end(undefined, "cancelled")])).toBe("stopped");
    expect(outcomeOf([message, answer, notice("info", "stopped")])).toBe("stopped");
    expect(outcomeOf([message, answer, notice("warning", "the answer reached the longest")])).toBe("stopped");
    expect(outcomeOf([message, { ...answer, message: "part" }])).toBe("stopped");
    expect(outcomeOf([message, notice("info", "a message came by voice"), answer])).toBe("done");
    // A newer message that has not arrived in an event changes nothing.
    expect(outcomeOf([message, end("no model"), { ...message, key: "u2", pending: "waiting" }])).toBe("failed");
  });
});
