import { describe, expect, it } from "vitest";
import { countsSaid, parseDiff, reversed } from "./diff";

const DIFF = `--- a/Note.md
+++ b/Note.md
@@ -1,3 +1,3 @@
 # Note
-old
+new
 same
@@ -10,2 +10,3 @@
 ten
+eleven
\\ No newline at end of file
`;

describe("a diff", () => {
  it("is lines with numbers", () => {
    const diff = parseDiff(DIFF);
    expect(diff).toMatchObject({ added: 2, removed: 1 });
    expect(diff.lines).toEqual([
      { kind: "same", text: "# Note", old: 1, new: 1 },
      { kind: "removed", text: "old", old: 2 },
      { kind: "added", text: "new", new: 2 },
      { kind: "same", text: "same", old: 3, new: 3 },
      { kind: "gap" },
      { kind: "same", text: "ten", old: 10, new: 10 },
      { kind: "added", text: "eleven", new: 11 },
      { kind: "note", text: "No newline at end of file" },
    ]);
  });

  it("distinguishes lines that look like its own head", () => {
    const diff = parseDiff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- rule\n+++ plus\n");
    expect(diff.lines).toEqual([
      { kind: "removed", text: "-- rule", old: 1 },
      { kind: "added", text: "++ plus", new: 1 },
    ]);
  });

  it("marks the different words in a line that replaces another", () => {
    const pair = (before: string, after: string): (string | undefined)[] =>
      parseDiff(`@@ -1 +1 @@\n-${before}\n+${after}\n`).lines.map((line) =>
        "words" in line && line.words ? line.text.slice(...line.words) : undefined,
      );
    expect(pair("Turn at Christmas.", "Burn at Christmas.")).toEqual(["Turn", "Burn"]);
    expect(pair("one two", "one big two")).toEqual(["", "big "]);
    expect(pair("all", "new")).toEqual([undefined, undefined]);
    const uneven = parseDiff("@@ -1 +1,2 @@\n-a b\n+a c\n+a d\n").lines;
    expect(uneven.every((line) => !("words" in line))).toBe(true);
  });

  it("leaves nothing out silently", () => {
    expect(parseDiff("").lines).toEqual([]);
    expect(parseDiff("Binary files a/x and b/x differ\n").lines).toEqual([
      { kind: "note", text: "Binary files a/x and b/x differ" },
    ]);
    const cut = parseDiff("@@ -1 +1,2 @@\n+a\n[7 more lines of the diff are left out]\n");
    expect(cut.lines[1]).toEqual({ kind: "note", text: "[7 more lines of the diff are left out]" });
  });

  it("shows the changes that an undo would lose", () => {
    const diff = reversed(parseDiff("@@ -1 +1,2 @@\n one\n+of my own\n"));
    expect(diff).toMatchObject({ added: 0, removed: 1 });
    expect(diff.lines.at(-1)).toEqual({ kind: "removed", text: "of my own", old: 2, new: undefined });
  });

  it("is counted in words", () => {
    expect(countsSaid({ added: 1, removed: 2 })).toBe("1 line added, 2 lines removed");
  });
});
