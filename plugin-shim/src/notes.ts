// The notes that are open in Obsidian.

import { MarkdownView, normalizePath, TFile, type App, type WorkspaceLeaf } from "obsidian";
import { CallError } from "./call-error";
import type { OpenOptions } from "./host";
import type { ActiveNote } from "./protocol";

/** The maximum length of a selection that is sent. */
const MOST_SELECTED = 100_000;

/** The active note, or the last active one, with its selected text. */
export function activeNote(app: App): ActiveNote | null {
  const view = noteView(app);
  const path = view?.file?.path ?? app.workspace.getActiveFile()?.path;
  if (path === undefined) return null;
  // A note in reading view has no cursor.
  if (view === null || view.getMode() !== "source") return { path };
  const { editor } = view;
  const note: ActiveNote = { path, line: editor.getCursor().line + 1 };
  const text = editor.getSelection();
  if (text !== "") {
    note.selection = {
      text: text.slice(0, MOST_SELECTED),
      startLine: editor.getCursor("from").line + 1,
      endLine: editor.getCursor("to").line + 1,
    };
  }
  return note;
}

/**
 * The view of the active note. While the chat has the focus: the last one in the main area or in another
 * window; if the chat is in its own window, the last one in the main area.
 */
function noteView({ workspace }: App): MarkdownView | null {
  const active = workspace.getActiveViewOfType(MarkdownView);
  if (active !== null) return active;
  for (const leaf of [workspace.getMostRecentLeaf(), workspace.getMostRecentLeaf(workspace.rootSplit)]) {
    if (leaf?.view instanceof MarkdownView) return leaf.view;
  }
  return null;
}

/** Opens a file, in its own tab if it is open already. Throws if Obsidian cannot find it. */
export async function openFile(app: App, path: string, options: OpenOptions = {}): Promise<void> {
  const file = app.vault.getAbstractFileByPath(normalizePath(path));
  if (!(file instanceof TFile)) throw unknownFile(path);
  const { workspace } = app;
  const leaf =
    options.newLeaf === true
      ? workspace.getLeaf("tab")
      : (leafOf(app, file.path) ?? workspace.getLeaf(false));
  // Obsidian counts lines from 0.
  const { line, subpath } = options;
  const eState = line !== undefined ? { line: line - 1 } : subpath ? { subpath } : undefined;
  await leaf.openFile(file, { active: true, eState });
  await workspace.revealLeaf(leaf);
}

/** Waits for a file that another program wrote, until Obsidian notices it. */
export function fileAppears(
  app: App,
  path: string,
  milliseconds: number,
  signal: AbortSignal,
): Promise<void> {
  const wanted = normalizePath(path);
  if (app.vault.getAbstractFileByPath(wanted) !== null) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const over = (): void => {
      app.vault.offref(created);
      window.clearTimeout(timer);
      signal.removeEventListener("abort", givenUp);
    };
    const givenUp = (): void => {
      over();
      reject(unknownFile(path));
    };
    const created = app.vault.on("create", (file) => {
      if (file.path !== wanted) return;
      over();
      resolve();
    });
    const timer = window.setTimeout(givenUp, milliseconds);
    signal.addEventListener("abort", givenUp);
  });
}

function leafOf(app: App, path: string): WorkspaceLeaf | null {
  let found: WorkspaceLeaf | null = null;
  app.workspace.iterateAllLeaves((leaf) => {
    // The view state also has the file of a view that is not loaded yet.
    if (leaf.getViewState().state?.file === path) found ??= leaf;
  });
  return found;
}

function unknownFile(path: string): CallError {
  const message = `Obsidian cannot find \`${path}\``;
  return new CallError(message, 0, "not_found", true, "Obsidian may not have noticed a new file yet; try again");
}
