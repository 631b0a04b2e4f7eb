// The settings: a tab of definitions, which Obsidian renders, and its dialog.

import type { App } from "./app";
import { ButtonComponent, Setting, SettingGroup, ToggleComponent } from "./controls";
import { Modal, Notice } from "./dialogs";

interface Definition {
  name?: string;
  desc?: string | DocumentFragment;
  type?: "group" | "list" | "page";
  heading?: string;
  items?: Definition[];
  render?: (setting: Setting, group: SettingGroup) => void | (() => void);
}

export abstract class SettingTab {
  icon = "";
  containerEl: HTMLElement = createDiv("vertical-tab-content");
  settingItems: Definition[] = [];
  #ends: (() => void)[] = [];

  constructor(public app: App) {}

  getSettingDefinitions(): Definition[] {
    return [];
  }

  update(): void {
    this.settingItems = this.getSettingDefinitions();
  }

  display(): void {
    return undefined;
  }

  hide(): void {
    return undefined;
  }

  /** Renders the definitions, row by row. */
  _display(into: HTMLElement): void {
    this._hide();
    this.update();
    into.appendChild(this.containerEl);
    for (const item of this.settingItems) {
      if (item.type !== "group") throw new Error("only groups are drawn here");
      const group = new SettingGroup(this.containerEl);
      if (item.heading !== undefined) group.setHeading(item.heading);
      for (const row of item.items ?? []) {
        group.addSetting((setting) => {
          setting.setName(row.name ?? "");
          if (row.desc !== undefined) setting.setDesc(row.desc);
          const end = row.render?.(setting, group);
          if (typeof end === "function") this.#ends.push(end);
        });
      }
    }
  }

  _hide(): void {
    for (const end of this.#ends.splice(0)) end();
    this.containerEl.empty();
    this.containerEl.remove();
    this.hide();
  }
}

/** The dialog with all tabs; the list of plugins is the first. */
export class SettingsModal extends Modal {
  #shown: SettingTab | null = null;
  #body!: HTMLElement;
  #tabs!: HTMLElement;

  override async onOpen(): Promise<void> {
    this.modalEl.addClass("mod-settings");
    this.#tabs = this.contentEl.createDiv("vertical-tab-header");
    this.#body = this.contentEl.createDiv("vertical-tab-content-container");
    this.#draw();
    await this.#community();
  }

  override onClose(): void {
    this.#shown?._hide();
  }

  #draw(): void {
    this.#tabs.empty();
    this.#tabs.createDiv({ cls: "vertical-tab-header-group-title", text: "Options" });
    this.#tab("Community plugins", () => void this.#community());
    if (this.app._settingTabs.size > 0) {
      this.#tabs.createDiv({ cls: "vertical-tab-header-group-title", text: "Community plugins" });
    }
    for (const [name, tab] of this.app._settingTabs) {
      this.#tab(name, () => {
        this.#clear();
        this.#shown = tab;
        tab._display(this.#body);
      });
    }
  }

  #tab(name: string, chosen: () => void): void {
    const item = this.#tabs.createDiv({ cls: "vertical-tab-nav-item", text: name, attr: { role: "tab", tabindex: 0 } });
    item.addEventListener("click", () => {
      for (const one of this.#tabs.findAll(".is-active")) one.removeClass("is-active");
      item.addClass("is-active");
      chosen();
    });
  }

  #clear(): void {
    this.#shown?._hide();
    this.#shown = null;
    this.#body.empty();
  }

  /** The plugins in the vault, each with its toggle. */
  async #community(): Promise<void> {
    this.#clear();
    const { _plugins: plugins } = this.app;
    const manifests = await plugins.installed();
    const group = new SettingGroup(this.#body).setHeading("Installed plugins");
    group.addSetting((setting) => {
      setting.setName("Reload plugins");
      setting.components.push(new ButtonComponent(setting.controlEl).setButtonText("Reload").onClick(() => this.#community()));
    });
    for (const { id, name, version, author, description } of manifests) {
      group.addSetting((setting) => {
        setting.setName(name).setDesc(`Version: ${version}. By ${author}. ${description}`);
        const toggle = new ToggleComponent(setting.controlEl).setValue(plugins.running.has(id));
        toggle.toggleEl.setAttribute("aria-label", name);
        toggle.onChange((on) => {
          const done = on ? plugins.enable(id) : plugins.disable(id);
          done.then(
            () => this.#draw(),
            (error: unknown) => void new Notice(`Failed to load plugin ${id}: ${String(error)}`),
          );
        });
      });
    }
  }
}
