import { describe, expect, it } from "vitest";
import { type Segment, Segments } from "./segments";

function cut(text: string, sizes: number[] = [text.length]): Segment[] {
  const segments = new Segments();
  let at = 0;
  for (let turn = 0; at < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    segments.write(text.slice(at, at + size));
    at += size;
  }
  segments.finish();
  return segments.take();
}

const texts = (segments: Segment[]): string[] => segments.map((one) => one.text.trim());

describe("the pieces of a text", () => {
  it("end at blank lines", () => {
    expect(texts(cut("one\ntwo\n\nthree\n\n\n# four\n"))).toEqual(["one\ntwo", "three", "# four"]);
  });

  it("keep a list with blank lines together", () => {
    expect(texts(cut("- one\n\n- two\n\n  more of two\n\nno item"))).toEqual([
      "- one\n\n- two\n\n  more of two",
      "no item",
    ]);
  });

  it("distinguish code from text, whatever its content", () => {
    const [before, code, after] = cut("a\n~~~~md x\n```\n# no heading\n~~~\n\n- no item\n~~~~\nb");
    expect(before).toEqual({ kind: "markdown", text: "a", continues: false });
    expect(code).toEqual({
      kind: "code",
      info: "md x",
      text: "```\n# no heading\n~~~\n\n- no item",
      continues: false,
    });
    expect(after?.text).toBe("b");
  });

  it("remove the indentation of a fence in a list", () => {
    const [, code, after] = cut("1. one\n   ```sh\n   ls\n     -a\n   ```\n2. two");
    expect(code?.text).toBe("ls\n  -a");
    expect(after?.text).toBe("2. two");
  });

  it("show an unclosed fence, and an empty one", () => {
    expect(cut("```js\nlet a;")).toEqual([{ kind: "code", info: "js", text: "let a;", continues: false }]);
    expect(cut("```\n```\n")).toEqual([{ kind: "code", info: "", text: "", continues: false }]);
  });

  it("do not depend on how the text arrives", () => {
    const text = "# a\r\n\n- x\n- y\n\n```js\nlet 😀 = 1;\n\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend";
    const whole = cut(text);
    for (const sizes of [[1], [2, 3], [7], [1, 50]]) expect(cut(text, sizes)).toEqual(whole);
  });

  it("are bounded, and so is the open piece", () => {
    const lines: Record<string, (at: number) => string> = {
      paragraph: (at) => `line ${at} without an end`,
      list: (at) => `- item ${at}`,
      code: (at) => (at === 0 ? "```" : `code ${at}`),
      table: (at) => (at === 0 ? "| a |" : at === 1 ? "|---|" : `| ${at} |`),
      quote: (at) => `> quoted ${at}`,
      callout: (at) => (at === 0 ? "> [!note]" : `> quoted ${at}`),
      math: (at) => (at === 0 ? "$$" : `a_${at} \\\\`),
    };
    for (const [kind, line] of Object.entries(lines)) {
      const segments = new Segments();
      let open = 0;
      let count = 0;
      for (let at = 0; at < 5_000; at++) {
        segments.write(`${line(at)}\n`);
        open = Math.max(open, segments.open()?.text.length ?? 0);
        count += segments.take().length;
      }
      // A block that is normally kept whole is cut if it is too long.
      expect(count, kind).toBeGreaterThan(kind === "callout" || kind === "math" ? 3 : 40);
      expect(open, kind).toBeLessThan(13_000);
    }
  });

  it("lose nothing of an endless line", () => {
    const text = `${"word ".repeat(10_000)}${"x".repeat(40_000)}😀${"y".repeat(30_000)}`;
    const pieces = cut(text, [333]);
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.map((one) => one.text).join("")).toBe(text);
    expect(pieces.every((one) => !/[\ud800-\udbff]$/.test(one.text))).toBe(true);
  });

  it("repeat the head of a table that is cut", () => {
    const rows = Array.from({ length: 100 }, (_, at) => `| ${at} |`);
    const pieces = cut(["| a |", "|---|", ...rows].join("\n"));
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces[1]?.text.startsWith("| a |\n|---|\n| ")).toBe(true);
    expect(pieces[1]?.continues).toBe(true);
  });

  it("have the same columns in every piece of a table", () => {
    const rows = Array.from({ length: 100 }, (_, at) => `| ${at} | ${"long ".repeat(at % 5)} | a \\| b |`);
    const pieces = cut(["| a | b | c |", "|---|---|---|", ...rows].join("\n"));
    const columns = pieces.map((one) => (one.kind === "markdown" ? one.columns : undefined));
    expect(columns[0]).toEqual([4, 19, 6]);
    expect(new Set(columns.map((one) => JSON.stringify(one))).size).toBe(1);
    const [small, after] = cut("| a |\n|---|\n| b |\n\nwords");
    expect([small, after]).toEqual([
      { kind: "markdown", text: "| a |\n|---|\n| b |\n", continues: false },
      { kind: "markdown", text: "words", continues: false },
    ]);
  });

  it("do not cut a formula or a callout", () => {
    const formula = `$$\n${"a &= b\n\n".repeat(20)}$$`;
    expect(texts(cut(`${formula}\nafter`))).toEqual([formula, "after"]);
    const callout = `> [!note]\n${"> line\n".repeat(60)}`.trim();
    expect(texts(cut(`${callout}\n\nafter`))).toEqual([callout, "after"]);
    expect(texts(cut("$$ is no formula $$\n\nafter"))).toEqual(["$$ is no formula $$", "after"]);
  });

  it("do not treat text after code in a list as code", () => {
    const pieces = cut("- one\n\n    ```\n    code\n    ```\n\n    more of one\n\n- two\n\n    inner");
    expect(texts(pieces)).toEqual(["- one", "code", "more of one", "- two\n\n    inner"]);
    expect(pieces[2]?.text).toBe("more of one\n");
  });

  it("show an incomplete formula as a formula", () => {
    const open = (text: string): string | undefined => {
      const segments = new Segments();
      segments.write(text);
      return segments.open()?.text;
    };
    expect(["$$", "$$\n", "$$a", "$$\na\n", "$$\na\n$", "$5 or"].map(open)).toEqual([undefined, undefined, "$$a$$", "$$\na$$", "$$\na\n$$", "$5 or"]);
  });

  it("hide a partial closing fence", () => {
    const segments = new Segments();
    segments.write("```\ncode\n``");
    expect(segments.open()).toMatchObject({ kind: "code", text: "code" });
  });
});
