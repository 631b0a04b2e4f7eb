import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Approval } from "./questions";
import { approvalsView } from "./approvals";
import type { Parts } from "./part";
import { Scope } from "./scope";

let now: number;
let timers: Set<() => void>;
let scope: Scope;
let approvals: Approval[];
let answers: string[];
let view: ReturnType<typeof approvalsView>;

beforeEach(() => {
  now = 0;
  timers = new Set();
  const window = {
    setTimeout(call: () => void) {
      timers.add(call);
      return call;
    },
    clearTimeout: (call: () => void) => timers.delete(call),
  } as unknown as Window;
  scope = new Scope(() => window);
  approvals = [];
  answers = [];
  view = approvalsView({
    root: document.body,
    chat: { approvals, sessionId: "s" },
    host: { icon: () => undefined },
    scope,
    now: () => new Date(now),
    announce: () => undefined,
  } as unknown as Parts);
});
afterEach(() => scope.end());

function asked(id: number, folder: string | null, seconds: number, always = `Always allow edit_file in ${folder ?? ""}`): void {
  const options = [
    { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
    ...(folder === null && always.includes("edit_file") ? [] : [{ optionId: "allow_always", name: always, kind: "allow_always" }]),
    { optionId: "reject_once", name: "Reject", kind: "reject_once" },
  ];
  const vault = { caller: "chat", tool: "edit_file", reasons: [], changes: [], folder, seconds };
  const params = { sessionId: "s", toolCall: { toolCallId: `call-${id}`, title: "Edit" }, options, _meta: { vault } };
  approvals.push({ id, params, answer: (option: string) => answers.push(option) } as unknown as Approval);
  view.update();
}

function pass(seconds: number): void {
  now += 1_000 * seconds;
  const due = [...timers];
  timers.clear();
  due.forEach((call) => call());
}

const buttons = (): HTMLElement[] => [...view.root.querySelectorAll<HTMLElement>(".vs-answers button")];
const left = (): (string | null)[] => [...view.root.querySelectorAll(".vs-approval-left")].map((one) => one.textContent);

describe("a question", () => {
  it("says for what an agreement holds that lasts", () => {
    asked(1, "Garden/Beds", 60);
    expect(buttons().map((one) => one.textContent)).toEqual(["Allow once", "Always for this folder", "Reject"]);
    const always = buttons()[1];
    // What is read aloud begins with what is seen, and names the tool and the folder.
    expect(always?.getAttribute("aria-label")).toBe("Always for this folder: edit_file in Garden/Beds");
    expect(always?.title).toBe("From now on this is not asked for edit_file in Garden/Beds and the folders there");
    expect(buttons()[0]?.hasAttribute("aria-label")).toBe(false);
    always?.click();
    expect(answers).toEqual(["allow_always"]);
  });

  it("says in the daemon's words what lasts otherwise", () => {
    asked(1, null, 60, "Always allow fly");
    expect(buttons()[1]?.textContent).toBe("Always allow fly");
    expect(buttons()[1]?.hasAttribute("aria-label")).toBe(false);
    expect(buttons()[1]?.title).toBe("");
  });

  it("says so of the whole vault", () => {
    asked(1, "", 60);
    expect(buttons()[1]?.textContent).toBe("Always allow edit_file in the whole vault");
  });

  it("says how long there is to answer", () => {
    asked(1, null, 300);
    expect(left()).toEqual(["Counts as refused in 5 min"]);
    pass(61);
    expect(left()).toEqual(["Counts as refused in 4 min"]);
    pass(200);
    expect(left()).toEqual(["Counts as refused in 39 s"]);
    pass(50);
    expect(left()).toEqual(["Counts as refused in 0 s"]);
  });

  it("holds no timer when it is gone", () => {
    asked(1, null, 120);
    expect(timers.size).toBe(1);
    approvals.splice(0);
    view.update();
    expect(timers.size).toBe(0);
    expect(left()).toEqual([]);
  });
});
