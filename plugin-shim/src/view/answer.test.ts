import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Answer, Painter } from "./answer";
import type { Host } from "../host";
import { Scope } from "./scope";

/** A window whose frames and timers run when a test runs them; each read of the clock costs a little time. */
class Time {
  #frames: (() => void)[] = [];
  #timers: (() => void)[] = [];
  #clock = 0;
  readonly scope = new Scope(() => this.#window);
  cost = 0.1;

  readonly #window = {
    requestAnimationFrame: (call: () => void) => this.#frames.push(call),
    cancelAnimationFrame: () => undefined,
    setTimeout: (call: () => void) => this.#timers.push(call),
    clearTimeout: () => undefined,
  } as unknown as Window;

  now = (): number => (this.#clock += this.cost);

  frame(): number {
    const due = this.#frames.splice(0);
    due.forEach((call) => call());
    return due.length;
  }

  task(): number {
    const due = this.#timers.splice(0);
    due.forEach((call) => call());
    return due.length;
  }

  /** Runs everything that waits; returns the number of frames and tasks. */
  async all(): Promise<{ frames: number; tasks: number }> {
    const counted = { frames: 0, tasks: 0 };
    for (let round = 0; round < 10_000; round++) {
      const frames = this.frame();
      const tasks = frames > 0 ? 0 : this.task();
      await Promise.resolve();
      if (frames + tasks === 0) return counted;
      counted.frames += frames;
      counted.tasks += tasks;
    }
    throw new Error("it never ends");
  }
}

let time: Time;
beforeEach(() => (time = new Time()));
afterEach(() => time.scope.end());

function answer(math?: Host["math"], diagram?: Host["diagram"]): { answer: Answer; painter: Painter } {
  const painter = new Painter(time.scope, time.now, math, undefined, undefined, diagram);
  const made = new Answer(document, painter);
  document.body.appendChild(made.root);
  return { answer: made, painter };
}

const lines = (count: number): string => Array.from({ length: count }, (_, at) => `- item ${at}\n`).join("");
const items = (root: Element): (string | null)[] => [...root.querySelectorAll("li")].map((item) => item.textContent);
const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `item ${at}`);

describe("an answer", () => {
  it("shows arrived text in the next frame", () => {
    const { answer: one } = answer();
    one.set("One **two", false);
    time.frame();
    expect(one.root.textContent).toBe("One **two");
    one.set("One **two**\n\nthree", false);
    time.frame();
    expect(one.root.textContent).toBe("One twothree");
    expect(one.root.querySelectorAll("p")).toHaveLength(2);
  });

  it("is drawn completely from its end in many short tasks if it is long", async () => {
    time.cost = 0.5;
    const { answer: one } = answer();
    one.set(lines(2_000), true);
    while (items(one.root).length === 0) time.frame();
    expect(items(one.root)).toContain("item 1999");
    expect(items(one.root)).not.toContain("item 0");
    // Text that is not drawn yet reserves its height.
    const first = one.root.querySelector<HTMLElement>(".vs-group");
    expect(first?.style.minHeight).toMatch(/em$/);
    const { tasks } = await time.all();
    expect(tasks).toBeGreaterThan(2);
    expect(items(one.root)).toEqual(numbered(2_000));
    expect(first?.style.minHeight).toBe("");
    expect(one.root.classList.contains("is-long")).toBe(true);
  });

  it("has every piece exactly once, however it arrives and however slowly it is drawn", async () => {
    for (const cost of [0.1, 3, 50]) {
      time = new Time();
      time.cost = cost;
      const { answer: one } = answer();
      const text = lines(600);
      for (let at = 0; at < text.length; at += 500) {
        one.set(text.slice(0, at + 500), false);
        if (at % 3_000 === 0) time.frame();
        if (at % 2_000 === 0) time.task();
      }
      one.set(text, true);
      await time.all();
      expect(items(one.root), String(cost)).toEqual(numbered(600));
    }
  });

  it("is drawn at once if all of it is needed", () => {
    const { answer: one, painter } = answer();
    one.set(lines(2_000), true);
    while (time.frame() > 0);
    painter.finish(one.root);
    expect(items(one.root)).toEqual(numbered(2_000));
  });

  it("starts again with another text", async () => {
    const { answer: one } = answer();
    one.set(lines(500), true);
    await time.all();
    one.set("other", true);
    await time.all();
    expect(one.root.textContent).toBe("other");
    expect(one.root.classList.contains("is-long")).toBe(false);
  });
});

