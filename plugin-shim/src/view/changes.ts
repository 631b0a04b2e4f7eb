/** The changes of a turn in one card: each file with its counts, its diff, and its undo button. */

import type { ChangeInfo, DiffChange, ToolsCallResult } from "../protocol";
import { callAgreed, errorData, messageOf, textOf } from "./agreed";
import { append, box, clear, element, setText, show, toggle } from "./dom";
import { changesOf, type ChangesEntry, type ShownSet } from "./timeline";
import { counted, folderOf, noteName, visible } from "./format";
import { drawCounts, drawDiff } from "./diff-view";
import { iconOf, type Parts, textButton } from "./part";
import type { EntryView } from "./entries";
import { putBackLine } from "./put-back";
import { resultView } from "./job-card";
import { errorText } from "../call-error";

/** The number of rows that are shown at first. */
const ROWS = 8;

/** The daemon's error code for an undo that would lose later changes. */
interface Refused {
  message: string;
  diff: string;
}

export function changesView(parts: Parts): EntryView<ChangesEntry> {
  const root = element(parts.root, "article", { class: "vs-entry vs-changes" });
  const title = element(root, "span", { class: "vs-card-title" });
  const counts = element(root, "span");
  const undo = textButton(root, "Undo", "vs-undo");
  const head = box(root, "vs-card-head", iconOf(parts, "file-pen-line"), title, counts, undo);
  const rows = element(root, "ul", { class: "vs-rows" });
  const more = textButton(root, "", "vs-more");
  const problem = resultView(root);
  root.append(head, rows, more, problem.root);

  const diffs = new Map<string, DiffChange>();
  const asked = new Set<string>();
  const opened = new Set<string>();
  const drawings = new Map<string, HTMLElement>();
  let all = false;
  let shown: ChangesEntry | null = null;
  let isOver = false;

  const draw = (): void => {
    if (!shown || isOver) return;
    const changes = changesOf(shown);
    const total = shown.sets.reduce((sum, set) => sum + set.info.total, 0);
    const isUndone = changes.length > 0 && changes.every((one) => one.undone);
    const files = changes.reduce((sum, { change }) => sum + (diffs.get(change.id)?.totalFiles ?? 0), 0);
    const within = files > 0 ? `, ${counted(files, "file")} in deleted folders` : "";
    setText(title, `${isUndone ? "Undone: " : ""}${counted(total, "change")}${within}`);
    root.setAttribute("aria-label", `${counted(total, "change")} made in this turn`);
    toggle(root, "is-undone", isUndone);
    setText(undo, isUndone ? "Redo" : "Undo");
    undo.setAttribute("aria-label", isUndone ? "Redo all of these changes" : "Undo all of these changes");
    const canRedo = shown.sets.every((set) => set.undoneBy !== undefined);
    show(undo, !isUndone || canRedo);
    clear(counts);
    const known = changes.map(({ change }) => diffs.get(change.id)).filter((one) => one !== undefined);
    if (known.length > 0) {
      const sum = (of: "added" | "removed"): number => known.reduce((lines, one) => lines + one[of], 0);
      counts.appendChild(drawCounts(root, { added: sum("added"), removed: sum("removed") }));
    }
    clear(rows);
    for (const { set, change, undone } of all ? changes : changes.slice(0, ROWS)) {
      rows.appendChild(drawRow(set, change, undone, changes.length > 1));
    }
    const left = total - Math.min(changes.length, all ? changes.length : ROWS);
    setText(more, all ? `and ${left} more, in the list of changes` : `Show ${left} more`);
    more.disabled = all;
    show(more, left > 0);
  };

  /** A diff, built once. The card's next drawing marks its undone hunks. */
  const drawn = (set: ShownSet, change: ChangeInfo, text: string, undone: boolean): HTMLElement => {
    const canPutBack = !undone && (change.action === "modified" || change.action === "moved");
    const key = `${change.id}/${text.length}/${canPutBack}`;
    let made = drawings.get(key);
    if (!made) {
      const where = { changeSet: set.info.id, path: change.path };
      made = drawDiff(root, text, canPutBack ? { above: (hunk) => putBackLine(parts, where, hunk) } : {});
      drawings.set(key, made);
    }
    return made;
  };

  const drawRow = (set: ShownSet, change: ChangeInfo, undone: boolean, withUndo: boolean): HTMLElement => {
    const row = element(root, "li", { class: "vs-row" });
    toggle(row, "is-undone", undone);
    const line = box(root, "vs-row-line");
    const where = change.from ? `${change.from} → ${change.path}` : change.path;
    const isNote = !change.action.startsWith("folder") && change.action !== "deleted" && !undone;
    const attributes = { title: where, dir: "auto", "data-path": isNote ? change.path : undefined };
    const name = element(root, isNote ? "a" : "span", {
      class: isNote ? "vs-row-name internal-link vs-link" : "vs-row-name",
      text: moved(change, noteName),
      attributes: isNote ? { ...attributes, role: "link", tabindex: 0 } : attributes,
    });
    const folder = moved(change, (path) => folderOf(path) || (change.from === undefined ? "" : "/"));
    const diff = diffs.get(change.id);
    const end = box(root, "vs-row-end");
    append(
      line,
      actionIcon(parts, change.action),
      element(root, "span", { class: "vs-hidden", text: `${change.action.replace("_", " ")}: ` }),
      name,
      folder !== "" && element(root, "span", { class: `vs-row-folder${change.from ? " is-move" : ""}`, text: folder, attributes: { dir: "auto" } }),
      undone && element(root, "span", { class: "vs-row-undone", text: "undone" }),
      end,
    );
    if (diff && diff.added + diff.removed > 0) end.appendChild(drawCounts(root, diff));
    row.appendChild(line);
    const hasFiles = diff?.files !== undefined && diff.files.length > 0;
    if (diff?.diff !== undefined || diff?.reason !== undefined || hasFiles) {
      const isOpen = opened.has(change.id);
      const button = textButton(root, hasFiles ? counted(diff.totalFiles ?? 0, "file") : "Diff", "vs-small");
      button.setAttribute("aria-expanded", String(isOpen));
      button.setAttribute("aria-label", hasFiles ? `${button.textContent} in ${change.path}` : `Diff of ${change.path}`);
      button.addEventListener("click", () => {
        if (!opened.delete(change.id)) opened.add(change.id);
        draw();
      });
      end.appendChild(button);
      if (isOpen && hasFiles) row.appendChild(drawFiles(row, diff));
      if (isOpen && diff.diff !== undefined) row.appendChild(drawn(set, change, diff.diff, undone));
      if (isOpen && diff.reason !== undefined) row.appendChild(element(row, "div", { class: "vs-aside", text: diff.reason }));
    }
    if (withUndo && !undone) {
      const button = textButton(root, "Undo", "vs-small");
      button.setAttribute("aria-label", `Undo the change of ${change.path}`);
      button.addEventListener("click", () => void takeBack([{ change: change.id }]));
      end.appendChild(button);
    }
    return row;
  };

  /** Requests the texts of change sets that are unknown or outdated. */
  const refresh = async (sets: ShownSet[]): Promise<void> => {
    for (const { info } of sets) {
      const name = `${info.id}/${info.total}`;
      if (asked.has(name)) continue;
      asked.add(name);
      const shownAs = new Map(sets.map((set) => [set, new Map(set.undoneChanges)]));
      try {
        const answer = await parts.connection.call("_vault/diff", { changeSet: info.id });
        for (const change of answer.changes) diffs.set(change.id, change);
        for (const set of sets) if (set.info.id === info.id) markUndone(set, answer.changes, shownAs.get(set));
        draw();
      } catch {
        // Without an answer the card shows no counts, and asks again at its next drawing.
        asked.delete(name);
      }
    }
  };

  const takeBack = async (targets: Record<string, string | number>[], force = false): Promise<void> => {
    problem.clear();
    undo.disabled = true;
    try {
      for (const target of targets) {
        const given = force ? { ...target, force } : target;
        const asks = { question: "Undo this?", action: "Undo" };
        const result = await callAgreed(parts, "undo", given, asks, { confirmed: force });
        if (result === null) return;
        if (!result.isError) continue;
        refused(target, { message: messageOf(result), diff: diffIn(result) }, force);
        return;
      }
    } catch (error) {
      problem.fail(errorText(error));
    } finally {
      undo.disabled = false;
    }
  };

  const refused = (target: Record<string, string | number>, why: Refused, wasForced: boolean): void => {
    const nodes: Node[] = [];
    if (why.diff !== "") nodes.push(drawDiff(root, why.diff, { isTaken: true }));
    if (!wasForced) {
      const button = textButton(root, "Undo anyway", "mod-warning");
      button.addEventListener("click", () => {
        const text = "Later edits will be replaced by the earlier text. They stay in the journal, and you can undo this again.";
        void parts.host.confirm(text, "Undo anyway").then((agreed) => {
          if (agreed) void takeBack([target], true);
        });
      });
      nodes.push(button);
    }
    problem.fail(why.message, ...nodes);
  };

  undo.addEventListener("click", () => {
    if (!shown) return;
    const isUndone = changesOf(shown).every((one) => one.undone);
    const sets = [...shown.sets].reverse();
    // A redo is an undo of the undo's change set.
    const ids = isUndone
      ? sets.map((set) => set.undoneBy)
      : sets.filter((set) => !set.undone).map((set) => set.info.id);
    const known = ids.filter((id) => id !== undefined);
    void takeBack(known.map((id) => ({ change_set: id })));
  });
  more.addEventListener("click", () => {
    all = true;
    draw();
  });
  return {
    root,
    update(entry) {
      // Of a conversation that was reloaded, the last known state is shown until the daemon answers.
      if (entry !== shown) {
        asked.clear();
        for (const set of entry.sets) keepUndone(set, shown?.sets.find(({ info }) => info.id === set.info.id));
      }
      shown = entry;
      draw();
      void refresh(entry.sets);
    },
    end() {
      isOver = true;
    },
  };
}

