// The workspace: leaves in the main area, in the two sidebars and in separate windows.

import type { App } from "./app";
import { Events } from "./component";
import { augment, tellMigrated } from "./dom";
import type { TFile } from "./files";
import { setIcon } from "./icons";
import { EmptyView, FileView, MarkdownView, StandInView, type View, type ViewState } from "./views";

interface OpenState {
  active?: boolean;
  eState?: Record<string, unknown>;
}

let nextId = 1;

/** Leaves as tabs, one of them active. */
export class WorkspaceTabs extends Events {
  readonly containerEl: HTMLElement;
  readonly #headers: HTMLElement;
  readonly #body: HTMLElement;
  _leaves: WorkspaceLeaf[] = [];
  _current: WorkspaceLeaf | null = null;

  constructor(
    readonly parent: WorkspaceArea,
    into: HTMLElement,
  ) {
    super();
    this.containerEl = into.createDiv("workspace-tabs mod-top");
    this.#headers = this.containerEl.createDiv("workspace-tab-header-container");
    this.#body = this.containerEl.createDiv("workspace-tab-container");
  }

  _add(leaf: WorkspaceLeaf): void {
    this._leaves.push(leaf);
    leaf.parent = this;
    this.#body.appendChild(leaf._el);
    this._current ??= leaf;
    this._draw();
  }

  _take(leaf: WorkspaceLeaf): void {
    this._leaves = this._leaves.filter((one) => one !== leaf);
    leaf._el.remove();
    if (this._current === leaf) this._select(this._leaves.at(-1) ?? null);
    this._draw();
  }

  _select(leaf: WorkspaceLeaf | null): void {
    this._current = leaf;
    this._draw();
    if (leaf !== null && this.parent._isShown) void leaf.loadIfDeferred();
  }

  _draw(): void {
    this.#headers.empty();
    for (const leaf of this._leaves) {
      leaf._el.classList.toggle("is-front", leaf === this._current);
      const header = this.#headers.createDiv({ cls: "workspace-tab-header", attr: { "aria-label": leaf.getDisplayText() } });
      header.classList.toggle("is-active", leaf === this._current);
      setIcon(header.createSpan("workspace-tab-header-inner-icon"), leaf.view.getIcon());
      header.createSpan({ cls: "workspace-tab-header-inner-title", text: leaf.getDisplayText() });
      header.addEventListener("click", () => {
        this._select(leaf);
        this.parent._workspace.setActiveLeaf(leaf);
      });
    }
  }
}

/** The main area, a sidebar or a window. */
export class WorkspaceArea extends Events {
  readonly containerEl: HTMLElement;
  readonly _tabs: WorkspaceTabs;

  constructor(
    readonly _workspace: Workspace,
    into: HTMLElement,
    name: string,
    public win: Window = window,
    public collapsed = false,
  ) {
    super();
    this.containerEl = into.createDiv(`workspace-split ${name}`);
    this._tabs = new WorkspaceTabs(this, this.containerEl);
  }

  get doc(): Document {
    return this.win.document;
  }

  get _isShown(): boolean {
    return !this.collapsed;
  }

  collapse(): void {
    this.collapsed = true;
    this.containerEl.addClass("is-collapsed");
  }

  expand(): void {
    this.collapsed = false;
    this.containerEl.removeClass("is-collapsed");
    void this._tabs._current?.loadIfDeferred();
  }

  toggle(): void {
    if (this.collapsed) this.expand();
    else this.collapse();
  }
}

export class WorkspaceLeaf extends Events {
  readonly _el: HTMLElement;
  readonly _id = `leaf-${nextId++}`;
  parent!: WorkspaceTabs;
  view: View;
  _activeAt = 0;
  #ends: (() => void)[] = [];

  constructor(readonly _app: App) {
    super();
    this._el = createDiv("workspace-leaf");
    this.view = new EmptyView(this);
    this._el.appendChild(this.view.containerEl);
    const activated = (): void => {
      if (this.parent._leaves.includes(this)) _app.workspace.setActiveLeaf(this);
    };
    for (const name of ["pointerdown", "focusin"]) {
      this._el.addEventListener(name, activated);
      this.#ends.push(() => this._el.removeEventListener(name, activated));
    }
  }

  get isDeferred(): boolean {
    return this.view instanceof StandInView && this.view._isDeferred;
  }

  getViewState(): ViewState {
    return { type: this.view.getViewType(), state: this.view.getState() };
  }