describe("formulas", () => {
  it("are drawn by the host when they are complete, one per task", async () => {
    const asked: [string, boolean][] = [];
    const { answer: one } = answer((tex, block) => {
      asked.push([tex, block]);
      const drawn = document.createElement("mjx-container");
      return Promise.resolve(drawn);
    });
    one.set("$a$ and $b$", false);
    await time.all();
    expect(asked).toEqual([]);
    expect(one.root.textContent).toBe("a and b");
    one.set("$a$ and $b$\n\n$$\nc\n$$", true);
    const { tasks } = await time.all();
    expect(asked).toEqual([["a", false], ["b", false], ["c", true]]);
    expect(tasks).toBeGreaterThanOrEqual(3);
    expect(one.root.querySelectorAll("mjx-container")).toHaveLength(3);
    expect(one.root.querySelector(".vs-math")).toBeNull();
  });

  it.each([
    String.raw`\href{javascript:alert(1)}{x}`,
    String.raw`\url{http://evil.example}`,
    String.raw`\style{position:fixed}{x}`,
    String.raw`\class{modal}{x}`,
    String.raw`\cssId{y}{x}`,
    String.raw`\require{html}x`,
    String.raw`\def\frac{x}`,
    String.raw`\gdef\frac{x}`,
    String.raw`\let\frac\sqrt`,
    String.raw`\newcommand{\x}{y}`,
    String.raw`\renewcommand{\frac}{y}`,
    String.raw`\newenvironment{matrix}{}{}`,
    String.raw`\renewenvironment{matrix}{}{}`,
    String.raw`\htmlData{a}{x}`,
    String.raw`\data{a=b}{x}`,
    String.raw`\mmlToken{mi}[style="background-image:url(http://evil.example/leak)"]{x}`,
    String.raw`\mmlToken{mi}[href="javascript:alert(1)"]{x}`,
    String.raw`\mmlToken{mglyph}[src="http://evil.example/picture.png"]{}`,
    String.raw`\bbox[background-image:url(http://evil.example/leak)]{x}`,
    String.raw`\bbox[position:fixed;top:0]{x}`,
    String.raw`\DeclareMathOperator{\sin}{evil}`,
    String.raw`\DeclarePairedDelimiter{\abs}{<}{>}`,
    String.raw`\definecolor{red}{rgb}{0,0,1}`,
    String.raw`\Newextarrow{\xrightarrow}{1,1}{8594}`,
    String.raw`\newtagform{a}{(}{)} \usetagform{a}`,
    String.raw`\setOptions{packages={}}`,
    String.raw`\mathtoolsset{}`,
    String.raw`\toggle{a}{b}\endtoggle`,
    String.raw`\texttip{a}{b}`,
    String.raw`\mathtip{a}{b}`,
    String.raw`\unicode[url(http://evil.example)]{65}`,
    String.raw`\label{a}`,
    String.raw`\ref{a}`,
    String.raw`\eqref{a}`,
    String.raw`\refeq{a}`,
    "x".repeat(3_000),
  ])("stay TeX if they do more than display: %s", async (tex) => {
    let asked = 0;
    const { answer: one } = answer(() => {
      asked += 1;
      return Promise.resolve(document.createElement("i"));
    });
    one.set(`$${tex}$`, true);
    await time.all();
    expect(asked).toBe(0);
    expect(one.root.querySelector(".vs-math")?.textContent).toBe(tex);
  });

  it.each([
    String.raw`a \newline b`,
    String.raw`\left\{ x \setminus y \right\} \longrightarrow \mathcal{D}`,
    String.raw`\set{x|y} \deg \cellcolor{red}`,
    String.raw`\textcolor{red}{x} \tag{1}`,
    String.raw`\begin{cases} a & b \end{cases}`,
  ])("are drawn if they only display: %s", async (tex) => {
    const asked: string[] = [];
    const { answer: one } = answer((given) => {
      asked.push(given);
      return Promise.resolve(document.createElement("i"));
    });
    one.set(`$${tex}$`, true);
    await time.all();
    expect(asked).toEqual([tex]);
  });

  /** The element that replaces `x` when MathJax has drawn the formula. */
  const drawn = async (html: string): Promise<{ root: Element; tex: string | null | undefined }> => {
    const { answer: one } = answer(() => {
      const made = document.createElement("span");
      made.className = "math math-inline is-loaded";
      made.appendChild(new DOMParser().parseFromString(html, "text/html").body.firstElementChild as Element);
      return Promise.resolve(made);
    });
    one.set("$x$", true);
    await time.all();
    return { root: one.root, tex: one.root.querySelector(".vs-math")?.textContent };
  };
  const math = (html: string): string => `<mjx-container class="MathJax" jax="CHTML"><mjx-math class=" MJX-TEX">${html}</mjx-math></mjx-container>`;
  const sign = '<mjx-mi class="mjx-i"><mjx-c class="mjx-c1D465 TEX-I"></mjx-c></mjx-mi>';

  it.each([
    '<mjx-mi style="background-image: url(http://evil.example/leak);">x</mjx-mi>',
    '<mjx-mi style="background-color: url(http://evil.example/leak);">x</mjx-mi>',
    '<mjx-mi style="color: red; background: image-set(\'http://evil.example/leak\' 1x);">x</mjx-mi>',
    '<mjx-mtext style="font-family: MJXZERO, url(http://evil.example);">x</mjx-mtext>',
    '<mjx-mstyle style="position: fixed; top: 0; left: 0;">x</mjx-mstyle>',
    '<mjx-mstyle style="position: absolute">x</mjx-mstyle>',
    '<mjx-mstyle style="position: relative fixed">x</mjx-mstyle>',
    '<mjx-mstyle style="z-index: 9">x</mjx-mstyle>',
    '<mjx-mstyle style="inset: 0">x</mjx-mstyle>',
    '<mjx-mstyle style="color: red; /* */ position: fixed">x</mjx-mstyle>',
    '<mjx-mstyle style="p\\osition: fixed">x</mjx-mstyle>',
    `<a href="javascript:alert(1)">${sign}</a>`,
    `<mjx-mrow href="http://evil.example">${sign}</mjx-mrow>`,
    `<mjx-mrow xlink:href="http://evil.example">${sign}</mjx-mrow>`,
    '<img src="http://evil.example/picture.png">',
    "<script>alert(1)</script>",
    "<iframe></iframe>",
    "<svg><image href='http://evil.example/picture.png'></image></svg>",
    '<mjx-mi onclick="alert(1)">x</mjx-mi>',
    '<mjx-mi class="mjx-i modal">x</mjx-mi>',
    '<mjx-mi class="vs-approval">x</mjx-mi>',
    '<mjx-mi id="y">x</mjx-mi>',
    '<mjx-mi data-url="http://evil.example">x</mjx-mi>',
    '<mjx-mi data-linkpath="x">x</mjx-mi>',
    '<mjx-assistive-mml><math><mi href="http://evil.example">x</mi></math></mjx-assistive-mml>',
    '<mjx-assistive-mml><math><mglyph src="http://evil.example/picture.png"></mglyph></math></mjx-assistive-mml>',
    '<mjx-assistive-mml><math><mi style="position:fixed">x</mi></math></mjx-assistive-mml>',
  ])("are not shown if the drawn elements do more: %s", async (html) => {
    const { root, tex } = await drawn(math(html));
    expect(tex).toBe("x");
    expect(root.querySelector("mjx-container")).toBeNull();
  });

  it.each([
    sign,
    '<mjx-mtext class="mjx-n" style="color: red;"><mjx-c class="mjx-c5C"></mjx-c></mjx-mtext>',
    '<mjx-mpadded style="border: 2px solid red; background-color: blue;"><mjx-block style="width: 1.081em; margin: 0.276em 0px; position: relative;"><mjx-rbox style="left: 0.276em; top: 0px; max-width: 1.081em;"></mjx-rbox></mjx-block></mjx-mpadded>',
    '<mjx-dstrike style="width: 0.7em; transform: rotate(-0.9rad) translateY(0.1em);"></mjx-dstrike>',
    '<mjx-mtd style="text-align: right; padding-right: 0px; border-top: 0.1em dashed;" data-cramped="true" id="mjx-eqn:1"></mjx-mtd>',
    '<mjx-mtext style="font-family: MJXZERO, serif;"><mjx-utext style="width: 10px;" variant="-explicitFont">A</mjx-utext></mjx-mtext>',
    '<mjx-assistive-mml unselectable="on" display="inline"><math xmlns="http://www.w3.org/1998/Math/MathML"><mi mathvariant="normal" data-mjx-texclass="ORD" class="MJX-tex-mathit">x</mi></math></mjx-assistive-mml>',
  ])("are shown if the drawn elements only display: %s", async (html) => {
    const { root, tex } = await drawn(math(html));
    expect(tex).toBeUndefined();
    expect(root.querySelector(".vs-formula mjx-math")?.innerHTML).toBe(html);
  });

  it("stay TeX if the host cannot draw them, and if it fails", async () => {
    const { answer: one } = answer();
    const { answer: two } = answer(() => Promise.reject(new Error("no")));
    for (const each of [one, two]) each.set("$x$", true);
    await time.all();
    for (const each of [one, two]) expect(each.root.querySelector(".vs-math")?.textContent).toBe("x");
  });
});

