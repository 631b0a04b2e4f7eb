// Dialogs and notices.

import type { App } from "./app";
import { ButtonComponent } from "./controls";

/** The default duration of a notice in milliseconds. */
const SHOWN = 4_000;

/** The open dialogs, the front one last. */
export const open: Modal[] = [];

export class Modal {
  containerEl: HTMLElement;
  modalEl: HTMLElement;
  titleEl: HTMLElement;
  contentEl: HTMLElement;
  shouldRestoreSelection = true;
  #closed: (() => unknown) | null = null;
  readonly #keys = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && open.at(-1) === this) this.close();
  };

  constructor(public app: App) {
    this.containerEl = createDiv("modal-container mod-dim");
    const bg = this.containerEl.createDiv("modal-bg");
    bg.addEventListener("click", () => this.close());
    this.modalEl = this.containerEl.createDiv({ cls: "modal", attr: { role: "dialog", "aria-modal": "true" } });
    const close = this.modalEl.createDiv({ cls: "modal-close-button", text: "×", attr: { role: "button", "aria-label": "Close" } });
    close.addEventListener("click", () => this.close());
    this.titleEl = this.modalEl.createDiv("modal-header").createDiv("modal-title");
    this.contentEl = this.modalEl.createDiv("modal-content");
  }

  open(): void {
    // In the focused window.
    activeDocument.body.appendChild(this.containerEl);
    this.containerEl.win.addEventListener("keydown", this.#keys);
    open.push(this);
    void this.onOpen();
  }

  close(): void {
    if (!open.includes(this)) return;
    open.splice(open.indexOf(this), 1);
    this.containerEl.win.removeEventListener("keydown", this.#keys);
    this.containerEl.remove();
    this.onClose();
    this.#closed?.();
  }

  onOpen(): Promise<void> | void {
    return undefined;
  }

  onClose(): void {
    return undefined;
  }

  setTitle(title: string): this {
    this.titleEl.setText(title);
    return this;
  }

  setContent(content: string | DocumentFragment): this {
    this.contentEl.setText(content);
    return this;
  }

  setCloseCallback(call: () => unknown): this {
    this.#closed = call;
    return this;
  }
}

/** Closes its dialog after its handler, unless the handler returns true. */
export class ConfirmationButton extends ButtonComponent {
  #handler: ((event: MouseEvent) => unknown) | null = null;

  constructor(into: HTMLElement, done: () => void) {
    super(into);
    this.buttonEl.addEventListener("click", (event) => {
      void (async () => {
        const stays = await this.#handler?.(event);
        if (stays === undefined || stays === null || stays === false) done();
      })();
    });
  }

  override onClick(handler: (event: MouseEvent) => unknown): this {
    this.#handler = handler;
    return this;
  }

  setInitialFocus(): this {
    this.buttonEl.addClass("mod-initial-focus");
    return this;
  }

  setCancel(): this {
    this.buttonEl.addClass("mod-cancel");
    return this;
  }
}

export class ConfirmationModal extends Modal {
  buttonContainerEl: HTMLElement;

  constructor(app: App) {
    super(app);
    this.modalEl.addClass("mod-confirmation");
    this.buttonContainerEl = this.modalEl.createDiv("modal-button-container");
  }

  addClass(name: string): this {
    this.modalEl.addClass(name);
    return this;
  }

  addButton(made: (button: ConfirmationButton) => unknown): this {
    made(new ConfirmationButton(this.buttonContainerEl, () => this.close()));
    return this;
  }

  addCancelButton(text = "Cancel"): this {
    return this.addButton((button) => button.setButtonText(text).setCancel());
  }

  override onOpen(): void {
    const first = this.buttonContainerEl.find(".mod-initial-focus") ?? this.buttonContainerEl.find("button");
    first?.focus();
  }
}

export class Notice {
  containerEl: HTMLElement;
  messageEl: HTMLElement;
  noticeEl: HTMLElement;

  constructor(message: string | DocumentFragment, duration = SHOWN) {
    const { body } = activeDocument;
    const all = body.querySelector<HTMLElement>(":scope > .notice-container") ?? body.createDiv("notice-container");
    this.containerEl = all.createDiv("notice");
    this.noticeEl = this.containerEl;
    this.messageEl = this.containerEl.createDiv("notice-message");
    this.setMessage(message);
    this.containerEl.addEventListener("click", () => this.hide());
    shown.push(this.messageEl.getText());
    if (duration > 0) window.setTimeout(() => this.hide(), duration);
  }

  setMessage(message: string | DocumentFragment): this {
    this.messageEl.setText(message);
    return this;
  }

  hide(): void {
    const all = this.containerEl.parentElement;
    this.containerEl.remove();
    if (all?.childElementCount === 0) all.remove();
  }
}

/** The texts of all notices, in order. */
export const shown: string[] = [];