  getDisplayText(): string {
    return this.view.getDisplayText();
  }

  async setViewState(state: ViewState, eState?: unknown): Promise<void> {
    if (this.view.getViewType() !== state.type || this.view instanceof StandInView) {
      const make = this._app._views.get(state.type);
      await this._show(make?.(this) ?? new StandInView(this, state, false));
    }
    await this.view.setState(state.state ?? {}, { history: false });
    if (eState !== undefined) this.view.setEphemeralState(eState);
    if (state.active === true) this._app.workspace.setActiveLeaf(this, { focus: true });
    this._changed();
  }

  async _show(view: View): Promise<void> {
    const before = this.view;
    this.view = view;
    await before._close();
    await view._open();
  }

  _changed(): void {
    this.parent._draw();
    this._app.workspace.trigger("layout-change");
  }

  async loadIfDeferred(): Promise<void> {
    const { view } = this;
    if (view instanceof StandInView && view._isDeferred) await this.setViewState(view._state);
  }

  async openFile(file: TFile, { active = true, eState }: OpenState = {}): Promise<void> {
    await this.setViewState({ type: "markdown", state: { file: file.path }, active }, eState);
    this._app.workspace._noteFile();
  }

  detach(): void {
    void this.view._close();
    for (const end of this.#ends.splice(0)) end();
    const { parent } = this;
    parent._take(this);
    this._app.workspace._left(this, parent.parent);
  }
}

export class Workspace extends Events {
  readonly containerEl: HTMLElement;
  readonly leftSplit: WorkspaceArea;
  readonly rootSplit: WorkspaceArea;
  readonly rightSplit: WorkspaceArea;
  readonly _windows: WorkspaceArea[] = [];
  layoutReady = false;
  /** Saved when Obsidian quits; nothing reads it before. */
  readonly requestSaveLayout = (): void => undefined;
  #active: WorkspaceLeaf | null = null;
  #activations = 0;
  #waiting: (() => unknown)[] = [];
  #file: TFile | null = null;

  constructor(
    private readonly app: App,
    into: HTMLElement,
  ) {
    super();
    this.containerEl = into.createDiv("workspace");
    this.leftSplit = new WorkspaceArea(this, this.containerEl, "mod-left-split mod-sidedock");
    this.rootSplit = new WorkspaceArea(this, this.containerEl, "mod-root");
    this.rightSplit = new WorkspaceArea(this, this.containerEl, "mod-right-split mod-sidedock", window, true);
    this.rightSplit.collapse();
  }

  onLayoutReady(call: () => unknown): void {
    if (this.layoutReady) call();
    else this.#waiting.push(call);
  }