describe("Mermaid diagrams", () => {
  const fenced = (source: string): string => `\`\`\`mermaid\n${source}\n\`\`\`\n`;

  it("stand in the place of their source, which stays for the button that copies it", async () => {
    const asked: string[] = [];
    const { answer: one } = answer(undefined, (source) => {
      asked.push(source);
      return source.startsWith("graph") ? Promise.resolve(document.createElement("img")) : Promise.reject(new Error("no diagram"));
    });
    one.set(`${fenced("graph TD\n  a --> b")}\n${fenced("nonsense")}\n\`\`\`sh\nls\n\`\`\`\n`, true);
    await time.all();
    expect(asked.map((source) => source.trim()).sort()).toEqual(["graph TD\n  a --> b", "nonsense"]);
    expect(one.root.querySelectorAll("img")).toHaveLength(1);
    expect([...one.root.querySelectorAll("pre")].map((pre) => pre.hidden)).toEqual([true, false, false]);
  });

  it("are not drawn of a piece of a longer one", async () => {
    let asked = 0;
    const { answer: one } = answer(undefined, () => {
      asked += 1;
      return Promise.resolve(document.createElement("img"));
    });
    one.set(fenced(`graph TD\n${"  a --> b\n".repeat(150)}`), true);
    await time.all();
    expect(asked).toBe(0);
  });
});
