// Views: the content of leaves. Includes Obsidian's own views that a plugin meets: a note, the list of files,
// and the placeholder of a view that is not loaded or not registered.

import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { App } from "./app";
import { Component } from "./component";
import { TFile } from "./files";
import { Menu } from "./menus";
import type { WorkspaceLeaf } from "./workspace";

export interface ViewState {
  type: string;
  state?: Record<string, unknown>;
  active?: boolean;
  /** The title of its tab, stored with the layout. */
  title?: string;
}

export abstract class View extends Component {
  app: App;
  icon = "file";
  navigation = true;
  containerEl: HTMLElement;

  constructor(public leaf: WorkspaceLeaf) {
    super();
    this.app = leaf._app;
    this.containerEl = leaf._el.doc.createElement("div");
    this.containerEl.className = "workspace-leaf-content";
  }

  abstract getViewType(): string;
  abstract getDisplayText(): string;

  getIcon(): string {
    return this.icon;
  }

  getState(): Record<string, unknown> {
    return {};
  }

  async setState(state: unknown, result: { history: boolean }): Promise<void> {
    void [state, result];
  }

  getEphemeralState(): Record<string, unknown> {
    return {};
  }

  setEphemeralState(state: unknown): void {
    void state;
  }

  onResize(): void {
    return undefined;
  }

  protected async onOpen(): Promise<void> {
    return undefined;
  }

  protected async onClose(): Promise<void> {
    return undefined;
  }

  async _open(): Promise<void> {
    this.containerEl.dataset.type = this.getViewType();
    this.leaf._el.appendChild(this.containerEl);
    this.load();
    await this.onOpen();
  }

  async _close(): Promise<void> {
    await this.onClose();
    this.unload();
    this.containerEl.remove();
  }
}

export abstract class ItemView extends View {
  contentEl: HTMLElement;

  constructor(leaf: WorkspaceLeaf) {
    super(leaf);
    const header = this.containerEl.createDiv("view-header");
    header.createDiv({ cls: "view-header-title" });
    this.contentEl = this.containerEl.createDiv("view-content");
  }

  override async _open(): Promise<void> {
    await super._open();
    this._title();
  }

  _title(): void {
    this.containerEl.find(".view-header-title")?.setText(this.getDisplayText());
  }
}

export abstract class FileView extends ItemView {
  file: TFile | null = null;

  getDisplayText(): string {
    return this.file?.basename ?? "";
  }

  override getState(): Record<string, unknown> {
    return this.file === null ? {} : { file: this.file.path };
  }

  override async setState(state: unknown, result: { history: boolean }): Promise<void> {
    const { file } = state as { file?: string };
    await super.setState(state, result);
    const found = this.app.vault.getFileByPath(file ?? "");
    if (found === null) return;
    this.file = found;
    await this.onLoadFile(found);
    this._title();
  }

  abstract onLoadFile(file: TFile): Promise<void>;
}

/** What an editor's extensions know of the note that it shows. */
export const editorInfoField = StateField.define<MarkdownView | null>({
  create: () => null,
  update: (shown, change) => change.effects.find((one) => one.is(setInfo))?.value ?? shown,
});
const setInfo = StateEffect.define<MarkdownView>();

/** A note's text with a cursor in it. Lines and columns count from 0. */
export class Editor {
  constructor(private readonly view: EditorView) {}

  getValue(): string {
    return this.view.state.doc.toString();
  }

  getSelection(): string {
    const { from, to } = this.view.state.selection.main;
    return this.view.state.sliceDoc(from, to);
  }

  getCursor(side: "from" | "to" | "head" | "anchor" = "head"): { line: number; ch: number } {
    const { doc, selection } = this.view.state;
    const at = selection.main[side];
    const line = doc.lineAt(at);
    return { line: line.number - 1, ch: at - line.from };
  }

  setCursor(line: number, ch = 0): void {
    this.setSelection({ line, ch });
  }

  setSelection(from: { line: number; ch: number }, to = from): void {
    this.view.dispatch({ selection: { anchor: this.#offset(from), head: this.#offset(to) } });
  }

  #offset({ line, ch }: { line: number; ch: number }): number {
    return this.view.state.doc.line(line + 1).from + ch;
  }
}

export class MarkdownView extends FileView {
  editor: Editor;
  override icon = "file-text";
  readonly _view: EditorView;
  #mode: "source" | "preview" = "source";

  constructor(leaf: WorkspaceLeaf) {
    super(leaf);
    // Nothing is written from here: what is tried is the steward, not an editor.
    this._view = new EditorView({ parent: this.contentEl });
    this._configure();
    this.editor = new Editor(this._view);
    this.app._editors.add(this);
    this.register(() => {
      this.app._editors.delete(this);
      this._view.destroy();
    });
    this._view.contentDOM.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      const menu = new Menu();
      this.app.workspace.trigger("editor-menu", menu, this.editor, this);
      menu.showAtMouseEvent(event);
    });
  }

