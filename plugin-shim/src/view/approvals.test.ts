import { beforeEach, describe, expect, it } from "vitest";
import type { Approval } from "./questions";
import { approvalsView } from "./approvals";
import type { Parts } from "./part";

let approvals: Approval[];
let answers: string[];
let view: ReturnType<typeof approvalsView>;

beforeEach(() => {
  approvals = [];
  answers = [];
  view = approvalsView({
    root: document.body,
    chat: { approvals, sessionId: "s" },
    host: { icon: () => undefined },
    announce: () => undefined,
  } as unknown as Parts);
});

function asked(id: number, folder: string | null, always = `Always allow edit_file in ${folder ?? ""}`): void {
  const options = [
    { optionId: "allow_once", name: "Allow once", kind: "allow_once" },
    ...(folder === null && always.includes("edit_file") ? [] : [{ optionId: "allow_always", name: always, kind: "allow_always" }]),
    { optionId: "reject_once", name: "Reject", kind: "reject_once" },
  ];
  const vault = { caller: "chat", tool: "edit_file", reasons: [], changes: [], folder };
  const params = { sessionId: "s", toolCall: { toolCallId: `call-${id}`, title: "Edit" }, options, _meta: { vault } };
  approvals.push({ id, params, answer: (option: string, words = "") => answers.push(`${option} ${words}`.trim()) } as unknown as Approval);
  view.update();
}

const buttons = (): HTMLElement[] => [...view.root.querySelectorAll<HTMLElement>(".vs-answers button")];
const words = (): HTMLInputElement | null => view.root.querySelector("input");

describe("a question", () => {
  it("says for what an agreement holds that lasts", () => {
    asked(1, "Garden/Beds");
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
    asked(1, null, "Always allow fly");
    expect(buttons()[1]?.textContent).toBe("Always allow fly");
    expect(buttons()[1]?.hasAttribute("aria-label")).toBe(false);
    expect(buttons()[1]?.title).toBe("");
  });

  it("takes back to the caller why not, and says nothing with a yes", () => {
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

  it("is refused with the words by the key that ends them", () => {
    asked(1, null);
    words()!.value = "no";
    words()!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
    expect(answers).toEqual(["reject_once no"]);
  });
});
