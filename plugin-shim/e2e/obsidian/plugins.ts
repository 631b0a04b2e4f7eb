// Plugins: their API, their loading from the vault, and their unloading.

import type { Extension } from "@codemirror/state";
import type { App } from "./app";
import { Component } from "./component";
import { SettingTab } from "./settings";
import type { WorkspaceLeaf } from "./workspace";
import type { View } from "./views";

export interface Manifest {
  id: string;
  name: string;
  version: string;
  minAppVersion: string;
  description: string;
  author: string;
}

export interface Command {
  id: string;
  name: string;
  icon?: string;
  hotkeys?: unknown[];
  callback?: () => unknown;
  checkCallback?: (checking: boolean) => boolean | void;
}

/** Everything that plugins have registered and not removed. */
export const registered = new Set<string>();

export abstract class Plugin extends Component {
  settings?: unknown;
  /** The content of the data file when it was last read or written here. */
  _data = "";

  constructor(
    public app: App,
    public manifest: Manifest,
  ) {
    super();
  }

  onUserEnable(): void {
    return undefined;
  }

  /** Created on demand by plugins. */
  declare onExternalSettingsChange?: () => unknown;

  get #file(): string {
    return `.obsidian/plugins/${this.manifest.id}/data.json`;
  }

  async loadData(): Promise<unknown> {
    const { adapter } = this.app.vault;
    if (!(await adapter.exists(this.#file))) return null;
    this._data = await adapter.read(this.#file);
    return JSON.parse(this._data);
  }

  async saveData(data: unknown): Promise<void> {
    this._data = JSON.stringify(data, null, 2);
    await this.app.vault.adapter.write(this.#file, this._data);
  }

  /** Notifies the plugin that another program wrote its data. */
  async _dataChanged(): Promise<void> {
    const now = await this.app.vault.adapter.read(this.#file);
    if (now !== this._data) await this.onExternalSettingsChange?.();
  }

  #keep<T>(what: string, among: Map<string, T>, name: string, one: T): void {
    if (among.has(name)) throw new Error(`${what} ${name} is there already`);
    among.set(name, one);
    registered.add(`${what} ${name}`);
    this.register(() => {
      among.delete(name);
      registered.delete(`${what} ${name}`);
    });
  }

  addCommand(command: Command): Command {
    const { id, name } = this.manifest;
    const made = { ...command, id: `${id}:${command.id}`, name: `${name}: ${command.name}` };
    this.#keep("command", this.app._commands, made.id, made);
    return made;
  }

  removeCommand(id: string): void {
    const whole = `${this.manifest.id}:${id}`;
    this.app._commands.delete(whole);
    registered.delete(`command ${whole}`);
  }

  addStatusBarItem(): HTMLElement {
    const item = this.app._statusBar.createDiv(`status-bar-item plugin-${this.manifest.id}`);
    this.register(() => item.remove());
    return item;
  }

  addSettingTab(tab: PluginSettingTab): void {
    tab.update();
    this.#keep("tab", this.app._settingTabs, this.manifest.name, tab);
    this.register(() => tab._hide());
  }

  registerView(type: string, make: (leaf: WorkspaceLeaf) => View): void {
    this.#keep("view", this.app._views, type, make);
    this.register(() => void this.app._withoutMaker(type));
    void this.app._withMaker(type);
  }

  registerEditorExtension(extension: Extension): void {
    const { _extensions, _editors } = this.app;
    _extensions.add(extension);
    const again = (): void => _editors.forEach((editor) => editor._configure());
    again();
    this.register(() => {
      _extensions.delete(extension);
      again();
    });
  }

  registerObsidianProtocolHandler(action: string, handler: (data: Record<string, string>) => unknown): void {
    this.#keep("handler", this.app._links, action, handler);
  }
}

export abstract class PluginSettingTab extends SettingTab {
  constructor(
    app: App,
    readonly _plugin: Plugin,
  ) {
    super(app);
  }
}

/** The plugins in the vault's folder, and which of them are enabled. */
export class Plugins {
  readonly running = new Map<string, Plugin>();
  readonly #styles = new Map<string, HTMLStyleElement>();

  constructor(
    private readonly app: App,
    /** The modules that a plugin may `require`. */
    private readonly modules: Record<string, object>,
    private readonly version: string,
  ) {}

  async installed(): Promise<Manifest[]> {
    const { adapter } = this.app.vault;
    const found: Manifest[] = [];
    for (const id of await this.app._folders(".obsidian/plugins")) {
      const file = `.obsidian/plugins/${id}/manifest.json`;
      if (await adapter.exists(file)) found.push(JSON.parse(await adapter.read(file)) as Manifest);
    }
    return found;
  }

  /** The plugins that were enabled when the app was last open. */
  async loadEnabled(): Promise<void> {
    for (const id of await this.#enabled()) await this.#load(id);
  }

  /** Enables a plugin, as a person does. */
  async enable(id: string): Promise<void> {
    const plugin = await this.#load(id);
    await this.#write([...new Set([...(await this.#enabled()), id])]);
    plugin.onUserEnable();
  }

  async disable(id: string): Promise<void> {
    this.running.get(id)?.unload();
    this.running.delete(id);
    for (const style of this.#styles.values()) style.remove();
    this.#styles.clear();
    await this.#write((await this.#enabled()).filter((one) => one !== id));
  }

  async #load(id: string): Promise<Plugin> {
    const { adapter } = this.app.vault;
    const folder = `.obsidian/plugins/${id}`;
    const manifest = JSON.parse(await adapter.read(`${folder}/manifest.json`)) as Manifest;
    if (isNewer(manifest.minAppVersion, this.version)) {
      throw new Error(`${manifest.name} needs version ${manifest.minAppVersion}, this is ${this.version}`);
    }
    const code = await adapter.read(`${folder}/main.js`);
    const module: { exports: { default?: new (app: App, manifest: Manifest) => Plugin } } = { exports: {} };
    const require = (name: string): object => {
      const found = this.modules[name];
      if (found === undefined) throw new Error(`Cannot find module '${name}'`);
      return found;
    };
    // As Obsidian does: the bundle is a function with these three parameters.
    const run = new Function("require", "module", "exports", `${code}\n//# sourceURL=plugin:${id}`) as (
      require: (name: string) => object,
      to: object,
      exports: object,
    ) => void;
    run(require, module, module.exports);
    const Made = module.exports.default;
    if (Made === undefined) throw new Error(`${id} exports no plugin`);
    if (await adapter.exists(`${folder}/styles.css`)) {
      const style = createEl("style");
      style.textContent = await adapter.read(`${folder}/styles.css`);
      document.head.appendChild(style);
      this.#styles.set(id, style);
    }
    const plugin = new Made(this.app, manifest);
    if (!(plugin instanceof Plugin)) throw new Error(`${id} is no plugin`);
    this.running.set(id, plugin);
    plugin.load();
    await plugin._loading;
    return plugin;
  }

  async #enabled(): Promise<string[]> {
    const { adapter } = this.app.vault;
    const file = ".obsidian/community-plugins.json";
    return (await adapter.exists(file)) ? (JSON.parse(await adapter.read(file)) as string[]) : [];
  }

  #write(ids: string[]): Promise<void> {
    return this.app.vault.adapter.write(".obsidian/community-plugins.json", JSON.stringify(ids, null, 2));
  }
}

function isNewer(wanted: string, have: string): boolean {
  const [a, b] = [wanted, have].map((version) => version.split(".").map(Number));
  const at = (a ?? []).findIndex((part, index) => part !== (b ?? [])[index]);
  return at >= 0 && ((a ?? [])[at] ?? 0) > ((b ?? [])[at] ?? 0);
}
