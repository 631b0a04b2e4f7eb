// The controls of the settings, with Obsidian's API for plugins.

import { setIcon } from "./icons";

export abstract class BaseComponent {
  disabled = false;

  then(call: (component: this) => unknown): this {
    call(this);
    return this;
  }

  setDisabled(disabled: boolean): this {
    this.disabled = disabled;
    return this;
  }
}

export abstract class ValueComponent<T> extends BaseComponent {
  abstract getValue(): T;
  abstract setValue(value: T): this;
}

export class ButtonComponent extends BaseComponent {
  buttonEl: HTMLButtonElement;

  constructor(into: HTMLElement) {
    super();
    this.buttonEl = into.createEl("button");
    this.buttonEl.type = "button";
  }

  override setDisabled(disabled: boolean): this {
    this.buttonEl.disabled = disabled;
    return super.setDisabled(disabled);
  }

  setButtonText(text: string): this {
    this.buttonEl.setText(text);
    return this;
  }

  setIcon(icon: string): this {
    setIcon(this.buttonEl, icon);
    return this;
  }

  setCta(): this {
    this.buttonEl.addClass("mod-cta");
    return this;
  }

  removeCta(): this {
    this.buttonEl.removeClass("mod-cta");
    return this;
  }

  setDestructive(): this {
    this.buttonEl.addClass("mod-destructive");
    return this;
  }

  setTooltip(text: string): this {
    this.buttonEl.setAttribute("aria-label", text);
    return this;
  }

  setClass(name: string): this {
    this.buttonEl.addClass(name);
    return this;
  }

  onClick(call: (event: MouseEvent) => unknown): this {
    this.buttonEl.addEventListener("click", (event) => void call(event));
    return this;
  }
}

export abstract class AbstractTextComponent<T extends HTMLInputElement | HTMLTextAreaElement> extends ValueComponent<string> {
  #heard: ((value: string) => unknown) | null = null;

  constructor(public inputEl: T) {
    super();
    inputEl.addEventListener("input", () => this.onChanged());
  }

  override setDisabled(disabled: boolean): this {
    this.inputEl.disabled = disabled;
    return super.setDisabled(disabled);
  }

  getValue(): string {
    return this.inputEl.value;
  }

  setValue(value: string): this {
    this.inputEl.value = value;
    return this;
  }

  setPlaceholder(text: string): this {
    this.inputEl.placeholder = text;
    return this;
  }

  onChanged(): void {
    this.#heard?.(this.inputEl.value);
  }

  onChange(heard: (value: string) => unknown): this {
    this.#heard = heard;
    return this;
  }
}

export class TextComponent extends AbstractTextComponent<HTMLInputElement> {
  constructor(into: HTMLElement) {
    super(into.createEl("input", { type: "text", attr: { spellcheck: "false" } }));
  }
}

export class TextAreaComponent extends AbstractTextComponent<HTMLTextAreaElement> {
  constructor(into: HTMLElement) {
    super(into.createEl("textarea", { attr: { spellcheck: "false" } }));
  }
}

export class DropdownComponent extends ValueComponent<string> {
  selectEl: HTMLSelectElement;
  #heard: ((value: string) => unknown) | null = null;

  constructor(into: HTMLElement) {
    super();
    this.selectEl = into.createEl("select", "dropdown");
    this.selectEl.addEventListener("change", () => this.#heard?.(this.selectEl.value));
  }

  override setDisabled(disabled: boolean): this {
    this.selectEl.disabled = disabled;
    return super.setDisabled(disabled);
  }

  addOption(value: string, text: string): this {
    this.selectEl.createEl("option", { value, text });
    return this;
  }

  addOptions(options: Record<string, string>): this {
    for (const [value, text] of Object.entries(options)) this.addOption(value, text);
    return this;
  }

  getValue(): string {
    return this.selectEl.value;
  }

  setValue(value: string): this {
    this.selectEl.value = value;
    return this;
  }

  onChange(heard: (value: string) => unknown): this {
    this.#heard = heard;
    return this;
  }
}

export class ToggleComponent extends ValueComponent<boolean> {
  toggleEl: HTMLElement;
  #isOn = false;
  #heard: ((value: boolean) => unknown) | null = null;

  constructor(into: HTMLElement) {
    super();
    this.toggleEl = into.createDiv({ cls: "checkbox-container", attr: { role: "switch", tabindex: 0, "aria-checked": "false" } });
    this.toggleEl.addEventListener("click", () => this.onClick());
    this.toggleEl.addEventListener("keydown", (event) => {
      if (event.key === " " || event.key === "Enter") this.onClick();
    });
  }

