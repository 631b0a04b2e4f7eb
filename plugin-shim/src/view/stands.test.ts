import { describe, expect, it } from "vitest";
import type { Activeness } from "../activity";
import { type Known, outcomeOf, standsOf } from "./stands";
import type { Entry } from "./timeline";

const idle = { state: "idle" as const, turn: null, queued: 0, waiting: false };
const said: Entry = { kind: "user", key: "u", turn: "1", text: "Hello", source: "chat" };
const answer: Entry = { kind: "agent", key: "a", turn: "1", text: "Hi", open: false, message: "answer", cutBefore: false };
const end = (error?: string, stopReason?: "cancelled" | "max_tokens"): Entry => ({ kind: "end", key: "e", turn: "1", error, stopReason });
const notice = (severity: string, title: string): Entry => ({ kind: "notice", key: "n", turn: "1", severity, title });

function stands(given: Partial<Known>): string {
  const { kind, text, work } = standsOf({ isConnected: true, activeness: null, standing: idle, entries: [said, answer], isEnded: false, ...given });
  return [kind, text, work].filter((part) => part !== "").join(", ");
}

describe("the state of a conversation", () => {
  it("shows pending questions first", () => {
    const running = { ...idle, state: "running" as const };
    const asking: Activeness = "asking";
    expect(stands({})).toBe("done, Done");
    expect(stands({ standing: running })).toBe("working, Working, Working…");
    // After a reload the turn is known to run, and the approval to be pending.
    expect(stands({ standing: running, activeness: asking })).toBe("waiting, Waiting for you, Waiting for your approval");
    expect(stands({ standing: { ...idle, waiting: true } })).toBe("waiting, Waiting for you");
    expect(stands({ entries: [] })).toBe("none");
  });

  it("shows no activity without the daemon", () => {
    const running = { ...idle, state: "running" as const };
    expect(stands({ standing: running, isConnected: false })).toBe("away, Disconnected, Interrupted: the daemon is not connected");
    expect(stands({ isConnected: false })).toBe("away, Disconnected");
  });

  it("shows a failure, live and after a reload", () => {
    expect(stands({ entries: [said, end("401: the key was refused")] })).toBe("failed, Failed");
    expect(outcomeOf([said, notice("error", "401: the key was refused")])).toBe("failed");
    expect(outcomeOf([said, answer, end(undefined, "cancelled")])).toBe("stopped");
    expect(outcomeOf([said, answer, notice("info", "stopped")])).toBe("stopped");
    expect(outcomeOf([said, answer, notice("warning", "the answer reached the longest")])).toBe("stopped");
    expect(outcomeOf([said, { ...answer, message: "part" }])).toBe("stopped");
    expect(outcomeOf([said, notice("info", "a message came by voice"), answer])).toBe("done");
    // A newer message that has not arrived in an event changes nothing.
    expect(outcomeOf([said, end("no model"), { ...said, key: "u2", pending: "waiting" }])).toBe("failed");
  });
});
