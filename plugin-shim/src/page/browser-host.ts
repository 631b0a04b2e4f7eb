/**
 * The host of the view in a browser. Notes open in Obsidian if it is available, and in a preview otherwise.
 */

import { errorText } from "../call-error";
import { CallError, type Connection } from "../connection";
import { element } from "../view/dom";
import { setWords } from "../view/part";
import { loadCards } from "../view/lazy";
import type { ActiveNote, Host, OpenOptions } from "../host";
import { drawIcon } from "./icons";

/** Milliseconds for which a notice is shown. */
const STAYS = 6_000;

export class BrowserHost implements Host {
  readonly kind = "browser";
  readonly #notices: HTMLElement;

  readonly #document: Document;
  readonly #connection: () => Connection;

  constructor(
    document: Document,
    connection: () => Connection,
  ) {
    this.#document = document;
    this.#connection = connection;
    this.#notices = element(document, "div", { class: "page-notices", attributes: { role: "status" } });
    document.body.appendChild(this.#notices);
  }

  openNote(path: string, options: OpenOptions = {}): void {
    this.#open(path, options).catch((error: unknown) => this.notice(errorText(error)));
  }

  async #open(path: string, { line, subpath = "", unasked }: OpenOptions): Promise<void> {
    const link = path + subpath;
    const to = await this.#connection().call("_vault/resolve_link", { link });
    try {
      const { client } = await this.#connection().call("_vault/host/request", { operation: "open", path: to.path ?? link, line: line ?? to.line ?? undefined });
      this.notice(`Opened in ${client}`);
    } catch (error) {
      if (!(error instanceof CallError && error.kind === "host_unavailable")) throw error;
      if (unasked) return;
      const { previewNote } = await loadCards();
      await previewNote({
        document: this.#document,
        connection: this.#connection(),
        openExternal: (url) => this.openExternal(url),
        copy: (text) => this.copy(text),
        icon: drawIcon,
      }, link);
    }
  }

  async math(tex: string, block: boolean): Promise<HTMLElement> {
    const { draw } = await import("./formulas");
    return draw(this.#document, tex, block);
  }

  openExternal(url: string): void {
    this.#document.defaultView?.open(url, "_blank", "noopener,noreferrer");
  }

  activeNote(): ActiveNote | null {
    return null;
  }

  onActiveNote(): () => void {
    return () => undefined;
  }

  notice(text: string): void {
    const made = element(this.#document, "div", { class: "page-notice", attributes: { dir: "auto" } });
    setWords(made, text);
    this.#notices.appendChild(made);
    this.#document.defaultView?.setTimeout(() => made.remove(), STAYS);
  }

  alert(text: string): void {
    const { defaultView: window } = this.#document;
    if (this.#document.hasFocus() || window?.Notification?.permission !== "granted") return;
    const shown = new window.Notification("Vault Steward", { body: text, tag: "vault-steward" });
    shown.addEventListener("click", () => window.focus());
  }

  mayAskToAlert(): boolean {
    return this.#document.defaultView?.Notification?.permission === "default";
  }

  async askToAlert(): Promise<void> {
    await this.#document.defaultView?.Notification?.requestPermission();
  }

  confirm(text: string, action: string): Promise<boolean> {
    const cancel = element(this.#document, "button", { class: "vs-button", text: "Cancel", attributes: { value: "no", autofocus: true } });
    const agree = element(this.#document, "button", { class: "vs-button mod-cta", text: action, attributes: { value: "yes" } });
    const words = element(this.#document, "p", { attributes: { dir: "auto" } });
    setWords(words, text);
    const form = element(
      this.#document,
      "form",
      { attributes: { method: "dialog" } },
      words,
      element(this.#document, "div", { class: "page-dialog-buttons" }, cancel, agree),
    );
    const dialog = element(this.#document, "dialog", { class: "page-dialog", attributes: { "aria-label": action } }, form);
    this.#document.body.appendChild(dialog);
    return new Promise((resolve) => {
      dialog.addEventListener(
        "close",
        () => {
          dialog.remove();
          resolve(dialog.returnValue === "yes");
        },
        { once: true },
      );
      dialog.showModal();
    });
  }

  async copy(text: string): Promise<void> {
    const clipboard = this.#document.defaultView?.navigator.clipboard;
    if (!clipboard) throw new Error("this browser gives no clipboard");
    await clipboard.writeText(text);
  }

  icon(into: HTMLElement, name: string): void {
    drawIcon(into, name);
  }

  command(name: string): string {
    return `steward ${name}`;
  }
}
