import { beforeEach, describe, expect, it } from "vitest";
import type { Approval } from "../activity";
import { approvalsView } from "./approvals";
import type { Parts } from "./part";
import { Scope } from "./scope";

let approvals: Approval[];
let answers: string[];
let view: ReturnType<typeof approvalsView>;
let chat: { approvals: Approval[]; sessionId: string | null; tool: () => Promise<unknown> };
let listed: object;
let opened: string[];

beforeEach(() => {
  approvals = [];
  answers = [];
  chat = { approvals, sessionId: "s", tool: () => Promise.resolve({ isError: false, content: [], structuredContent: listed }) };
  opened = [];
  view = approvalsView({
    root: document.body,
    chat,
    scope: new Scope(() => window),
    titles: { load: () => Promise.resolve("Hello first") },
    host: { icon: () => undefined },
    announce: () => undefined,
  } as unknown as Parts, (sessionId) => opened.push(sessionId));
});

function asked(id: number, folder: string | null, always = `Always allow edit_file in ${folder ?? ""}`, outline?: string, changes: object[] = [], tool = "edit_file"): void {
  const options = [
    { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
    ...(folder === null && always.includes("edit_file") ? [] : [{ optionId: "allow_always", name: always, kind: "allow_always" }]),
    { optionId: "reject_once", name: "Reject", kind: "reject_once" },
  ];
  const vault = { caller: "chat", tool, reasons: [], changes, folder, outline };
  const params = { sessionId: "s", toolCall: { toolCallId: `call-${id}`, title: "Edit" }, options, _meta: { vault } };
  approvals.push({ id, params, answer: (option: string, words = "") => answers.push(`${option} ${words}`.trim()) } as unknown as Approval);
  view.update();
}

const seen = (selector: string): HTMLElement[] =>
  [...view.root.querySelectorAll<HTMLElement>(selector)].filter((one) => one.closest("[hidden]") === null);
const buttons = (): HTMLElement[] => [...view.root.querySelectorAll<HTMLElement>(".vs-answers button")];
const words = (): HTMLInputElement | null => view.root.querySelector("input");

describe("a question", () => {
  it("names the folder of a standing approval", () => {
    asked(1, "Garden/Beds");
    expect(buttons().map((one) => one.textContent)).toEqual(["Allow once", "Always for this folder", "Reject"]);
    const always = buttons()[1];
    // The accessible name begins with the visible label, and includes the tool and the folder.
    expect(always?.getAttribute("aria-label")).toBe("Always for this folder: edit_file in Garden/Beds");
    expect(always?.title).toBe("From now on this is not asked for edit_file in Garden/Beds and the folders there");
    expect(buttons()[0]?.hasAttribute("aria-label")).toBe(false);
    always?.click();
    expect(answers).toEqual(["allow_always"]);
  });

  it("shows the daemon's text for other lasting answers", () => {
    asked(1, null, "Always allow fly");
    expect(buttons()[1]?.textContent).toBe("Always allow fly");
    expect(buttons()[1]?.hasAttribute("aria-label")).toBe(false);
    expect(buttons()[1]?.title).toBe("");
  });

  it("sends the comment with a refusal, and none with an approval", () => {
    asked(1, null);
    expect(words()?.getAttribute("aria-label")).toBe("Why not (optional)");
    words()!.value = "  only the old ones ";
    buttons()[1]?.click();
    expect(answers).toEqual(["reject_once only the old ones"]);
    expect(words()?.disabled).toBe(true);
    approvals.splice(0);
    asked(2, null);
    words()!.value = "not yet";
    buttons()[0]?.click();
    expect(answers[1]).toBe("allow_once");
  });

  it("sends the words with a yes where a server asks", () => {
    asked(1, null, undefined, undefined, [], "server_question");
    expect(words()?.getAttribute("aria-label")).toBe("Your answer (optional)");
    expect(buttons().map((one) => one.textContent)).toEqual(["Answer", "Reject"]);
    words()!.value = " octocat ";
    words()!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    expect(answers).toEqual(["allow_once octocat"]);
  });

  it("shows the whole plan in its outline", () => {
    asked(1, null, "Always allow fly", "move 2 notes\n  Inbox -> Archive\u202e  2");
    expect(view.root.querySelector(".vs-outline")?.textContent).toBe("move 2 notes\n  Inbox -> Archive\\u{202e}  2");
  });

  it("is refused with the comment by the Enter key", () => {
    asked(1, null);
    words()!.value = "no";
    words()!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    expect(answers).toEqual(["reject_once no"]);
  });
});

describe("the conversation of a question", () => {
  const where = (): string => seen(".vs-approval-where").map((one) => one.textContent).join();

  it("is shown again whenever another conversation is opened", async () => {
    chat.sessionId = null;
    asked(1, null);
    await Promise.resolve();
    await Promise.resolve();
    expect(where()).toContain("Asked by chat in another conversation: Hello first");
    // The view was opened before it knew the current conversation.
    chat.sessionId = "s";
    view.update();
    expect(where()).toBe("");
    chat.sessionId = "t";
    view.update();
    expect(where()).toContain("another conversation: Hello first");
    seen(".vs-approval-where button")[0]?.click();
    expect(opened).toEqual(["s"]);
  });
});

describe("several questions", () => {
  it("are counted, and rejected together", () => {
    asked(1, null);
    expect(seen(".vs-approvals-head")).toEqual([]);
    asked(2, null);
    expect(seen(".vs-approvals-head")[0]?.textContent).toContain("2 approvals are waiting");
    seen(".vs-approvals-head .vs-reject")[0]?.click();
    expect(answers).toEqual(["reject_once", "reject_once"]);
  });
});

describe("a folder that is deleted", () => {
  it("is shown with its files by name and count", async () => {
    listed = { entries: Array.from({ length: 9 }, (_, at) => ({ path: `Garden/Bed ${at}.md` })), total: 9 };
    asked(1, null, undefined, undefined, [{ action: "delete", path: "Garden", from: null, diff: "", added: 0, removed: 0, more: 0 }]);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    const files = (): (string | null)[] => seen(".vs-files li").map((one) => one.textContent);
    expect(seen(".vs-approval-files .vs-aside")[0]?.textContent).toBe("9 files");
    expect(files()).toHaveLength(6);
    expect(files()[0]).toBe("Bed 0.md");
    seen(".vs-approval-files .vs-more")[0]?.click();
    expect(files()).toHaveLength(9);
  });
});