  /** Has the extensions of plugins as they are now. */
  _configure(): void {
    const { doc, selection } = this._view.state;
    const own = [editorInfoField.init(() => this), EditorState.readOnly.of(true), EditorView.lineWrapping, EditorView.contentAttributes.of({ "aria-label": "Note" })];
    this._view.setState(EditorState.create({ doc, selection, extensions: [own, [...this.app._extensions]] }));
  }

  save(): Promise<void> {
    return Promise.resolve();
  }

  getViewType(): string {
    return "markdown";
  }

  getMode(): "source" | "preview" {
    return this.#mode;
  }

  getViewData(): string {
    return this.editor.getValue();
  }

  override getState(): Record<string, unknown> {
    return { ...super.getState(), mode: this.#mode };
  }

  override async setState(state: unknown, result: { history: boolean }): Promise<void> {
    if ((state as { mode?: string }).mode !== undefined) this.#mode = (state as { mode: "source" | "preview" }).mode;
    await super.setState(state, result);
  }

  override setEphemeralState(state: unknown): void {
    const { line: wanted, subpath = "" } = (state ?? {}) as { line?: number; subpath?: string };
    const lines = this.editor.getValue().split("\n");
    const isNamed = (one: string): boolean => subpath !== "" && /^#+ /.test(one) && subpath === `#${one.replace(/^#+ /, "")}`;
    const line = wanted ?? lines.findIndex(isNamed);
    if (line < 0) return;
    this.editor.setCursor(line);
    this._view.dispatch({ scrollIntoView: true });
    this._view.focus();
  }

  async onLoadFile(file: TFile): Promise<void> {
    this.#show(await this.app.vault.read(file), 0);
    // An extension asks for the file of its note when it is first drawn.
    this._view.dispatch({ effects: setInfo.of(this) });
    this._configure();
  }

  #show(text: string, cursor?: number): void {
    const { doc, selection } = this._view.state;
    const anchor = Math.min(cursor ?? selection.main.anchor, text.length);
    const head = Math.min(cursor ?? selection.main.head, text.length);
    this._view.dispatch({ changes: { from: 0, to: doc.length, insert: text }, selection: { anchor, head } });
  }

  override onload(): void {
    const { vault } = this.app;
    this.registerEvent(
      vault.on("modify", (file: TFile) => {
        if (file === this.file) void this.#again(file);
      }),
    );
    this.registerEvent(vault.on("rename", (file: TFile) => file === this.file && this._title()));
    this.registerEvent(
      vault.on("delete", (file: TFile) => {
        if (file === this.file) void this.leaf.setViewState({ type: "empty" });
      }),
    );
  }

  async #again(file: TFile): Promise<void> {
    this.#show(await this.app.vault.read(file));
  }
}

/** The list of notes, for clicks. */
export class FileExplorerView extends ItemView {
  override icon = "folder-closed";
  override navigation = false;

  getViewType(): string {
    return "file-explorer";
  }

  getDisplayText(): string {
    return "Files";
  }

  protected override async onOpen(): Promise<void> {
    this.#draw();
    for (const name of ["create", "delete", "rename"]) this.registerEvent(this.app.vault.on(name, () => this.#draw()));
  }

  #draw(): void {
    this.contentEl.empty();
    const notes = this.app.vault.getMarkdownFiles().sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const file of notes) {
      const row = this.contentEl.createDiv({ cls: "nav-file-title", text: file.path.replace(/\.md$/, ""), attr: { "data-path": file.path } });
      row.addEventListener("click", () => void this.app.workspace.getLeaf(false).openFile(file, { active: true }));
      row.addEventListener("contextmenu", (event) => {
        event.preventDefault();
        const menu = new Menu();
        this.app.workspace.trigger("file-menu", menu, file, "file-explorer");
        menu.showAtMouseEvent(event);
      });
    }
  }
}

/** An empty tab. */
export class EmptyView extends ItemView {
  getViewType(): string {
    return "empty";
  }

  getDisplayText(): string {
    return "New tab";
  }
}

/** The placeholder of a view that was not shown since the start, or that no plugin registers now. */
export class StandInView extends ItemView {
  constructor(
    leaf: WorkspaceLeaf,
    readonly _state: ViewState,
    readonly _isDeferred: boolean,
  ) {
    super(leaf);
    if (!_isDeferred) this.contentEl.createDiv({ cls: "pane-empty", text: "Plugin no longer active" });
  }

  getViewType(): string {
    return this._state.type;
  }

  getDisplayText(): string {
    return this._isDeferred ? (this._state.title ?? this._state.type) : "Plugin no longer active";
  }

  override getState(): Record<string, unknown> {
    return this._state.state ?? {};
  }
}
