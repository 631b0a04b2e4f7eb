// Views: the content of leaves. Includes Obsidian's own views that a plugin meets: a note, the list of files,
// and the placeholder of a view that is not loaded or not registered.

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

/** A note's text with a cursor. Lines and columns count from 0. */
export class Editor {
  constructor(private readonly field: HTMLTextAreaElement) {}

  getValue(): string {
    return this.field.value;
  }

  getSelection(): string {
    return this.field.value.slice(this.field.selectionStart, this.field.selectionEnd);
  }

  getCursor(side: "from" | "to" | "head" | "anchor" = "head"): { line: number; ch: number } {
    const { value, selectionStart, selectionEnd } = this.field;
    const before = value.slice(0, side === "from" || side === "anchor" ? selectionStart : selectionEnd).split("\n");
    return { line: before.length - 1, ch: before.at(-1)?.length ?? 0 };
  }

  setCursor(line: number, ch = 0): void {
    this.setSelection({ line, ch });
  }

  setSelection(from: { line: number; ch: number }, to = from): void {
    this.field.setSelectionRange(this.#offset(from), this.#offset(to));
  }

  #offset({ line, ch }: { line: number; ch: number }): number {
    const before = this.field.value.split("\n").slice(0, line);
    return before.reduce((sum, one) => sum + one.length + 1, 0) + ch;
  }
}

export class MarkdownView extends FileView {
  editor: Editor;
  override icon = "file-text";
  readonly #field: HTMLTextAreaElement;
  #mode: "source" | "preview" = "source";

  constructor(leaf: WorkspaceLeaf) {
    super(leaf);
    this.#field = this.contentEl.createEl("textarea", { cls: "cm-content", attr: { "aria-label": "Note" } });
    // The stand-in does not save edits: the tests are about the steward, not an editor.
    this.#field.readOnly = true;
    this.editor = new Editor(this.#field);
    this.#field.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      const menu = new Menu();
      this.app.workspace.trigger("editor-menu", menu, this.editor, this);
      menu.showAtMouseEvent(event);
    });
  }

  getViewType(): string {
    return "markdown";
  }

  getMode(): "source" | "preview" {
    return this.#mode;
  }

  getViewData(): string {
    return this.#field.value;
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
    const lines = this.#field.value.split("\n");
    const isNamed = (one: string): boolean => subpath !== "" && /^#+ /.test(one) && subpath === `#${one.replace(/^#+ /, "")}`;
    const line = wanted ?? lines.findIndex(isNamed);
    if (line < 0) return;
    this.editor.setCursor(line);
    this.#field.scrollTop = line * 24;
    this.#field.focus();
  }

  async onLoadFile(file: TFile): Promise<void> {
    this.#field.value = await this.app.vault.read(file);
    this.#field.setSelectionRange(0, 0);
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
    const { selectionStart, selectionEnd } = this.#field;
    this.#field.value = await this.app.vault.read(file);
    this.#field.setSelectionRange(selectionStart, selectionEnd);
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
