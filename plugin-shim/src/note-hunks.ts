// Proposed edits as hunks in the open note: the lines to remove are marked, the new lines are shown below them, each hunk with
// "Keep" and "Undo". Only the daemon changes the note itself, once a person keeps a hunk.

import { type EditorState, type Extension, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, WidgetType } from "@codemirror/view";
import { editorInfoField } from "obsidian";
import { errorText } from "./call-error";
import type { Proposals } from "./proposals";
import type { ProposalPart, WaitingProposals } from "./protocol";
import { type DiffLine, parseDiff } from "./view/diff";
import { box, element } from "./view/dom";
import { visible } from "./view/format";
import { placed } from "./view/hunks";
import { textButton } from "./view/part";

/** A hunk in a note, and the proposal that it belongs to. */
interface NoteHunk {
  waiting: WaitingProposals;
  part: ProposalPart;
  lines: DiffLine[];
}

/** The hunks that wait for the note at `path`. */
function hunksFor({ waiting }: Proposals, path: string): NoteHunk[] {
  return waiting.flatMap((one) =>
    (one.proposals ?? []).flatMap(({ number: proposal, changes }) =>
      changes.filter((change) => change.path === path).flatMap(({ hunks = [] }) =>
        hunks.map(({ number: hunk, diff }) => ({ waiting: one, part: { proposal, hunk }, lines: parseDiff(diff).lines })),
      ),
    ),
  );
}

/** Decides on a hunk, with words for the person where that fails. */
type Decide = (hunk: NoteHunk, keep: boolean, view: EditorView) => Promise<void>;

/** The lines that a hunk adds, and its buttons. */
class HunkWidget extends WidgetType {
  readonly #hunk: NoteHunk;
  readonly #decide: Decide;

  constructor(hunk: NoteHunk, decide: Decide) {
    super();
    this.#hunk = hunk;
    this.#decide = decide;
  }

  override eq(other: HunkWidget): boolean {
    const known = ({ waiting: { sessionId, turn }, part, lines }: NoteHunk): string => JSON.stringify([sessionId, turn, part, lines]);
    return known(this.#hunk) === known(other.#hunk);
  }

  override toDOM(view: EditorView): HTMLElement {
    const near = view.dom;
    const buttons = [true, false].map((keep) => {
      const button = textButton(near, keep ? "Keep" : "Undo", keep ? "mod-cta" : "");
      button.setAttribute("aria-label", `${keep ? "Keep" : "Undo"} this proposed change`);
      button.addEventListener("click", () => {
        buttons.forEach((one) => (one.disabled = true));
        void this.#decide(this.#hunk, keep, view).finally(() => buttons.forEach((one) => (one.disabled = false)));
      });
      return button;
    });
    const added = this.#hunk.lines.flatMap((line) => {
      if (line.kind !== "added") return [];
      const [from, to] = line.words ?? [0, 0];
      const word = element(near, "span", { class: "vault-steward-word", text: visible(line.text.slice(from, to)) });
      return [element(near, "div", { class: "vault-steward-added", attributes: { dir: "auto" } }, visible(line.text.slice(0, from)), word, visible(line.text.slice(to)))];
    });
    const bar = box(near, "vault-steward-hunk-bar", ...buttons);
    return element(near, "div", { class: "vault-steward-hunk", attributes: { role: "group", "aria-label": "Proposed change" } }, ...added, bar);
  }

  /** The buttons are the person's, not the editor's. */
  override ignoreEvent(): boolean {
    return true;
  }
}

const redraw = StateEffect.define<null>();

/** The extension of every editor. */
export function noteHunks(proposals: Proposals, onChange: (listener: () => void) => () => void, notice: (text: string) => void): Extension {
  const decide: Decide = async ({ waiting, part }, keep, view) => {
    try {
      // Saves unsaved text first: the daemon compares the hunk with the file.
      const info = view.state.field(editorInfoField, false) as { save?(): Promise<void> } | undefined;
      await info?.save?.();
      if (!keep) return await proposals.reject(waiting, [part]);
      const { failed } = await proposals.apply(waiting, [part]);
      if (failed !== undefined) notice(failed);
    } catch (error) {
      notice(errorText(error));
    }
  };

  const draw = (state: EditorState): DecorationSet => {
    const path = state.field(editorInfoField, false)?.file?.path;
    const hunks = path === undefined ? [] : hunksFor(proposals, path);
    if (hunks.length === 0) return Decoration.none;
    const { doc } = state;
    const text = doc.toString().split("\n");
    const made: Range<Decoration>[] = [];
    for (const hunk of hunks) {
      const start = placed(hunk.lines, text);
      // These lines have changed since, so the hunk is shown only in the chat.
      if (start === null) continue;
      let at = start;
      let from: number | null = null;
      let end = 0;
      for (const line of hunk.lines) {
        if (line.kind === "added") {
          from ??= at;
          end = Math.max(end, at);
        }
        if (line.kind !== "same" && line.kind !== "removed") continue;
        if (line.kind === "removed") {
          const { from: begin } = doc.line(at + 1);
          made.push(Decoration.line({ class: "vault-steward-removed" }).range(begin));
          const [first, last] = line.words ?? [0, 0];
          if (last > first) made.push(Decoration.mark({ class: "vault-steward-word" }).range(begin + first, begin + last));
          from ??= at;
          end = at + 1;
        }
        at++;
      }
      // Below the last line that goes, or where the new ones come.
      const place = end === 0 ? 0 : doc.line(end).to;
      made.push(Decoration.widget({ widget: new HunkWidget(hunk, decide), block: true, side: end === 0 ? -1 : 1 }).range(place));
    }
    return Decoration.set(made, true);
  };

  const field = StateField.define<DecorationSet>({
    create: draw,
    update: (drawn, change) => (change.docChanged || change.effects.some((one) => one.is(redraw)) ? draw(change.state) : drawn),
    provide: (of) => EditorView.decorations.from(of),
  });
  const watcher = ViewPlugin.define((view) => {
    const end = onChange(() => view.dispatch({ effects: redraw.of(null) }));
    return { destroy: end };
  });
  return [field, watcher];
}
