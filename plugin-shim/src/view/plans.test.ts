import { describe, expect, it } from "vitest";
import { actionCounts, cardOf, editsOf, groupsOf, groupTitle, type Job, jobWords, type PlanItem, riskCounts, shareOf } from "./plans";
import type { CallEntry } from "./timeline";

function item(path: string, rest: Partial<PlanItem> = {}): PlanItem {
  return { item: 1, path, risk: "medium", ...rest };
}

function call(tool: string, rest: Partial<CallEntry>): CallEntry {
  const entry = { kind: "call", tool, status: "completed", input: {}, result: "", output: undefined, ...rest };
  return entry as unknown as CallEntry;
}

describe("the card of a call", () => {
  it("is about the plan that was made or shown", () => {
    expect(cardOf(call("plan_changes", { output: { plan: 7 } }))).toEqual({ kind: "plan", plan: 7 });
    expect(cardOf(call("show_plan", { input: { plan: 3 } }))).toEqual({ kind: "plan", plan: 3 });
    // The call after a reload of the conversation.
    expect(cardOf(call("plan_changes", { result: "<tool_data>\nplan 12: move 3 notes\nidentity ab\n</tool_data>" }))).toEqual({ kind: "plan", plan: 12 });
    expect(cardOf(call("plan_changes", { status: "failed", input: { plan: 7 } }))).toBeNull();
    expect(cardOf(call("plan_changes", { status: "in_progress", input: { plan: 7 } }))).toBeNull();
  });

  it("is about the job that was started, ended early or undone", () => {
    expect(cardOf(call("apply_plan", { output: { job: 2, plan: 7 } }))).toEqual({ kind: "job", job: 2 });
    expect(cardOf(call("apply_plan", { status: "failed", output: { code: "timeout", data: { job: 4 } } }))).toEqual({ kind: "job", job: 4 });
    expect(cardOf(call("apply_plan", { result: "job 5 of plan 7, change set 9: move 3 notes" }))).toEqual({ kind: "job", job: 5 });
    expect(cardOf(call("apply_plan", { status: "failed", output: { code: "stale_plan" } }))).toBeNull();
    expect(cardOf(call("apply_plan", { output: { job: null, plan: 7, dry_run: true } }))).toBeNull();
    expect(cardOf(call("rollback_job", { input: { job: 2 } }))).toEqual({ kind: "job", job: 2 });
  });

  it("is absent for other tools", () => {
    expect(cardOf(call("read_file", { output: { plan: 7 }, result: "plan 7: x" }))).toBeNull();
  });
});

describe("the items of a plan", () => {
  const items = [
    item("Inbox/b.md", { to: "Archive/2025/b.md" }),
    item("Inbox/a.md", { to: "Archive/2025/a.md" }),
    item("Inbox/c.md", { to: "Inbox/d.md" }),
    item("e.md", { set: { done: true }, remove: ["old"], tag: ["x/y"], untag: ["z"] }),
    item("New.md", { create: true, risk: "low" }),
    item("Old.md", { trash: true, risk: "high" }),
    item("Stuck.md", { to: "Taken.md", problems: [{ message: "taken", blocks: true }] }),
  ];

  it("are grouped by the folders before and after", () => {
    const titles = groupsOf(items).map((group) => `${groupTitle(group)} (${group.items.length})`);
    expect(titles).toEqual([
      "Vault folder: changed (1)",
      "Vault folder: created (1)",
      "Vault folder: to the trash (1)",
      "Vault folder: cannot be changed (1)",
      "Inbox → Archive/2025 (2)",
      "Inbox: renamed (1)",
    ]);
  });

  it("are counted by action and by risk, except those that cannot be applied", () => {
    expect(actionCounts(items)).toBe("move 2, rename 1, change 1, create 1, trash 1");
    expect(riskCounts(items)).toEqual([["high", 1], ["medium", 4], ["low", 1]]);
  });

  it("describe the changes of properties and tags", () => {
    expect(editsOf(items[3]!)).toEqual(["set done to true", "remove old", "add #x/y", "remove #z"]);
    expect(editsOf(item("a.md", { set: { text: "x".repeat(200) } }))[0]).toHaveLength("set text to ".length + 81);
  });
});

describe("the state of a job", () => {
  const wording = (state: string, rest: Partial<Job> = {}): string => jobWords({ job: 1, plan: 1, state, done: 0, total: 12, ...rest });

  it("is described in words", () => {
    expect(wording("running", { done: 4 })).toBe("Running: 4 of 12 items");
    expect(wording("running", { progress: { phase: "writing", done: 5, total: 20 } })).toBe("Writing new texts");
    expect(wording("completed", { done: 12 })).toBe("Done: 12 items");
    expect(wording("interrupted", { done: 4 })).toBe("Interrupted after 4 of 12 items");
    expect(wording("failed")).toBe("Failed: nothing was changed");
    expect(wording("cancelled", { done: 4 })).toBe("Stopped after 4 of 12 items");
    expect(wording("undone", { done: 12, undone: 12 })).toBe("Undone: 12 items");
    expect(wording("partly_undone", { done: 12, undone: 5 })).toBe("Partly undone: 5 of 12 items");
    expect(wording("new_state")).toBe("new state");
  });

  it("has a share of all its phases", () => {
    const share = (rest: Partial<Job>): number => shareOf({ job: 1, plan: 1, state: "running", done: 0, total: 12, ...rest });
    expect(share({ done: 3 })).toBe(0.25);
    expect(share({ progress: { phase: "storing", done: 0, total: 20 } })).toBe(0);
    expect(share({ progress: { phase: "writing", done: 10, total: 20 } })).toBe(0.5);
    expect(share({ progress: { phase: "placing", done: 20, total: 20 } })).toBe(1);
  });
});
