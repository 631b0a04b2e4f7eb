import { beforeEach, describe, expect, it, vi } from "vitest";
import { Activity } from "../src/activity";
import type { Connection } from "../src/connection";
import type { SmartHoleState } from "../src/protocol";
import { StatusBar, statusOf } from "../src/status-bar";
import { FakeClock, settle } from "./fake-clock";
import { connected, connectTo, FakeDaemon } from "./fake-daemon";

let daemon: FakeDaemon;
let clock: FakeClock;

const away: SmartHoleState = { state: "disabled", name: "obsidian", reason: "", waiting: 0, setAside: 0 };

beforeEach(() => {
  daemon = new FakeDaemon();
  clock = new FakeClock();
  daemon.answers.set("_vault/status", () => ({ smarthole: away }));
  daemon.answers.set("session/list", () => ({ sessions: [] }));
});

function bar(connection: Connection): { element: HTMLElement; clicked: ReturnType<typeof vi.fn>; activity: Activity; end: () => void } {
  const element = createDiv();
  const clicked = vi.fn();
  const activity = new Activity(connection);
  const status = new StatusBar(element, connection, activity, clicked);
  status.load();
  return {
    element,
    clicked,
    activity,
    end: () => {
      status.unload();
      activity.stop();
    },
  };
}

let seq = 0;
function state(sessionId: string, turnState: string, waiting = false): void {
  daemon.last.event("_vault/state", ++seq, { sessionId, state: turnState, queued: 0, waiting });
}

beforeEach(() => {
  seq = 0;
});

describe("the status bar", () => {
  it("follows a turn from its start through a question to its end", async () => {
    const connection = connectTo(daemon, clock);
    const { element, activity } = bar(connection);
    expect(element.textContent).toBe("Steward: off");
    connection.start();
    await settle();
    expect(element.textContent).toBe("Steward: connected");
    state("1", "running");
    expect(element.textContent).toBe("Steward: working");
    state("1", "requires_action");
    expect(element.textContent).toBe("Steward: waiting for you");
    expect(activity.working).toBe(1);
    state("1", "running");
    state("1", "idle", true);
    expect(element.textContent).toBe("Steward: waiting for you");
    expect(activity.working).toBe(0);
    state("1", "idle");
    expect(element.textContent).toBe("Steward: connected");
  });

  it("counts approvals until they are answered in any client", async () => {
    const connection = await connected(daemon, clock);
    const { element, activity } = bar(connection);
    const asked: string[] = [];
    activity.onWaiting((what) => asked.push(what));
    const params = { toolCall: { title: "delete `Garden`" } };
    daemon.last.deliver({ id: "permission-1", method: "session/request_permission", params });
    expect(element.textContent).toBe("Steward: waiting for you");
    expect(asked).toEqual(["Waiting for your approval: delete `Garden`"]);
    daemon.last.deliver({ method: "$/cancel_request", params: { requestId: "permission-1" } });
    expect(element.textContent).toBe("Steward: connected");
    expect(daemon.last.sent.some(({ id }) => id === "permission-1")).toBe(false);
  });

  it("knows after a restart which turns were running before", async () => {
    daemon.answers.set("session/list", () => ({
      sessions: [
        { sessionId: "1", _meta: { vault: { shown: "working" } } },
        { sessionId: "2", _meta: { vault: { shown: "done" } } },
      ],
    }));
    const connection = connectTo(daemon, clock);
    const { element, activity } = bar(connection);
    connection.start();
    await settle();
    expect(element.textContent).toBe("Steward: working");
    activity.cancelAll();
    const cancelled = daemon.last.asked("session/cancel").map(({ params }) => params?.sessionId);
    expect(cancelled).toEqual(["1"]);
  });

  it("loads running turns with the next connection if the first one broke", async () => {
    daemon.answers.delete("session/list");
    const connection = connectTo(daemon, clock);
    const { activity } = bar(connection);
    connection.start();
    await settle();
    const session = { sessionId: "a", _meta: { vault: { shown: "working" } } };
    daemon.answers.set("session/list", () => ({ sessions: [session] }));
    daemon.last.lose();
    await clock.pass(2_000);
    expect(activity.working).toBe(1);
  });

  it("treats an event as newer than a list that arrives after it", async () => {
    daemon.answers.delete("session/list");
    const connection = connectTo(daemon, clock);
    const { element } = bar(connection);
    connection.start();
    await settle();
    state("1", "idle");
    daemon.last.deliver({
      id: daemon.last.asked("session/list")[0]?.id,
      result: { sessions: [{ sessionId: "1", _meta: { vault: { shown: "working" } } }] },
    });
    await settle();
    expect(element.textContent).toBe("Steward: connected");
  });

  it("forgets a conversation that is deleted while it waits", async () => {
    const connection = await connected(daemon, clock);
    const { element } = bar(connection);
    state("1", "idle", true);
    daemon.last.event("_vault/conversation_changed", ++seq, { sessionId: "1", kind: "deleted" });
    expect(element.textContent).toBe("Steward: connected");
  });

  it("shows SmartHole's state, and nothing if it is not used", async () => {
    const connection = await connected(daemon, clock);
    const { element } = bar(connection);
    daemon.last.event("_vault/smarthole", ++seq, {
      smarthole: { ...away, state: "refused", reason: "another has the name", setAside: 2 },
    });
    expect(element.textContent).toBe("Steward: connected · SmartHole refused");
    expect(element.getAttribute("aria-label")).toContain("another has the name, 2 voice messages failed");
    daemon.last.event("_vault/smarthole", ++seq, { smarthole: away });
    expect(element.textContent).toBe("Steward: connected");
  });

  it("opens the chat by mouse and keyboard, until it is unloaded", async () => {
    const connection = await connected(daemon, clock);
    const { element, clicked, end } = bar(connection);
    expect(element.getAttribute("role")).toBe("button");
    expect(element.tabIndex).toBe(0);
    element.click();
    element.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    element.dispatchEvent(new KeyboardEvent("keydown", { key: "a" }));
    expect(clicked).toHaveBeenCalledTimes(2);
    end();
    element.click();
    connection.stop();
    expect(clicked).toHaveBeenCalledTimes(2);
    expect(element.textContent).toBe("Steward: connected");
  });
});

it.each([
  [{ kind: "absent" as const }, "Steward: not running"],
  [{ kind: "refused" as const, detail: "the token is old" }, "Steward: refused"],
  [{ kind: "unpaired" as const }, "Steward: not paired"],
  [{ kind: "connecting" as const }, "Steward: connecting"],
])("shows a missing connection: %o", (connection, text) => {
  const status = statusOf(connection, { working: 1, waiting: true, smarthole: { ...away, state: "connected" } });
  expect(status.text).toBe(text);
  expect(status.label).toContain("Click to open the chat");
  if ("detail" in connection) expect(status.label).toContain(connection.detail);
});
