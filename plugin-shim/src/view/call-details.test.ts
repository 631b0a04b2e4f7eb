import { describe, expect, it } from "vitest";
import { callDetails, diffOf } from "./call-details";
import type { CallEntry } from "./timeline";

function drawn(input: unknown, rest: Partial<CallEntry> = {}): HTMLElement {
  const root = document.createElement("div");
  const entry: CallEntry = {
    kind: "call",
    key: "call:1",
    turn: "1",
    tool: "edit_file",
    title: "Edit a file",
    does: "edit",
    status: "completed",
    locations: [{ path: "/home/me/Notes/Garden/Plan.md" }],
    input,
    result: "",
    output: undefined,
    ...rest,
  };
  return callDetails({ root }, entry).root;
}

/** The displayed names and values. */
function lines(root: HTMLElement): string[] {
  const list = root.querySelector("dl");
  return [...(list?.children ?? [])].map((one) => one.textContent ?? "");
}

describe("the arguments of a call", () => {
  it("are lines that a person can read", () => {
    const root = drawn({ replace_all: true, path: "Garden/Plan.md", max_results: 5, old_text: "", tags: ["a", "b"], folder: null });
    expect(lines(root)).toEqual(["Path", "Garden/Plan.md", "Replace all", "yes", "Max results", "5", "Old text", "empty", "Tags", "ab", "Folder", "none"]);
    expect([...root.querySelectorAll("li")].map((one) => one.textContent)).toEqual(["a", "b"]);
    expect(root.querySelector("a")?.dataset["linkpath"]).toBe("Garden/Plan.md");
    expect(root.querySelector("pre")).toBeNull();
    const edited = drawn({ new_text: "b", old_text: "a", path: "Garden/Plan.md" });
    expect(lines(edited)).toEqual(["Path", "Garden/Plan.md", "Old text", "a", "New text", "b"]);
  });

  it("have boxes for long texts and deep values, and hide nothing", () => {
    const root = drawn({ text: "one\ntwo", items: [{ a: { b: { c: 1 } } }], name: "a\u202eb" });
    expect([...root.querySelectorAll("pre")].map((one) => one.textContent)).toEqual(["one\ntwo", '{"c":1}']);
    expect(root.textContent).toContain("a\\u{202e}b");
    const many = drawn({ paths: Array.from({ length: 60 }, (_, at) => `p${at}`) });
    expect(many.querySelectorAll("li").length).toBe(51);
    expect(many.textContent).toContain("and 10 more");
  });

  it("are shown as JSON on demand, and unchanged if they are not JSON", () => {
    const root = drawn({ path: "a.md" });
    const button = root.querySelector("button");
    button?.click();
    expect(root.querySelector("pre")?.textContent).toBe('{\n  "path": "a.md"\n}');
    button?.click();
    expect(root.querySelector("pre")).toBeNull();
    expect(drawn("{broken").querySelector("pre")?.textContent).toBe("{broken");
    expect(drawn({}).textContent).toBe("");
  });
});

it("a diff in an answer is shown once", () => {
  const result = "Edited.\n\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y";
  expect(diffOf({ output: undefined, result })).toEqual({ diff: "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y", rest: "Edited." });
  expect(diffOf({ output: { diff: "D" }, result: "Done." })).toEqual({ diff: "D", rest: "Done." });
});