/** Marks the changes that were undone in the same set when it was last shown. */
function keepUndone(set: ShownSet, before?: ShownSet): void {
  for (const [change, by] of before?.undoneChanges ?? []) set.undoneChanges.set(change, by);
}

/**
 * Takes over which changes of a set are undone: a conversation's history does not say it of a single one. A change
 * that was undone since the request, when `shownAs` was known, stays so.
 */
function markUndone(set: ShownSet, changes: DiffChange[], shownAs: Map<string, number> = new Map()): void {
  for (const [id, by] of shownAs) if (set.undoneChanges.get(id) === by) set.undoneChanges.delete(id);
  for (const { id, undoneBy } of changes) if (undoneBy !== undefined) set.undoneChanges.set(id, undoneBy);
  const by = new Set(set.undoneChanges.values());
  if (set.undone && by.size === 1) [set.undoneBy] = by;
}

/** The files of a deleted folder. */
function drawFiles(near: Node, { files = [], totalFiles = 0 }: DiffChange): HTMLElement {
  const rows = element(near, "ul", { class: "vs-files", attributes: { tabindex: 0, "aria-label": "Files" } });
  const line = (text: string): HTMLElement => element(rows, "li", { text: visible(text), attributes: { dir: "auto" } });
  rows.append(...files.map(line));
  if (totalFiles > files.length) rows.append(line(`and ${totalFiles - files.length} more`));
  return rows;
}

/** A part of a changed file's path, with its value before and after if they differ. */
function moved({ from, path }: Pick<ChangeInfo, "from" | "path">, of: (path: string) => string): string {
  const [before, after] = [of(from ?? path), of(path)];
  return before === after ? after : `${before} → ${after}`;
}

export function actionIcon(parts: Parts, action: string): HTMLElement {
  const icons: Record<string, string> = {
    created: "file-plus",
    write: "file-pen-line",
    modified: "file-pen-line",
    moved: "arrow-right",
    move: "arrow-right",
    deleted: "trash",
    delete: "trash",
    restored: "undo-2",
    restore: "undo-2",
    folder_made: "folder-plus",
    create_folder: "folder-plus",
    folder_removed: "folder-minus",
    remove_folder: "folder-minus",
  };
  return iconOf(parts, icons[action] ?? "file-text", `vs-icon vs-action-${action.replace("_", "-")}`);
}

/** The changes that an undo would lose: in the error's data, or in its text. */
function diffIn(result: ToolsCallResult): string {
  const { diff } = errorData(result);
  if (typeof diff === "string") return diff;
  const text = textOf(result);
  const at = text.search(/^--- .*\n\+\+\+ /m);
  return at < 0 ? "" : text.slice(at);
}