  _ready(): void {
    this.layoutReady = true;
    for (const call of this.#waiting.splice(0)) call();
  }

  getLeaf(kind: boolean | "tab" | "split" | "window" = false): WorkspaceLeaf {
    if (kind === "window") return this.openPopoutLeaf();
    const recent = this.getMostRecentLeaf();
    if (kind === false && recent !== null && recent.view.navigation) return recent;
    const leaf = this._leafIn(this.rootSplit);
    this.rootSplit._tabs._select(leaf);
    return leaf;
  }

  getRightLeaf(): WorkspaceLeaf {
    return this._leafIn(this.rightSplit);
  }

  async ensureSideLeaf(
    type: string,
    side: "left" | "right",
    options: { active?: boolean; reveal?: boolean; state?: Record<string, unknown> } = {},
  ): Promise<WorkspaceLeaf> {
    const area = side === "left" ? this.leftSplit : this.rightSplit;
    let leaf = area._tabs._leaves.find((one) => one.view.getViewType() === type);
    if (leaf === undefined) {
      leaf = this._leafIn(area);
      await leaf.setViewState({ type, state: options.state });
    }
    if (options.reveal === true) await this.revealLeaf(leaf);
    if (options.active === true) this.setActiveLeaf(leaf, { focus: true });
    return leaf;
  }

  async revealLeaf(leaf: WorkspaceLeaf): Promise<void> {
    const area = leaf.parent.parent;
    if (area.collapsed) area.expand();
    leaf.parent._select(leaf);
    if (area.win !== window) area.win.focus();
    await leaf.loadIfDeferred();
  }

  setActiveLeaf(leaf: WorkspaceLeaf, { focus = false }: { focus?: boolean } = {}): void {
    leaf._activeAt = ++this.#activations;
    if (focus) leaf.parent._select(leaf);
    if (this.#active === leaf) return;
    this.#active = leaf;
    this.trigger("active-leaf-change", leaf);
    this._noteFile();
  }

  getMostRecentLeaf(root?: WorkspaceArea): WorkspaceLeaf | null {
    const areas = root === undefined ? [this.rootSplit, ...this._windows] : [root];
    const all = areas.flatMap((area) => area._tabs._leaves);
    return all.sort((a, b) => b._activeAt - a._activeAt)[0] ?? null;
  }

  getActiveViewOfType<T extends View>(type: abstract new (...given: never[]) => T): T | null {
    const view = this.#active?.view;
    return view instanceof type ? view : null;
  }

  getActiveFile(): TFile | null {
    const leaves = this._areas.flatMap((area) => area._tabs._leaves).filter(({ view }) => view instanceof FileView);
    const last = leaves.sort((a, b) => b._activeAt - a._activeAt)[0]?.view;
    return last instanceof FileView ? last.file : null;
  }

  /** Notifies listeners when another file is active than before. */
  _noteFile(): void {
    const file = this.getActiveFile();
    if (file === this.#file) return;
    this.#file = file;
    this.trigger("file-open", file);
  }

  iterateAllLeaves(each: (leaf: WorkspaceLeaf) => unknown): void {
    for (const area of this._areas) for (const leaf of [...area._tabs._leaves]) each(leaf);
  }

  getLeavesOfType(type: string): WorkspaceLeaf[] {
    const found: WorkspaceLeaf[] = [];
    this.iterateAllLeaves((leaf) => void (leaf.view.getViewType() === type && found.push(leaf)));
    return found;
  }

  detachLeavesOfType(type: string): void {
    for (const leaf of this.getLeavesOfType(type)) leaf.detach();
  }

  get _areas(): WorkspaceArea[] {
    return [this.rootSplit, this.leftSplit, this.rightSplit, ...this._windows];
  }

  _leafIn(area: WorkspaceArea): WorkspaceLeaf {
    const leaf = new WorkspaceLeaf(this.app);
    area._tabs._add(leaf);
    return leaf;
  }

  openPopoutLeaf(): WorkspaceLeaf {
    return this._leafIn(this.#window());
  }

  moveLeafToPopout(leaf: WorkspaceLeaf): WorkspaceArea {
    const area = this.#window();
    const from = leaf.parent;
    from._take(leaf);
    area._tabs._add(leaf);
    area._tabs._select(leaf);
    if (from.parent === this.rightSplit && from._leaves.length === 0) this.rightSplit.collapse();
    this.setActiveLeaf(leaf, { focus: true });
    tellMigrated(leaf._el);
    this.trigger("layout-change");
    return area;
  }

  /** Another window, with its own elements and constructors. */
  #window(): WorkspaceArea {
    const win = window.open("about:blank", "_blank", "popup,width=520,height=760");
    if (win === null) throw new Error("the window was not opened");
    augment(win as Window & typeof globalThis);
    const { document } = win;
    document.title = "Notes";
    for (const style of window.document.head.querySelectorAll("link[rel=stylesheet], style")) {
      document.head.appendChild(document.importNode(style, true));
    }
    document.body.className = `${window.document.body.className} is-popout-window`;
    const area = new WorkspaceArea(this, document.body, "mod-root", win);
    this._windows.push(area);
    const toFront = (): void => {
      Object.assign(window, { activeWindow: win, activeDocument: document });
    };
    win.addEventListener("focus", toFront);
    toFront();
    win.addEventListener("pagehide", () => this.#closed(area), { once: true });
    this.trigger("window-open", area, win);
    return area;
  }

  #closed(area: WorkspaceArea): void {
    const at = this._windows.indexOf(area);
    if (at < 0) return;
    for (const leaf of [...area._tabs._leaves]) leaf.detach();
    this._windows.splice(this._windows.indexOf(area), 1);
    Object.assign(window, { activeWindow: window, activeDocument: window.document });
    this.trigger("window-close", area, area.win);
  }

  /** Removes a leaf; a window without leaves closes. */
  _left(leaf: WorkspaceLeaf, area: WorkspaceArea): void {
    if (this.#active === leaf) this.#active = null;
    if (this._windows.includes(area) && area._tabs._leaves.length === 0 && !area.win.closed) area.win.close();
    this.trigger("layout-change");
    this._noteFile();
  }
}

/** Whether a view shows a note; here, since the modules import each other. */
export function isNote(view: View): view is MarkdownView {
  return view instanceof MarkdownView;
}
