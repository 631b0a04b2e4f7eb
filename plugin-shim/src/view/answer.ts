/** A text that is drawn as it arrives: final pieces once, the last piece repeatedly, all within a time limit. */

import { box, clear } from "./dom";
import { drawSegment } from "./blocks";
import { loadCards } from "./lazy";
import { isHarmless, mayDraw } from "./formula";
import type { Host } from "../host";
import { warmUp } from "./markdown";
import type { Scope } from "./scope";
import { CODE_LINES, type Segment, Segments } from "./segments";

/** Milliseconds of a frame for drawing visible text, */
const BUDGET = 4;
/** and the maximum number of lines, since their layout in the same frame takes longer than drawing. */
const FRAME_LINES = 64;
/** Milliseconds of a task between frames for drawing text that is not visible. */
const FAR_BUDGET = 6;
/** Characters that are segmented between two reads of the clock. */
const READ = 8_000;
/**
 * The maximum pieces, lines and characters of a group. The browser lays out, or skips, a group as a whole, and watches
 * each group.
 */
const PIECES = 16;
const LINES = 48;
const CHARACTERS = 4_000;
/** The number of groups at the end that are drawn within frames: about four screens. */
const NEAR = 3;

/** Whether there is time left after `lines` more drawn lines. */
type InTime = (lines?: number) => boolean;

/** Draws the texts of a view: the end of each in frames, the rest between frames. */
export class Painter {
  readonly #near = new Set<Answer>();
  readonly #far = new Set<Answer>();
  /** Formulas to draw, code to highlight and links to check. */
  readonly #later: HTMLElement[] = [];
  /** Whether a frame is requested, and whether a task is. */
  #inFrame = false;
  #inTask = false;

  readonly #scope: Scope;
  readonly #now: () => number;
  readonly #math: Host["math"];
  readonly #icon: Host["icon"] | undefined;
  /** Checks a link to a note. */
  readonly #link: ((link: HTMLElement) => void) | undefined;
  readonly #diagram: Host["diagram"];

  constructor(
    scope: Scope,
    now: () => number,
    math: Host["math"],
    icon?: Host["icon"],
    link?: (link: HTMLElement) => void,
    diagram?: Host["diagram"],
  ) {
    this.#scope = scope;
    this.#now = now;
    this.#math = math;
    this.#icon = icon;
    this.#link = link;
    this.#diagram = diagram;
  }

  /** Prepares the first drawing before any text arrives. */
  warmUp(): void {
    const steps = warmUp();
    const step = (): void => {
      const inTime = this.#within(FAR_BUDGET);
      do if (steps.next().done === true) return;
      while (inTime());
      this.#scope.after(0, step);
    };
    this.#scope.frame(() => this.#scope.after(0, step));
  }

  /** Draws a text in the next frame. */
  want(answer: Answer): void {
    this.#near.add(answer);
    this.#plan();
  }

