/** A text that is drawn as it arrives: what is final once, what is last again, all of it in time. */

import { element } from "./dom";
import { drawSegment } from "./blocks";
import type { Scope } from "./scope";
import { Segments } from "./segments";

/** Milliseconds of one frame that are spent on texts. */
const BUDGET = 5;
/** Pieces from which a text is so long that what is not in sight is not laid out. */
const LONG = 16;
/** Pieces that are laid out, or left out, together: the browser watches each group. */
const GROUP = 16;

/** Draws the texts of a view, a little in each frame. */
export class Painter {
  private readonly waiting = new Set<Answer>();
  private release: (() => void) | null = null;

  constructor(
    private readonly scope: Scope,
    private readonly now: () => number,
  ) {}

  /** Has a text drawn in the next frame. */
  want(answer: Answer): void {
    this.waiting.add(answer);
    if (this.release || this.scope.ended) return;
    this.release = this.scope.frame(() => this.paint());
  }

  forget(answer: Answer): void {
    this.waiting.delete(answer);
  }

  private paint(): void {
    this.release = null;
    const end = this.now() + BUDGET;
    const inTime = (): boolean => this.now() < end;
    // The newest first: it is what a person looks at.
    for (const answer of [...this.waiting].reverse()) {
      if (!inTime()) break;
      if (answer.paint(inTime)) this.waiting.delete(answer);
    }
    if (this.waiting.size > 0) this.release = this.scope.frame(() => this.paint());
  }
}

/** One text in an element of its own. */
export class Answer {
  readonly root: HTMLElement;
  private segments = new Segments();
  private text = "";
  private isOver = false;
  private drawn = 0;
  private open: HTMLElement | null = null;
  private group: HTMLElement | null = null;

  constructor(
    near: Node,
    private readonly painter: Painter,
  ) {
    this.root = element(near, "div", { class: "vs-markdown" });
  }

  /** Shows this text; `over` where no more of it comes. What was drawn of it stays. */
  set(text: string, over: boolean): void {
    if (text === this.text && over === this.isOver) return;
    if (this.isOver || !text.startsWith(this.text)) this.restart();
    this.segments.write(text.slice(this.text.length));
    this.text = text;
    if (over && !this.isOver) {
      this.isOver = true;
      this.segments.finish();
    }
    this.painter.want(this);
  }

  /** Draws what fits; answers whether all of it is drawn. */
  paint(inTime: () => boolean): boolean {
    let drew = false;
    while (this.segments.hasSettled && (!drew || inTime())) {
      const [segment] = this.segments.take(1);
      if (!segment) break;
      this.open?.remove();
      this.open = null;
      this.place(drawSegment(this.root, segment));
      this.drawn += 1;
      drew = true;
      if (this.drawn === LONG) this.root.classList.add("is-long");
    }
    if (this.segments.hasSettled) return false;
    const open = this.segments.open();
    const made = open && drawSegment(this.root, open);
    if (made && this.open) this.open.replaceWith(made);
    else if (made) this.place(made);
    else this.open?.remove();
    this.open = made;
    return true;
  }

  end(): void {
    this.painter.forget(this);
  }

  /** Puts a piece at the end, in the group that it falls into. */
  private place(segment: HTMLElement): void {
    if (!this.group || this.group.childElementCount >= GROUP) {
      const continues = segment.classList.contains("is-continued");
      this.group = element(this.root, "div", { class: continues ? "vs-group is-continued" : "vs-group" });
      this.root.appendChild(this.group);
    }
    this.group.appendChild(segment);
  }

  private restart(): void {
    this.segments = new Segments();
    this.text = "";
    this.isOver = false;
    this.drawn = 0;
    this.open = null;
    this.group = null;
    this.root.classList.remove("is-long");
    while (this.root.lastChild) this.root.removeChild(this.root.lastChild);
  }
}
