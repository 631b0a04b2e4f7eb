import { describe, expect, it } from "vitest";
import { hunksOf, putBack } from "./hunks";
import { parseDiff } from "./diff";

/** The edits that put each hunk of a diff back into a text. */
function edits(diff: string, text: string): unknown[] {
  return [...hunksOf(parseDiff(diff).lines).values()].map((hunk) => putBack(hunk, text));
}

const TWO = "--- a/n.md\n+++ b/n.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -9,3 +9,4 @@\n nine\n ten\n+ten and a half\n eleven\n";
const NOW = "one\n2\nthree\n4\n5\n6\n7\n8\nnine\nten\nten and a half\neleven\n";

describe("a hunk that is put back", () => {
  it("is taken back alone, by the lines that it made", () => {
    expect(edits(TWO, NOW)).toEqual([
      { replace_lines: { start: 2, end: 2 }, content: "two\n" },
      { delete_lines: { start: 11, end: 11 } },
    ]);
  });

  it("is found where lines were put before it", () => {
    expect(edits(TWO, `zero\nzero\n${NOW}`)).toEqual([
      { replace_lines: { start: 4, end: 4 }, content: "two\n" },
      { delete_lines: { start: 13, end: 13 } },
    ]);
  });

  it("brings lines back that were taken out", () => {
    const diff = "@@ -1,3 +1,2 @@\n one\n-two\n three\n";
    expect(edits(diff, "one\nthree\n")).toEqual([{ insert_before_line: 2, content: "two\n" }]);
    expect(edits("@@ -1,2 +1,1 @@\n one\n-two\n", "one\n")).toEqual([{ insert_after_line: -1, content: "two\n" }]);
  });

  it("is the nearest of several that are alike", () => {
    const diff = "@@ -5,2 +5,2 @@\n a\n-b\n+c\n";
    expect(edits(diff, "a\nc\nx\nx\na\nc\na\nc\n")).toEqual([{ replace_lines: { start: 6, end: 6 }, content: "b\n" }]);
  });

  it("is found by its own lines where those around it are others, if they are there once", () => {
    const diff = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    expect(edits(diff, "uno\n2\ntres\n")).toEqual([{ replace_lines: { start: 2, end: 2 }, content: "two\n" }]);
    expect(edits(diff, "uno\n2\ntres\n2\n")).toEqual([null]);
    expect(edits(diff, "one\ndeux\nthree\n")).toEqual([null]);
  });

  it("has lines with every line end, and a last line without one", () => {
    const diff = "@@ -1,2 +1,3 @@\n one\r\n-two\n\\ No newline at end of file\n+2\r\n+3\n\\ No newline at end of file\n";
    expect(edits(diff, "one\r\n2\r\n3")).toEqual([{ replace_lines: { start: 2, end: 3 }, content: "two\n" }]);
  });

  it("is none where nothing was left", () => {
    expect(edits("@@ -1,2 +0,0 @@\n-one\n-two\n", "")).toEqual([]);
  });
});