  /** After a final piece is drawn: schedules its slow parts. */
  drew(piece: HTMLElement): void {
    const later = ["[data-language]", this.#math && ".vs-math", this.#link && "[data-linkpath]"].filter(Boolean).join();
    this.#later.push(...piece.querySelectorAll<HTMLElement>(later));
    for (const one of piece.querySelectorAll<HTMLElement>("[data-icon]")) this.#icon?.(one, one.dataset["icon"] ?? "");
  }

  /** Draws the complete text that contains an element now. */
  finish(within: Element): void {
    for (const answer of this.#far) if (answer.root.contains(within)) answer.fill(() => true);
  }

  forget(answer: Answer): void {
    this.#near.delete(answer);
    this.#far.delete(answer);
  }

  #plan(): void {
    if (this.#scope.ended) return;
    if (this.#near.size > 0) {
      if (!this.#inFrame) this.#scope.frame(() => this.#paint());
      this.#inFrame = true;
    } else if (this.#far.size + this.#later.length > 0) {
      if (!this.#inTask) this.#scope.after(0, () => this.#fill());
      this.#inTask = true;
    }
  }

  #paint(): void {
    this.#inFrame = false;
    const inTime = this.#within(BUDGET, FRAME_LINES);
    // The newest text first: a person looks at it.
    for (const answer of [...this.#near].reverse()) {
      if (answer.paint(inTime)) {
        this.#near.delete(answer);
        if (answer.waits) this.#far.add(answer);
      }
      if (!inTime()) break;
    }
    this.#plan();
  }

  #fill(): void {
    this.#inTask = false;
    const inTime = this.#within(FAR_BUDGET);
    for (const answer of [...this.#far].reverse()) {
      if (answer.fill(inTime)) this.#far.delete(answer);
      if (!inTime()) break;
    }
    // One formula or code block may take as long as a whole piece.
    const later = inTime() ? this.#later.shift() : undefined;
    if (later?.isConnected) {
      if (later.classList.contains("vs-math")) void this.#drawMath(later);
      else if (later.dataset["linkpath"] !== undefined) this.#link?.(later);
      else if (this.#diagram && later.dataset["language"] === "mermaid") void this.#drawDiagram(later);
      // Code without colours is still readable.
      else void loadCards().then(({ highlight }) => highlight(later), () => undefined);
    }
    this.#plan();
  }

  async #drawMath(formula: HTMLElement): Promise<void> {
    const tex = formula.textContent ?? "";
    if (!mayDraw(tex)) return;
    const isBlock = formula.classList.contains("is-block");
    try {
      const drawn = await this.#math?.(tex, isBlock);
      if (!drawn || !isHarmless(drawn)) return;
      // CSS that moves or enlarges parts of a formula must not reach beyond it.
      drawn.classList.add(isBlock ? "vs-formula-block" : "vs-formula");
      formula.replaceWith(drawn);
    } catch {
      // A failed formula is shown as TeX.
    }
  }

  /** Replaces a diagram's source by the diagram; the source can still be copied. */
  async #drawDiagram(code: HTMLElement): Promise<void> {
    const source = code.textContent ?? "";
    // A piece of a longer diagram may be a valid diagram, but a different one.
    if (source.split("\n").length >= CODE_LINES || code.closest(".vs-segment.is-continued")) return;
    const drawn = await this.#diagram?.(source).catch(() => undefined);
    const pre = code.parentElement;
    if (!drawn || !pre) return;
    pre.before(drawn);
    pre.hidden = true;
  }

  #within(milliseconds: number, lines = Infinity): InTime {
    const end = this.#now() + milliseconds;
    let left = lines;
    return (drawn = 0) => {
      left -= drawn;
      return left > 0 && this.#now() < end;
    };
  }
}

/** Pieces in one element. */
interface Group {
  root: HTMLElement;
  /** The pieces that are not drawn yet. */
  waiting: Segment[];
  pieces: number;
  lines: number;
  characters: number;
}

/** One text in its own element. */
export class Answer {
  readonly root: HTMLElement;
  #segments = new Segments();
  #text = "";
  #read = 0;
  #isOver = false;
  #isFinished = false;
  #groups: Group[] = [];
  /** The groups before this one are drawn. */
  #drawnTo = 0;
  #open: HTMLElement | null = null;

  readonly #painter: Painter;

  constructor(
    near: Node,
    painter: Painter,
  ) {
    this.#painter = painter;
    this.root = box(near, "vs-markdown");
  }

  /** Shows this text; `over` if it is complete. Drawn pieces stay. */
  set(text: string, over: boolean): void {
    if (text === this.#text && over === this.#isOver) return;
    if (this.#isOver || !text.startsWith(this.#text)) this.#restart();
    this.#text = text;
    this.#isOver = over;
    this.#painter.want(this);
  }

  /** Whether a group far from the end is not drawn yet. */
  get waits(): boolean {
    return this.#groups.some((group, at) => at >= this.#drawnTo && group.waiting.length > 0);
  }

  /** Draws the end while there is time; returns whether it is complete. */
  paint(inTime: InTime): boolean {
    if (!this.#cut(inTime)) return false;
    this.#closed();
    const first = Math.max(0, this.#groups.length - NEAR);
    for (let at = this.#groups.length - 1; at >= first; at--) {
      const group = this.#groups[at];
      if (group && !this.#draw(group, inTime)) return false;
    }
    const open = this.#segments.open();
    if (open) {
      this.#open = drawSegment(this.root, open);
      this.#place(open.continues).root.appendChild(this.#open);
    }
    return true;
  }

  /** Draws the groups far from the end; returns whether all are complete. */
  fill(inTime: InTime): boolean {
    for (let at = this.#groups.length - 1; at >= this.#drawnTo; at--) {
      const group = this.#groups[at];
      if (group && !this.#draw(group, inTime)) return false;
    }
    this.#drawnTo = Math.max(0, this.#groups.length - 1);
    return true;
  }

  end(): void {
    this.#painter.forget(this);
  }

  /** Segments the arrived text into groups; returns whether all of it is segmented. */
  #cut(inTime: InTime): boolean {
    while (this.#read < this.#text.length) {
      const to = Math.min(this.#text.length, this.#read + READ);
      this.#segments.write(this.#text.slice(this.#read, to));
      this.#read = to;
      if (!inTime() && to < this.#text.length) return false;
    }
    if (this.#isOver && !this.#isFinished) {
      this.#isFinished = true;
      this.#segments.finish();
    }
    for (const segment of this.#segments.take()) {
      const group = this.#place(segment.continues);
      group.waiting.push(segment);
      group.pieces += 1;
      group.lines += linesOf(segment.text);
      group.characters += segment.text.length;
    }
    return true;
  }

  /** Draws the waiting pieces of a group; returns whether all of them are drawn. */
  #draw(group: Group, inTime: InTime): boolean {
    if (group.waiting.length === 0) return true;
    for (let segment = group.waiting.shift(); segment; segment = group.waiting.shift()) {
      this.#painter.drew(group.root.appendChild(drawSegment(this.root, segment)));
      const hasTime = inTime(linesOf(segment.text));
      if (group.waiting.length > 0 && !hasTime) return false;
    }
    group.root.style.removeProperty("min-height");
    return inTime();
  }

  /** The group of the next piece. */
  #place(continues: boolean): Group {
    const last = this.#groups[this.#groups.length - 1];
    if (last && last.pieces < PIECES && last.lines < LINES && last.characters < CHARACTERS) return last;
    const root = box(this.root, continues ? "vs-group is-continued" : "vs-group");
    const group = { root, waiting: [], pieces: 0, lines: 0, characters: 0 };
    if (last) estimate(last);
    this.#groups.push(group);
    if (this.#groups.length === NEAR) this.root.classList.add("is-long");
    this.root.appendChild(root);
    return group;
  }

  #closed(): void {
    this.#open?.remove();
    this.#open = null;
  }

  #restart(): void {
    this.#segments = new Segments();
    this.#read = 0;
    this.#isFinished = false;
    this.#groups = [];
    this.#drawnTo = 0;
    this.#open = null;
    this.root.classList.remove("is-long");
    clear(this.root);
  }
}

/** Reserves an estimated height for a group that is not laid out. */
function estimate(group: Group): void {
  const height = `${Math.round(Math.max(group.lines, group.characters / 50) * 1.6)}em`;
  group.root.style.containIntrinsicBlockSize = `auto ${height}`;
  if (group.waiting.length > 0) group.root.style.minHeight = height;
}

function linesOf(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}