  override setDisabled(disabled: boolean): this {
    this.toggleEl.toggleClass("is-disabled", disabled);
    return super.setDisabled(disabled);
  }

  getValue(): boolean {
    return this.#isOn;
  }

  /** A programmatic value also calls the listener. */
  setValue(on: boolean): this {
    if (this.#isOn === on) return this;
    this.#isOn = on;
    this.toggleEl.toggleClass("is-enabled", on);
    this.toggleEl.setAttribute("aria-checked", String(on));
    this.#heard?.(on);
    return this;
  }

  onClick(): void {
    if (!this.disabled) this.setValue(!this.#isOn);
  }

  onChange(heard: (value: boolean) => unknown): this {
    this.#heard = heard;
    return this;
  }
}

/** One row. */
export class Setting {
  settingEl: HTMLElement;
  infoEl: HTMLElement;
  nameEl: HTMLElement;
  descEl: HTMLElement;
  controlEl: HTMLElement;
  errorEl: HTMLElement | null = null;
  components: BaseComponent[] = [];

  constructor(into: HTMLElement) {
    this.settingEl = into.createDiv("setting-item");
    this.infoEl = this.settingEl.createDiv("setting-item-info");
    this.nameEl = this.infoEl.createDiv("setting-item-name");
    this.descEl = this.infoEl.createDiv("setting-item-description");
    this.controlEl = this.settingEl.createDiv("setting-item-control");
  }

  setName(name: string | DocumentFragment): this {
    this.nameEl.setText(name);
    return this;
  }

  setDesc(text: string | DocumentFragment): this {
    this.descEl.setText(text);
    return this;
  }

  setClass(name: string): this {
    this.settingEl.addClass(name);
    return this;
  }

  setHeading(): this {
    this.settingEl.addClass("setting-item-heading");
    return this;
  }

  setTooltip(text: string): this {
    this.nameEl.setAttribute("aria-label", text);
    return this;
  }

  setDisabled(disabled: boolean): this {
    this.settingEl.toggleClass("is-disabled", disabled);
    for (const component of this.components) component.setDisabled(disabled);
    return this;
  }

  setErrorMessage(text: string | null): this {
    const isWrong = text !== null && text !== "";
    this.settingEl.toggleClass("is-invalid", isWrong);
    if (isWrong) this.errorEl ??= this.infoEl.createDiv({ cls: "setting-item-error", attr: { role: "alert" } });
    this.errorEl?.setText(text ?? "");
    return this;
  }

  addButton(made: (component: ButtonComponent) => unknown): this {
    return this.#add(new ButtonComponent(this.controlEl), made);
  }

  addText(made: (component: TextComponent) => unknown): this {
    return this.#add(new TextComponent(this.controlEl), made);
  }

  addTextArea(made: (component: TextAreaComponent) => unknown): this {
    return this.#add(new TextAreaComponent(this.controlEl), made);
  }

  addDropdown(made: (component: DropdownComponent) => unknown): this {
    return this.#add(new DropdownComponent(this.controlEl), made);
  }

  addToggle(made: (component: ToggleComponent) => unknown): this {
    return this.#add(new ToggleComponent(this.controlEl), made);
  }

  #add<T extends BaseComponent>(component: T, made: (component: T) => unknown): this {
    this.components.push(component);
    made(component);
    return this;
  }

  then(call: (setting: this) => unknown): this {
    call(this);
    return this;
  }

  clear(): this {
    this.controlEl.empty();
    this.components = [];
    return this;
  }
}

/** The rows below one heading. */
export class SettingGroup {
  listEl: HTMLElement;
  readonly #groupEl: HTMLElement;

  constructor(into: HTMLElement) {
    this.#groupEl = into.createDiv("setting-group");
    this.listEl = this.#groupEl.createDiv("setting-items");
  }

  setHeading(text: string | DocumentFragment): this {
    const heading = createDiv({ cls: "setting-item setting-item-heading" });
    heading.createDiv({ cls: "setting-item-name" }).setText(text);
    this.#groupEl.prepend(heading);
    return this;
  }

  addClass(...names: string[]): this {
    this.#groupEl.addClass(...names);
    return this;
  }

  addSetting(made: (setting: Setting) => void): this {
    made(new Setting(this.listEl));
    return this;
  }
}
