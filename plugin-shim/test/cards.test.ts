// The cards of plans and jobs in the view, before a daemon that a test plays.
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Activity } from "../src/activity";
import type { Host } from "../src/host";
import type { ItemInfo } from "../src/protocol";
import { type ChatHandle, mountChat } from "../src/view";
import { loadCards } from "../src/view/lazy";
import type { Job, PlanItem } from "../src/view/plans";
import { FakeClock, settle } from "./fake-clock";
import { connected, FakeDaemon } from "./fake-daemon";

type Given = Record<string, unknown>;

let daemon: FakeDaemon;
let root: HTMLElement;
let chat: ChatHandle;
let items: ItemInfo[];
/** The tool calls, without those that only read. */
let calls: { name: string; given: Given; meta: unknown }[];
let plan: { identity: string; items: PlanItem[]; faults?: object[]; relinked?: number };
let jobs: Job[];
let agrees: boolean;
let asked: string[];
/** The outputs of tools; a tool that is not listed gets a plausible one. */
let answers: Map<string, (given: Given, meta: unknown) => unknown>;

const PAGE = 200;
const error = (code: string, message: string, data?: object): object => ({ isError: true, content: [{ type: "text", text: message }], structuredContent: { code, message, data } });
const answer = (data: object): object => ({ isError: false, content: [], structuredContent: data });

beforeAll(async () => void (await loadCards()));

beforeEach(() => {
  [daemon, items, calls, jobs, agrees, asked] = [new FakeDaemon(), [], [], [], true, []];
  answers = new Map();
  plan = { identity: "one", items: [move(1, "Inbox/a.md", "Archive/a.md"), move(2, "Inbox/b.md", "Archive/b.md")] };
  daemon.answers.set("_vault/inbox/list", () => ({ messages: [] }));
  daemon.answers.set("_vault/conversation", () => {
    const conversation = { sessionId: "a", state: "open", shown: "done", branch: 1, title: "A" };
    return { conversation, branches: [], items, earlier: false, changes: [] };
  });
  daemon.answers.set("tools/call", ({ name, arguments: given, _meta: meta }) => {
    const args = given as Given;
    if (!["show_plan", "list_jobs"].includes(String(name))) calls.push({ name: String(name), given: args, meta });
    const own = answers.get(String(name));
    if (own) return own(args, meta);
    if (name === "list_jobs") return answer({ jobs });
    if (name !== "show_plan") return undefined;
    const first = Number(args["first_item"]) - 1;
    const part = plan.items.slice(first, first + PAGE);
    return answer({ plan: args["plan"], identity: plan.identity, items: part, total: plan.items.length, faults: plan.faults ?? [], relinked: plan.relinked ?? 0 });
  });
});

afterEach(() => {
  chat.unmount();
  root.remove();
});

function move(number: number, path: string, to: string, rest: Partial<PlanItem> = {}): PlanItem {
  return { item: number, path, to, risk: "medium", ...rest };
}

async function mounted(): Promise<void> {
  root = document.createElement("main");
  document.body.append(root);
  const host: Host = {
    kind: "browser",
    openNote: () => undefined,
    openExternal: () => undefined,
    activeNote: () => null,
    onActiveNote: () => () => undefined,
    notice: () => undefined,
    alert: () => undefined,
    confirm: (text) => {
      asked.push(text);
      return Promise.resolve(agrees);
    },
    copy: () => Promise.resolve(),
    icon: () => undefined,
    command: (name) => name,
  };
  const connection = await connected(daemon, new FakeClock());
  chat = mountChat(root, connection, new Activity(connection), host);
  await settle();
}

/** A call as the loaded conversation contains it. */
function called(number: number, tool: string, rawInput: object, result: string, status = "completed"): ItemInfo {
  const toolCallId = `c${number}`;
  const begin = { sessionUpdate: "tool_call", toolCallId, title: tool, kind: "other", status: "pending", locations: [], rawInput, _meta: { vault: { tool } } };
  const content = [{ type: "content", content: { type: "text", text: result } }];
  const end = { sessionUpdate: "tool_call_update", toolCallId, status, content };
  return { item: number, kind: "call", text: "", turn: 1, time: "2026-11-21T10:00:00+01:00", updates: [begin, end] } as unknown as ItemInfo;
}

