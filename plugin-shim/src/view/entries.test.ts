import { describe, expect, it } from "vitest";
import { callView } from "./entries";
import type { Parts } from "./part";
import type { CallEntry } from "./timeline";

/** The label of a failed call, by its tool's structured output. */
function shown(output: unknown): string | null {
  const view = callView({ root: document.body, host: { icon: () => undefined } } as unknown as Parts);
  const entry = { kind: "call", title: "Delete", tool: "delete", does: "delete", status: "failed", input: null, result: "", output };
  view.update(entry as unknown as CallEntry);
  return view.root.querySelector(".vs-call-state")?.textContent ?? null;
}

describe("a call without a result", () => {
  it("shows who refused it, or that nobody answered", () => {
    expect(shown({ code: "denied", data: { layer: "approval", refused: { by: "chat", words: "" } } })).toBe("you refused");
    expect(shown({ code: "denied", data: { layer: "approval", reasons: [] } })).toBe("nobody answered");
    expect(shown({ code: "denied", data: { layer: "paths" } })).toBe("not allowed");
    expect(shown({ code: "approval_pending", data: { question: 7 } })).toBe("waiting for your approval");
    expect(shown({ code: "not_found" })).toBe("failed");
    expect(shown(null)).toBe("failed");
  });
});
