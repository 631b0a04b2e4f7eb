import { describe, expect, it } from "vitest";
import { type Block, type Inline, readMarkdown } from "./markdown";

const inlines = (text: string): Inline[] => {
  const [block] = readMarkdown(text);
  if (block?.kind !== "paragraph") throw new Error(`no paragraph: ${JSON.stringify(block)}`);
  return block.children;
};

const words = (blocks: Block[]): string => JSON.stringify(blocks);

describe("markdown", () => {
  it("is read as blocks", () => {
    const blocks = readMarkdown("# Title\n\n> quoted\n\n---\n\n1. one\n2. two\n\n```js\nx\n```");
    expect(blocks.map((block) => block.kind)).toEqual(["heading", "quote", "rule", "list", "code"]);
    expect(blocks[3]).toMatchObject({ ordered: true, start: 1, items: [{}, {}] });
  });

  it("keeps the number that a list begins with, and what is done", () => {
    expect(readMarkdown("7. seven")[0]).toMatchObject({ kind: "list", start: 7 });
    const [list] = readMarkdown("- [x] done\n- [ ] open\n- neither");
    expect(list).toMatchObject({ items: [{ checked: true }, { checked: false }, {}] });
    expect(words(list ? [list] : [])).not.toContain("[x]");
  });

  it("reads links into the vault", () => {
    expect(inlines("[[Compost]]")).toEqual([
      { kind: "link", link: { kind: "note", linkpath: "Compost" }, children: [{ kind: "text", text: "Compost" }], image: false },
    ]);
    expect(inlines("[[Garden/Plot 27#Beds|the beds]]")[0]).toMatchObject({
      link: { linkpath: "Garden/Plot 27#Beds" },
      children: [{ text: "the beds" }],
    });
    expect(inlines("[[Note#Part]]")[0]).toMatchObject({ children: [{ text: "Note > Part" }] });
    expect(inlines("[note](Garden/Plot%2027.md)")[0]).toMatchObject({ link: { kind: "note", linkpath: "Garden/Plot 27.md" } });
    expect(inlines("![[pear.png|200]]")[0]).toMatchObject({ image: true, children: [{ text: "pear.png" }] });
    expect(inlines("[[a\nb]]")[0]).toMatchObject({ kind: "text" });
  });

  it("reads emphasis, marks and code", () => {
    expect(inlines("**a** *b* ~~c~~ ==d== `e & <f>`").map((one) => (one.kind === "styled" ? one.style : one.kind))).toEqual([
      "strong", "text", "em", "text", "del", "text", "mark", "text", "code",
    ]);
    expect(inlines("`e &amp; <f>`")).toEqual([{ kind: "code", text: "e &amp; <f>" }]);
    expect(inlines("Tom &amp; &#74;erry &nope;")).toEqual([{ kind: "text", text: "Tom & Jerry &nope;" }]);
    expect(inlines("a == b == c")).toEqual([{ kind: "text", text: "a == b == c" }]);
  });

  it("breaks lines where they break", () => {
    expect(inlines("one\ntwo").map((one) => one.kind)).toEqual(["text", "break", "text"]);
    expect(inlines("one<br>two").map((one) => one.kind)).toEqual(["text", "break", "text"]);
  });

  it("has HTML be text", () => {
    for (const html of ["<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "<iframe src='//x'></iframe>", "a <b>b</b>", "<!-- c -->", "<svg/onload=alert(1)>"]) {
      const blocks = readMarkdown(html);
      const kinds = words(blocks).match(/"kind":"(\w+)"/g) ?? [];
      expect(new Set(kinds)).toEqual(new Set(['"kind":"paragraph"', '"kind":"text"']));
    }
  });

  it("has images be links that say where they lead", () => {
    expect(inlines("![a cat](https://example.org/cat.png)")[0]).toMatchObject({
      kind: "link",
      image: true,
      link: { kind: "web", host: "example.org" },
    });
  });

  it.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](&#x6a;avascript&#58;alert(1))",
    "[x](\u0001javascript:alert(1))",
    "[x](data:text/html,hello)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](obsidian://open?vault=x)",
    "[x](blob:https://example.org/1)",
    "[x](//example.org/x)",
    "[x](\\\\example.org\\x)",
    "[x](https://bank.example@example.org/)",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
  ])("leads nowhere: %s", (text) => {
    const found = words(readMarkdown(text));
    expect(found).not.toContain('"kind":"web"');
    expect(found).not.toMatch(/"linkpath":"[^"]*(script|example)/);
  });

  it("has no link in a link", () => {
    const [link] = inlines("[a [[Note]] https://example.org b](https://outer.example)");
    const inner = link?.kind === "link" ? JSON.stringify(link.children) : "";
    expect(inner).not.toContain('"link"');
  });

  it("reads what is deep, long and unfinished in no time", () => {
    const hostile = [
      "> ".repeat(3_000) + "x",
      "- ".repeat(3_000) + "x",
      "[".repeat(6_000),
      "*a **b ".repeat(800),
      "_".repeat(6_000),
      "`".repeat(6_000),
      "<".repeat(6_000),
      "![".repeat(3_000),
      "[[".repeat(3_000),
      "==".repeat(3_000),
      `${"|".repeat(3_000)}\n${"|-".repeat(1_500)}`,
      `[a]: ${"(".repeat(5_000)}`,
      "a@".repeat(3_000),
      "https://".repeat(700),
      `[x](${"\\".repeat(6_000)})`,
      "&".repeat(6_000),
      " ".repeat(6_000) + "x",
      "1. ".repeat(2_000),
      "\\".repeat(6_000),
    ];
    for (const text of hostile) {
      const before = performance.now();
      const blocks = readMarkdown(text);
      expect(performance.now() - before, text.slice(0, 20)).toBeLessThan(400);
      expect(blocks.length).toBeGreaterThan(0);
    }
  });
});