const cards = (): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(".vs-card")].filter((one) => one.closest("[hidden]") === null);
const text = (): string => cards().map((one) => one.textContent).join("\n");
const shown = (of: string): HTMLElement[] => [...root.querySelectorAll<HTMLElement>(of)].filter((one) => one.closest("[hidden]") === null);
const button = (name: string): HTMLButtonElement | undefined =>
  shown("button").find((one) => one.textContent === name) as HTMLButtonElement | undefined;
const ticks = (): HTMLInputElement[] => shown("input[type=checkbox]") as HTMLInputElement[];
const tick = (label: string): HTMLInputElement => ticks().find((one) => one.getAttribute("aria-label") === label)!;

async function press(name: string): Promise<void> {
  const found = button(name);
  if (!found) throw new Error(`there is no button ${name}: ${shown("button").map((one) => one.textContent).join(", ")}`);
  found.click();
  await settle();
}

async function told(job: number, state: string, done: number, total: number): Promise<void> {
  daemon.last.event("_vault/job", ++daemon.seq, { job, plan: 7, state, done, total, folders: [] });
  await settle();
}

describe("what waits at home", () => {
  it("is a plan that has no job, and proposals, from all conversations", async () => {
    const list = [
      { sessionId: "b", turn: "4", time: "2026-11-21T10:00:00+01:00", proposals: [{ number: 1, title: "edit `Bread.md`", changes: [{ action: "write", path: "Bread.md", hunks: [{ number: 1, diff: "@@ -1 +1 @@\n-a\n+b\n" }] }, { action: "move", path: "c.md", from: "b.md" }] }] },
      { sessionId: "c", turn: "5", time: "2026-11-21T10:00:00+01:00", plan: { number: 7, title: "move 2 notes" } },
      { sessionId: "d", turn: "6", time: "2026-11-21T10:00:00+01:00", plan: { number: 8, title: "move 3 notes" } },
    ];
    daemon.answers.set("_vault/proposals/list", () => ({ waiting: list }));
    daemon.answers.set("_vault/models", () => ({ chain: ["a/b"], models: [], problems: [] }));
    daemon.answers.set("session/list", () => ({ sessions: [] }));
    jobs = [{ job: 1, plan: 8, state: "done", done: 3, total: 3, folders: [] } as unknown as Job];
    await mounted();
    const waits = (): string[] => [...root.querySelectorAll("[aria-label='Waiting for you'] .vs-home-words")].map((one) => one.textContent);
    await vi.waitFor(() => expect(waits()).toHaveLength(2));
    expect(waits()[0]).toMatch(/^Edit Bread.md2 proposed changes · /);
    expect(waits()[1]).toMatch(/^Move 2 notesPlan 7 · /);
  });
});

