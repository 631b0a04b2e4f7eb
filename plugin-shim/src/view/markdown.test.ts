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

  it("keeps the first number of a list, and completed tasks", () => {
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

  it("reads formulas, but not prices", () => {
    expect(inlines("so $E = mc^2$, and $a_1 * b_2 * c$.")).toEqual([
      { kind: "text", text: "so " },
      { kind: "math", text: "E = mc^2", block: false },
      { kind: "text", text: ", and " },
      { kind: "math", text: "a_1 * b_2 * c", block: false },
      { kind: "text", text: "." },
    ]);
    for (const text of ["it costs $5 and then $10", "between $5-$10", "a $ b $ c", "\\$x$ is none", "$x", "$$"]) {
      expect(words(readMarkdown(text)), text).not.toContain('"math"');
    }
    expect(inlines("`$x$`")).toEqual([{ kind: "code", text: "$x$" }]);
    expect(inlines("$\\text{5\\$}$")).toEqual([{ kind: "math", text: "\\text{5\\$}", block: false }]);
  });

  it("reads formulas on lines of their own, whatever their lines begin with", () => {
    const tex = "\\begin{aligned}\n- a &= b \\\\\n# c_1 &= d_1\n---\n\\end{aligned}";
    const math = { kind: "paragraph", children: [{ kind: "math", text: tex, block: true }] };
    expect(readMarkdown(`$$\n${tex}\n$$`)).toEqual([math]);
    expect(readMarkdown(`It is\n$$\n${tex}\n$$\nof old.`)).toEqual([
      { kind: "paragraph", children: [{ kind: "text", text: "It is" }] },
      math,
      { kind: "paragraph", children: [{ kind: "text", text: "of old." }] },
    ]);
    expect(inlines("with $$x$$ in it")[1]).toEqual({ kind: "math", text: "x", block: true });
  });

  it("reads callouts", () => {
    expect(readMarkdown("> [!Note] The **title**\n> one\n>\n> - two")).toMatchObject([
      {
        kind: "callout",
        type: "note",
        fold: "",
        title: [{ text: "The " }, { kind: "styled", style: "strong" }],
        blocks: [{ kind: "paragraph" }, { kind: "list" }],
      },
    ]);
    expect(readMarkdown("> [!faq]- Folded\n> x")[0]).toMatchObject({ fold: "-", title: [{ text: "Folded" }] });
    expect(readMarkdown("> [!tip]+")[0]).toMatchObject({ fold: "+", title: [{ text: "Tip" }], blocks: [] });
    expect(readMarkdown("> [!a]\n> > [!b] inner\n> > x")[0]).toMatchObject({
      blocks: [{ kind: "callout", type: "b", blocks: [{ kind: "paragraph" }] }],
    });
    expect(readMarkdown("> no [!note] at its beginning")[0]).toMatchObject({ kind: "quote" });
  });

  it("reads references to footnotes, and the footnotes", () => {
    expect(inlines("so it is[^1], they say[^long-name]")).toEqual([
      { kind: "text", text: "so it is" },
      { kind: "footnote", id: "1" },
      { kind: "text", text: ", they say" },
      { kind: "footnote", id: "long-name" },
    ]);
    expect(readMarkdown("[^1]: word\n[^2]: Two *words*\nand more")).toMatchObject([
      { kind: "footnote", id: "1", children: [{ text: "word" }] },
      { kind: "footnote", id: "2", children: [{ text: "Two " }, { style: "em" }, { kind: "break" }, { text: "and more" }] },
    ]);
    expect(inlines("an aside^[of *two* words].")[1]).toMatchObject({ kind: "styled", style: "small", children: [{ text: "of " }, {}, {}] });
  });

  it("shows comments, since nothing in an answer may be hidden", () => {
    expect(inlines("a %%not *for* you%% b")[1]).toEqual({ kind: "comment", text: "%%not *for* you%%" });
    expect(inlines("100%% sure")).toEqual([{ kind: "text", text: "100%% sure" }]);
  });

  it("reads headings that are underlined", () => {
    expect(readMarkdown("One\n===\n\nTwo *2*\nlines\n---\nafter")).toMatchObject([
      { kind: "heading", depth: 1, children: [{ text: "One" }] },
      { kind: "heading", depth: 2, children: [{ text: "Two " }, {}, { kind: "break" }, { text: "lines" }] },
      { kind: "paragraph" },
    ]);
    expect(readMarkdown("- item\n---\n\n> q\n===\n\n# h\n---").map((block) => block.kind)).toEqual(["list", "rule", "quote", "heading", "rule"]);
    expect(readMarkdown("| a |\n|---|\n| b |")[0]).toMatchObject({ kind: "table" });
  });

  it("reads lists in lists, with tasks and code", () => {
    const [list] = readMarkdown("- [ ] one\n  - [x] two\n    1. three\n\n       ```js\n       four\n       ```\n- five");
    expect(list).toMatchObject({
      items: [
        { checked: false, blocks: [{}, { kind: "list", items: [{ checked: true, blocks: [{}, { kind: "list", ordered: true, items: [{ blocks: [{}, { kind: "code", text: "four" }] }] }] }] }] },
        { blocks: [{ kind: "paragraph" }] },
      ],
    });
  });

  it("turns embeds into links", () => {
    expect(inlines("![[Compost#Layers]]")[0]).toMatchObject({ kind: "link", image: true, link: { kind: "note", linkpath: "Compost#Layers" } });
  });

  it("keeps line breaks", () => {
    expect(inlines("one\ntwo").map((one) => one.kind)).toEqual(["text", "break", "text"]);
    expect(inlines("one<br>two").map((one) => one.kind)).toEqual(["text", "break", "text"]);
  });

  it("turns HTML into text", () => {
    for (const html of ["<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "<iframe src='//x'></iframe>", "a <b>b</b>", "<!-- c -->", "<svg/onload=alert(1)>"]) {
      const blocks = readMarkdown(html);
      const kinds = words(blocks).match(/"kind":"(\w+)"/g) ?? [];
      expect(new Set(kinds)).toEqual(new Set(['"kind":"paragraph"', '"kind":"text"']));
    }
  });

  it("turns images into links that show their address", () => {
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

  it("does not nest links", () => {
    const [link] = inlines("[a [[Note]] https://example.org b](https://outer.example)");
    const inner = link?.kind === "link" ? JSON.stringify(link.children) : "";
    expect(inner).not.toContain('"link"');
  });

  it("parses deep, long and unfinished text quickly", () => {
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
      "$".repeat(6_000),
      "$a ".repeat(2_000),
      "$$a".repeat(1_999),
      "%%".repeat(2_999),
      "%% a ".repeat(1_201),
      "[^".repeat(700),
      "^[a ".repeat(1_000),
      "[^a]: ".repeat(1_000),
      "\n[^a]:".repeat(1_000),
      "> [!a] ".repeat(16),
      `${"a\n".repeat(2_000)}===`,
      "a\n==".repeat(1_500),
    ];
    for (const text of hostile) {
      const before = performance.now();
      const blocks = readMarkdown(text);
      expect(performance.now() - before, text.slice(0, 20)).toBeLessThan(400);
      expect(blocks.length).toBeGreaterThan(0);
    }
  });
});
