import { describe, expect, it } from "vitest";
import { counted, dollars, folderOf, noteName, sourceName, tokens } from "./format";

describe("numbers and names", () => {
  it("are short", () => {
    expect([0, 950, 1_000, 12_345, 99_960, 999_600, 1_234_567].map(tokens)).toEqual([
      "0", "950", "1k", "12.3k", "100k", "1M", "1.2M",
    ]);
    expect([0, 0.00001, 0.0042, 0.5, 12].map(dollars)).toEqual(["", "<$0.0001", "$0.0042", "$0.50", "$12.00"]);
    expect([counted(1, "file"), counted(2, "file")]).toEqual(["1 file", "2 files"]);
  });

  it("are those of notes", () => {
    expect([noteName("Garden/Compost.md"), noteName("pear.png"), folderOf("a/b/c.md"), folderOf("c.md")]).toEqual([
      "Compost", "pear.png", "a/b", "",
    ]);
    expect([sourceName("chat"), sourceName("voice")]).toEqual([null, "by voice"]);
  });
});