describe("the card of a plan", () => {
  beforeEach(() => items.push(called(1, "plan_changes", {}, "plan 7: move 2 notes")));

  it("shows the changes by folder, with a checkbox for each file, and applies the selected ones", async () => {
    plan.items.push({ item: 3, path: "Old.md", trash: true, risk: "high" });
    await mounted();
    expect(cards()).toHaveLength(1);
    expect(text()).toContain("Plan 7 for 3 files");
    expect(text()).toContain("Move 2, trash 1");
    expect(shown(".vs-plan-facts .vs-risk").map((one) => one.textContent)).toEqual(["1 high risk", "2 medium risk"]);
    expect(shown(".vs-plan-folder").map((one) => one.textContent)).toEqual(["Vault folder: to the trash", "Inbox → Archive"]);
    expect(ticks().every((one) => one.checked)).toBe(true);
    expect(button("Apply 3")?.getAttribute("aria-label")).toBe("Apply 3 changes of plan 7");
    tick("Old.md").click();
    answers.set("apply_plan", () => answer({ job: 1, plan: 7 }));
    await press("Apply 2");
    expect(calls).toEqual([{ name: "apply_plan", given: { plan: 7, identity: "one", items: [1, 2] }, meta: undefined }]);
  });

  it("sends no list of files if all are selected, and selects whole folders", async () => {
    await mounted();
    const folder = tick("All in Inbox → Archive");
    tick("Inbox/a.md to Archive/a.md").click();
    expect([folder.checked, folder.indeterminate]).toEqual([false, true]);
    folder.click();
    expect(button("Apply 2")).toBeDefined();
    await press("Untick all");
    expect(button("Apply 0")?.disabled).toBe(true);
    expect(folder.indeterminate).toBe(false);
    await press("Tick all");
    answers.set("apply_plan", () => answer({ job: 1, plan: 7 }));
    await press("Apply 2");
    expect(calls[0]?.given).toEqual({ plan: 7, identity: "one" });
  });

  it("asks for approval, with the identity of the approved plan", async () => {
    await mounted();
    answers.set("apply_plan", (_, meta) =>
      meta === undefined
        ? error("approval_needed", "this needs a person's approval", { reasons: ["it changes 2 files"], identity: "whole" })
        : answer({ job: 1, plan: 7 }),
    );
    agrees = false;
    await press("Apply 2");
    expect(asked).toEqual(["Apply plan 7 to 2 files? It changes 2 files."]);
    expect(calls).toHaveLength(1);
    expect(button("Apply 2")?.disabled).toBe(false);
    agrees = true;
    await press("Apply 2");
    expect(calls.at(-1)?.meta).toEqual({ vault: { confirmed: true, agreed: "whole" } });
  });

  it("omits files that cannot be changed, with the reason", async () => {
    plan.items[0]!.problems = [{ message: "`Archive/a.md` is taken", blocks: true }];
    plan.items[1]!.problems = [{ message: "links would lead to the new name", blocks: false }];
    await mounted();
    expect(tick("Inbox/a.md to Archive/a.md").disabled).toBe(true);
    expect(tick("Inbox/a.md to Archive/a.md").checked).toBe(false);
    expect(shown(".vs-plan-problem").map((one) => one.textContent)).toEqual(["Links would lead to the new name", "Archive/a.md is taken"]);
    expect(text()).toContain("1 file cannot be changed");
    answers.set("apply_plan", () => answer({ job: 1, plan: 7 }));
    await press("Apply 1");
    expect(calls[0]?.given).toEqual({ plan: 7, identity: "one" });
  });

  it("shows ten files of a folder and the rest on demand, for a plan that arrives in several answers", async () => {
    plan.items = Array.from({ length: 450 }, (_, at) => move(at + 1, `Inbox/${at}.md`, `Archive/${at}.md`));
    await mounted();
    expect(text()).toContain("Plan 7 for 450 files");
    expect(shown(".vs-row")).toHaveLength(10);
    expect(button("Apply 450")).toBeDefined();
    await press("Show 440 more");
    expect(shown(".vs-row")).toHaveLength(450);
  });

  it("leads to the files where they are, and hears of an undo of its job's change set", async () => {
    jobs = [{ job: 1, plan: 7, state: "completed", done: 2, total: 2, identity: "one" }];
    await mounted();
    const leads = (): unknown[] => shown(".vs-plan-name.vs-link").map((one) => one.dataset["path"]);
    expect(text()).toContain("Done: 2 items");
    expect(leads()).toEqual(["Archive/a.md", "Archive/b.md"]);
    jobs = [{ ...jobs[0]!, state: "undone", undone: 2 }];
    const changeSet = { id: 9, title: "undo 8", time: "2026-11-21T10:00:00+01:00", caller: "page", changes: [], total: 0, undoes: "8" };
    daemon.last.event("_vault/changes", ++daemon.seq, { changeSet });
    await settle();
    expect(text()).toContain("Undone: 2 items");
    expect(leads()).toEqual(["Inbox/a.md", "Inbox/b.md"]);
  });

  it("claims nothing of a job while the daemon is away", async () => {
    jobs = [{ job: 1, plan: 7, state: "running", done: 1, total: 2, identity: "one" }];
    await mounted();
    expect(button("Stop")).toBeDefined();
    daemon.last.lose();
    await settle();
    expect(text()).toContain("The connection was lost after 1 of 2 items");
    expect(button("Stop")).toBeUndefined();
  });

  it("shows the reasons on demand, and added texts", async () => {
    const parts = ['file.hasTag("call")  true'];
    const why = [{ rule: "Meetings", took: false }, { rule: "Calls", took: true, parts }, { rule: "Old", took: false, stopped_by: "Calls" }];
    plan.items = [move(1, "Inbox/a.md", "Calls/a.md", { rules: ["Calls"], append: "one\ntwo\n", tag: ["call"] })];
    await mounted();
    expect(shown(".vs-plan-more summary").map((one) => one.textContent)).toEqual(["Why", "Adds at the end: 2 lines"]);
    expect(shown(".vs-plan-why li")).toEqual([]);
    const asked: Given[] = [];
    answers.set("show_plan", (given) => {
      asked.push(given);
      return answer({ plan: 7, identity: "one", items: plan.items, total: 1, why });
    });
    const details = root.querySelector<HTMLDetailsElement>(".vs-plan-why")!.parentElement as HTMLDetailsElement;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    await settle();
    expect(asked).toEqual([{ plan: 7, why: "1" }]);
    expect(shown(".vs-plan-why li").map((one) => one.firstChild?.textContent)).toEqual(["Meetings: no", "Calls: yes", "Old: not asked: Calls comes first"]);
    expect(shown(".vs-plan-part")[0]?.textContent).toBe(parts[0]);
    expect(shown(".vs-plan-below > span")[0]?.textContent).toBe("add #call");
  });

  it("shows failed rules, and the files whose links are updated", async () => {
    plan.faults = [{ rule: "Calls", files: 3, path: "Inbox/x.md", message: "`when` cannot be compared" }];
    plan.relinked = 2;
    await mounted();
    expect(text()).toContain("Rule Calls failed for 3 files, first Inbox/x.md: when cannot be compared");
    expect(text()).toContain("Links are updated in 2 files");
  });

  it("escapes HTML and hidden characters in names", async () => {
    plan.items = [move(1, "<img src=x>.md", "Archive/\u202egpj.md")];
    await mounted();
    expect(root.querySelector("img")).toBeNull();
    expect(text()).toContain("<img src=x>");
    expect(text()).toContain("\\u{202e}gpj");
  });

  it("applies the rest of the plan if some files no longer match and the person confirms", async () => {
    await mounted();
    const stale = [{ item: 1, path: "Inbox/a.md", reason: "it is gone" }];
    answers.set("apply_plan", ({ skip_stale: skips }) =>
      skips ? answer({ job: 1, plan: 7, skipped: stale }) : error("stale_plan", "1 item no longer fits", { stale }),
    );
    await press("Apply 2");
    expect(text()).toContain("Nothing was changed: 1 file changed since the plan was made.");
    expect(shown(".vs-reasons li").map((one) => one.textContent)).toEqual(["Inbox/a.md: it is gone"]);
    await press("Apply without these");
    expect(calls.at(-1)?.given).toEqual({ plan: 7, identity: "one", skip_stale: true });
    expect(text()).toContain("1 file left as it was:");
  });

  it("is redrawn and resets the checkboxes when the plan changes", async () => {
    await mounted();
    tick("Inbox/a.md to Archive/a.md").click();
    plan = { identity: "two", items: [...plan.items, move(3, "Inbox/c.md", "Archive/c.md")] };
    daemon.last.event("_vault/plan", ++daemon.seq, { plan: 7, identity: "two", items: 3, folders: [] });
    await settle();
    expect(button("Apply 3")).toBeDefined();
  });

  it("shows no apply button after the plan was dropped", async () => {
    await mounted();
    answers.set("plan_changes", () => {
      plan = { identity: "none", items: [] };
      return answer({ plan: 7, identity: "none", items: 0 });
    });
    await press("Drop");
    expect(calls[0]?.given).toEqual({ plan: 7, take_out: [1, 2] });
    expect(text()).toContain("Dropped. Nothing was changed.");
    expect(shown(".vs-card button")).toEqual([]);
  });

  it("reports an empty plan, and the reason if a plan cannot be loaded", async () => {
    plan.items = [];
    await mounted();
    expect(text()).toContain("There is nothing to change now.");
    expect(shown(".vs-card button")).toEqual([]);
    answers.set("show_plan", () => error("not_found", "there is no plan 7"));
    daemon.last.event("_vault/plan", ++daemon.seq, { plan: 7, identity: "x", items: 0, folders: [] });
    await settle();
    expect(text()).toContain("There is no plan 7");
  });

  it("is shown once, at the plan's last call", async () => {
    items.push(called(2, "show_plan", { plan: 7 }, "plan 7: move 2 notes"), called(3, "show_plan", { plan: 8 }, "plan 8: move 2 notes"));
    await mounted();
    expect(cards()).toHaveLength(2);
    const calls = [...root.querySelectorAll(".vs-call")];
    expect(calls.map((one) => one.querySelector(".vs-card") !== null)).toEqual([false, true, true]);
  });
});

