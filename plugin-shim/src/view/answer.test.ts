import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Answer, Painter } from "./answer";
import type { Host } from "../host";
import { Scope } from "./scope";

/** A window whose frames and timers run when a test says so; each look at the clock costs a little. */
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

  /** Lets everything run that waits; answers in how many frames and tasks. */
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

function answer(math?: Host["math"]): { answer: Answer; painter: Painter } {
  const painter = new Painter(time.scope, time.now, math);
  const made = new Answer(document, painter);
  document.body.appendChild(made.root);
  return { answer: made, painter };
}

const lines = (count: number): string => Array.from({ length: count }, (_, at) => `- item ${at}\n`).join("");
const items = (root: Element): (string | null)[] => [...root.querySelectorAll("li")].map((item) => item.textContent);
const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `item ${at}`);

describe("an answer", () => {
  it("shows in the next frame what has come", () => {
    const { answer: one } = answer();
    one.set("One **two", false);
    time.frame();
    expect(one.root.textContent).toBe("One **two");
    one.set("One **two**\n\nthree", false);
    time.frame();
    expect(one.root.textContent).toBe("One twothree");
    expect(one.root.querySelectorAll("p")).toHaveLength(2);
  });

  it("is drawn from its end when it is long, in many short tasks, and whole", async () => {
    time.cost = 0.5;
    const { answer: one } = answer();
    one.set(lines(2_000), true);
    while (items(one.root).length === 0) time.frame();
    expect(items(one.root)).toContain("item 1999");
    expect(items(one.root)).not.toContain("item 0");
    // What is not drawn takes its room.
    const first = one.root.querySelector<HTMLElement>(".vs-group");
    expect(first?.style.minHeight).toMatch(/em$/);
    const { tasks } = await time.all();
    expect(tasks).toBeGreaterThan(2);
    expect(items(one.root)).toEqual(numbered(2_000));
    expect(first?.style.minHeight).toBe("");
    expect(one.root.classList.contains("is-long")).toBe(true);
  });

  it("has no piece twice and none missing, however it comes and however slow it is drawn", async () => {
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

  it("is drawn at once where all of it is needed", () => {
    const { answer: one, painter } = answer();
    one.set(lines(2_000), true);
    while (time.frame() > 0);
    painter.finish(one.root);
    expect(items(one.root)).toEqual(numbered(2_000));
  });

  it("begins anew with another text", async () => {
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
  it("are drawn by the host once they are whole, one in a task", async () => {
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
    String.raw`\style{position:fixed}{x}`,
    String.raw`\class{modal}{x}`,
    String.raw`\require{html}x`,
    String.raw`\def\frac{x}`,
    String.raw`\newcommand{\x}{y}`,
    String.raw`\htmlData{a}{x}`,
    "x".repeat(3_000),
  ])("stay as they were written where they do more than show: %s", async (tex) => {
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

  it("stay where the host cannot draw them, and where it fails", async () => {
    const { answer: one } = answer();
    const { answer: two } = answer(() => Promise.reject(new Error("no")));
    for (const each of [one, two]) each.set("$x$", true);
    await time.all();
    for (const each of [one, two]) expect(each.root.querySelector(".vs-math")?.textContent).toBe("x");
  });
});
