// The chat's host in Obsidian.

import {
  ConfirmationModal,
  FileSystemAdapter,
  finishRenderMath,
  loadMathJax,
  loadMermaid,
  Notice,
  parseLinktext,
  Platform,
  renderMath,
  setIcon,
  type App,
} from "obsidian";
import { DEFAULT_ADDRESS } from "./address";
import { errorText } from "./call-error";
import type { Unsubscribe } from "./connection";
import type { ActiveNote, Host, OpenOptions } from "./host";
import { activeNote, openFile } from "./notes";
import { openTimeMachine } from "./time-machine-view";
import { setWords } from "./view/part";

/** The number of drawn diagrams: each needs a unique id. */
let diagrams = 0;

const USUAL = DEFAULT_ADDRESS.slice(DEFAULT_ADDRESS.lastIndexOf(":") + 1);

/** Implements `Host` with Obsidian's API. */
export class ObsidianHost implements Host {
  readonly kind = "obsidian";

  readonly #app: App;
  readonly #address: () => string;
  /** `address` returns the daemon's address. */
  constructor(
    app: App,
    address: () => string,
  ) {
    this.#app = app;
    this.#address = address;
  }

  openNote(path: string, options?: OpenOptions): void {
    openFile(this.#app, path, options).catch((error: unknown) => {
      this.notice(errorText(error));
    });
  }

  openTimeMachine(path?: string): void {
    openTimeMachine(this.#app, path).catch((error: unknown) => this.notice(String(error)));
  }

  openExternal(url: string): void {
    // Other schemes could start programs.
    if (/^(https?|mailto):/i.test(url)) window.open(url);
  }

  activeNote(): ActiveNote | null {
    const note = activeNote(this.#app);
    if (note === null) return null;
    return { path: note.path, selection: note.selection?.text };
  }

  onActiveNote(listener: (note: ActiveNote | null) => void): Unsubscribe {
    const { workspace } = this.#app;
    const opened = workspace.on("file-open", () => listener(this.activeNote()));
    return () => workspace.offref(opened);
  }

  notice(text: string): void {
    new Notice(text);
  }

  alert(text: string): void {
    if (!activeDocument.hasFocus()) new Notification("Vault Steward", { body: text, tag: "vault-steward" });
  }

  confirm(text: string, action: string): Promise<boolean> {
    return new Promise((resolve) => {
      const modal = new ConfirmationModal(this.#app);
      setWords(modal.contentEl, text);
      modal.addButton((button) => button.setButtonText(action).setCta().onClick(() => resolve(true)));
      modal.addCancelButton();
      // Runs however the dialog closes; it has no effect after the button has resolved the promise.
      modal.setCloseCallback(() => resolve(false));
      modal.open();
    });
  }

  async copy(text: string): Promise<void> {
    await activeWindow.navigator.clipboard.writeText(text);
  }

  resolveLink(link: string, from: string): { path: string; subpath: string } | null {
    const { path, subpath } = parseLinktext(link);
    const file = this.#app.metadataCache.getFirstLinkpathDest(path, from);
    return file && { path: file.path, subpath };
  }

  icon(element: HTMLElement, name: string): void {
    setIcon(element, name);
  }

  async math(tex: string, block: boolean): Promise<HTMLElement> {
    await loadMathJax();
    const drawn = renderMath(tex, block);
    await finishRenderMath();
    return drawn;
  }

  async diagram(source: string): Promise<HTMLImageElement> {
    const mermaid = (await loadMermaid()) as { render(id: string, source: string): Promise<{ svg: string }> };
    const theme = activeDocument.body.hasClass("theme-dark") ? "dark" : "default";
    // At the end: a diagram may begin with properties.
    const { svg } = await mermaid.render(`vs-diagram-${++diagrams}`, `${source}\n%%{init: {"theme": "${theme}"}}%%`);
    const [, width, height] = /viewBox="\S+ \S+ ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
    if (width === undefined || height === undefined) throw new Error("the diagram has no size");
    // In an image nothing of it acts or loads anything.
    return createEl("img", { cls: "vs-diagram", attr: { src: `data:image/svg+xml,${encodeURIComponent(svg)}`, alt: source, width, height } });
  }

  command(name: string): string {
    const { adapter } = this.#app.vault;
    if (!(adapter instanceof FileSystemAdapter)) return `steward ${name}`;
    // The daemon must listen on the port that this vault uses: each vault has its own.
    const [port = USUAL] = /\d+$/.exec(this.#address()) ?? [];
    const at = name === "pair" || port === USUAL ? "" : ` --port ${port}`;
    return `steward ${name} --vault ${quoted(adapter.getBasePath(), Platform.isWin)}${at}`;
  }
}

/** Quotes a path for a shell. */
export function quoted(path: string, windows: boolean): string {
  if (windows) return /^[\w:\\.-]+$/.test(path) ? path : `"${path}"`;
  return /^[\w/.-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