describe("the card of a job", () => {
  it("is shown in the card of its plan: progress, stop, undo", async () => {
    items.push(called(1, "plan_changes", {}, "plan 7: move 2 notes"));
    await mounted();
    answers.set("apply_plan", () => undefined);
    await press("Apply 2");
    expect(button("Applying…")?.disabled).toBe(true);
    await told(1, "running", 1, 2);
    expect(text()).toContain("Running: 1 of 2 items");
    expect(root.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow")).toBe("50");
    daemon.answers.set("_vault/organize/stop", () => ({ job: 1, state: "cancelled", done: 1, total: 2 }));
    await press("Stop");
    expect(daemon.last.asked("_vault/organize/stop")).toHaveLength(1);
    jobs = [{ job: 1, plan: 7, identity: "one", state: "cancelled", done: 1, total: 2 }];
    await told(1, "cancelled", 1, 2);
    expect(text()).toContain("Stopped after 1 of 2 items");
    answers.set("rollback_job", () => {
      jobs = [{ ...jobs[0]!, state: "undone", undone: 1 }];
      return answer({ job: 1, state: "undone", undone: 1, standing: 0, blocked: [], notes: [] });
    });
    await press("Undo");
    expect(calls.at(-1)).toEqual({ name: "rollback_job", given: { job: 1 }, meta: undefined });
    expect(text()).toContain("Undone: 1 item");
    expect(button("Undo")).toBeUndefined();
  });

  it("is absent if the agent's call was refused", async () => {
    items.push(called(1, "plan_changes", {}, "plan 7: move 2 notes"));
    jobs = [{ job: 1, plan: 7, identity: "one", state: "running", done: 0, total: 2 }];
    await mounted();
    const update = async (given: object): Promise<void> => {
      daemon.last.event("session/update", ++daemon.seq, { sessionId: "a", update: { toolCallId: "x", ...given } });
      await settle();
    };
    const _meta = { vault: { tool: "apply_plan" } };
    await update({ sessionUpdate: "tool_call", title: "Apply", kind: "edit", status: "pending", locations: [], rawInput: { plan: 7 }, _meta });
    expect(text()).toContain("Running: 0 of 2 items");
    expect(button("Apply 2")).toBeUndefined();
    jobs = [];
    await update({ sessionUpdate: "tool_call_update", status: "failed", content: [], rawOutput: { code: "denied" } });
    expect(button("Apply 2")?.disabled).toBe(false);
    expect(shown(".vs-job")).toEqual([]);
  });

  it("marks the items of its plan that were not applied", async () => {
    items.push(called(1, "plan_changes", {}, "plan 7: move 2 notes"));
    plan.items.push(move(3, "Inbox/c.md", "Archive/c.md"));
    jobs = [{ job: 1, plan: 7, identity: "one", state: "partly_undone", done: 2, undone: 1, total: 2 }];
    answers.set("list_jobs", ({ job }) => answer({ jobs, items: job === 1 ? [{ item: 1, state: "done" }, { item: 3, state: "undone" }] : [] }));
    await mounted();
    expect(ticks()).toEqual([]);
    expect(shown(".vs-row .vs-plan-count").map((one) => one.textContent)).toEqual(["", "not applied", "undone"]);
  });

  it("is resumed, undone or dismissed after an interruption", async () => {
    jobs = [{ job: 4, plan: 7, identity: "one", state: "interrupted", done: 500, total: 2_000, failure: "the program ended", summary: "move 2000 notes" }];
    await mounted();
    expect(text()).toContain("Job 4: move 2000 notes");
    expect(text()).toContain("Interrupted after 500 of 2000 items");
    expect(text()).toContain("the program ended");
    expect(shown(".vs-job button").map((one) => one.textContent)).toEqual(["Resume", "Undo", "Leave"]);
    answers.set("apply_plan", () => error("stale_plan", "2 items no longer fit the vault"));
    await press("Resume");
    expect(calls[0]?.given).toEqual({ plan: 7, identity: "one", job: 4 });
    expect(text()).toContain("2 items no longer fit the vault");
    await press("Leave");
    expect(cards()).toEqual([]);
  });

  it("is shown above the input field while another client runs it, can be stopped, and disappears at its end", async () => {
    await mounted();
    await told(9, "running", 3, 10);
    expect(text()).toContain("Running: 3 of 10 items");
    daemon.answers.set("_vault/organize/stop", () => ({ job: 9, state: "running", done: 3, total: 10 }));
    await press("Stop");
    expect(daemon.last.asked("_vault/organize/stop")).toHaveLength(1);
    expect(button("Stop")?.disabled).toBe(true);
    jobs = [{ job: 9, plan: 7, identity: "one", state: "completed", done: 10, total: 10 }];
    await told(9, "completed", 10, 10);
    expect(cards()).toEqual([]);
  });

  it("is shown at the agent's own call, even if that ended early", async () => {
    jobs = [{ job: 5, plan: 7, identity: "one", state: "partly_undone", done: 3, undone: 1, total: 3, texts_kept: false }];
    items.push(called(1, "apply_plan", { plan: 7, identity: "one" }, "job 5 ended after 3 of 4 items: its time ran out", "failed"));
    await mounted();
    expect(text()).toContain("Partly undone: 1 of 3 items");
    expect(text()).toContain("The journal no longer has all texts, so it cannot be undone.");
    expect(button("Undo")).toBeUndefined();
  });
});

describe("the card of suggested names", () => {
  const files = [
    { path: "Inbox/call ada.md", fits: false, suggestions: [
      { name: "2026-11-21 Call with Ada.md", to: "Inbox/2026-11-21 Call with Ada.md", reason: "the first heading", taken_by: null },
      { name: "2026-11-21 call ada.md", to: "Inbox/2026-11-21 call ada.md", reason: "its name" },
    ] },
    { path: "Inbox/b.md", fits: false, suggestions: [{ name: "B.md", to: "Inbox/B.md", reason: "its name", taken_by: "Inbox/B.md" }] },
    { path: "Inbox/2026-11-20 Fine.md", fits: true, suggestions: [] },
  ];

  it("offers names for each file, and makes a plan of the selected files", async () => {
    const begin = called(1, "suggest_names", { paths: ["Inbox"] }, "names");
    Object.assign(begin.updates![1]!, { rawOutput: { files } });
    items.push(begin);
    await mounted();
    expect(text()).toContain("New names for 2 of 3 files");
    expect(text()).toContain("1 fit as they are");
    expect(ticks().map((one) => [one.getAttribute("aria-label"), one.checked])).toEqual([["Rename call ada", true], ["Rename b", false]]);
    expect(text()).toContain("its name; taken by Inbox/B.md");
    const select = root.querySelector("select")!;
    select.selectedIndex = 1;
    select.dispatchEvent(new Event("change"));
    answers.set("plan_changes", () => answer({ plan: 7, identity: "one", items: 1 }));
    await press("Plan 1 rename");
    expect(calls[0]).toEqual({ name: "plan_changes", given: { items: [{ path: "Inbox/call ada.md", to: "Inbox/2026-11-21 call ada.md" }] }, meta: undefined });
    expect(text()).toContain("Plan 7 for 2 files");
    // After another selection the same plan is made again.
    tick("Rename call ada").click();
    expect(button("Plan 0 renames")?.disabled).toBe(true);
    tick("Rename b").click();
    await press("Plan 1 rename");
    expect(calls[1]?.given).toEqual({ plan: 7, items: [{ path: "Inbox/b.md", to: "Inbox/B.md" }] });
    expect(root.querySelectorAll("[aria-label='Plan 7']")).toHaveLength(1);
  });

  it("shows the first files, and includes the others in the plan", async () => {
    const begin = called(1, "suggest_names", { paths: ["Inbox"] }, "names");
    const many = Array.from({ length: 25 }, (_, at) => ({ path: `n${at}.md`, fits: false, suggestions: [{ name: `N${at}.md`, to: `N${at}.md`, reason: "its name" }] }));
    Object.assign(begin.updates![1]!, { rawOutput: { files: many } });
    items.push(begin);
    await mounted();
    expect(button("Plan 25 renames")).toBeDefined();
    expect(ticks()).toHaveLength(20);
    await press("Show 5 more");
    expect(ticks()).toHaveLength(25);
  });

  it("offers nothing if every name is good", async () => {
    const begin = called(1, "suggest_names", { paths: ["Inbox"] }, "names");
    Object.assign(begin.updates![1]!, { rawOutput: { files: files.slice(2) } });
    items.push(begin);
    await mounted();
    expect(text()).toContain("New names for 0 of 1 file");
    expect(shown(".vs-card button")).toEqual([]);
  });
});
