// A stand-in for Obsidian, written from its public typings and documentation. It loads a plugin as Obsidian
// loads it: from the vault's folder, in its shipped form. It has the API that this plugin needs in the oldest
// version that the plugin's manifest names, and nothing newer; any other use fails with an error.

import * as state from "@codemirror/state";
import type { Extension } from "@codemirror/state";
import * as view from "@codemirror/view";
import { Component, Events, subscriptions } from "./component";
import * as controls from "./controls";
import { ConfirmationModal, Modal, Notice, open, shown } from "./dialogs";
import { augment, waitsForMove } from "./dom";
import { FileManager, FileSystemAdapter, MetadataCache, normalizePath, TAbstractFile, TFile, TFolder, Vault } from "./files";
import { setIcon, unknownIcons } from "./icons";
import { ask, boot, type Boot, watch } from "./machine";
import { renderDiagram } from "./mermaid";
import { renderMath } from "./math";
import { Menu } from "./menus";
import { Plugin, Plugins, PluginSettingTab, registered, type Command } from "./plugins";
import { SettingsModal, SettingTab } from "./settings";
import { editorInfoField, EmptyView, FileExplorerView, FileView, ItemView, MarkdownView, StandInView, View, type ViewState } from "./views";
import { Workspace, WorkspaceLeaf, type WorkspaceArea } from "./workspace";

/** The version in the manifest; `agrees.ts` rejects newer members. */
const VERSION = "1.13.0";
const LAYOUT = ".obsidian/workspace.json";

/** The secrets of this device, outside the vault. */
class SecretStorage extends Events {
  constructor(private readonly secrets: Record<string, string>) {
    super();
  }

  setSecret(id: string, secret: string): void {
    if (!/^[a-z0-9-]+$/.test(id)) throw new Error(`Invalid secret id: ${id}`);
    this.secrets[id] = secret;
    void ask("keepSecrets", { secrets: this.secrets });
  }

  getSecret(id: string): string | null {
    return this.secrets[id] ?? null;
  }

  listSecrets(): string[] {
    return Object.keys(this.secrets);
  }
}

/** The stored state of a tab. */
interface KeptLeaf {
  id?: string;
  type: "leaf";
  state: ViewState;
}

export class App {
  readonly vault: Vault;
  readonly metadataCache: MetadataCache;
  readonly fileManager: FileManager;
  readonly workspace: Workspace;
  readonly secretStorage: SecretStorage;
  readonly _views = new Map<string, (leaf: WorkspaceLeaf) => View>();
  readonly _commands = new Map<string, Command>();
  /** What plugins have put into every editor. */
  readonly _extensions = new Set<Extension>();
  readonly _editors = new Set<MarkdownView>();
  readonly _settingTabs = new Map<string, SettingTab>();
  readonly _links = new Map<string, (data: Record<string, string>) => unknown>();
  readonly _statusBar: HTMLElement;
  readonly _plugins: Plugins;

  constructor({ base, files, secrets }: Boot) {
    this.vault = new Vault(base, files);
    this.metadataCache = new MetadataCache(this.vault);
    this.fileManager = new FileManager(this.vault, this.metadataCache, () => this.#askAboutLinks());
    this.secretStorage = new SecretStorage(secrets);
    const container = document.body.createDiv("app-container");
    this.workspace = new Workspace(this, container.createDiv("horizontal-main-container"));
    this._statusBar = container.createDiv("status-bar");
    this._plugins = new Plugins(this, { obsidian: api, "@codemirror/state": state, "@codemirror/view": view }, VERSION);
    this._views.set("markdown", (leaf) => new MarkdownView(leaf));
    this._views.set("empty", (leaf) => new EmptyView(leaf));
    this._views.set("file-explorer", (leaf) => new FileExplorerView(leaf));
  }

  isDarkMode(): boolean {
    return document.body.hasClass("theme-dark");
  }

  async _folders(path: string): Promise<string[]> {
    return (await ask("list", { file: path })) as string[];
  }

  /** Plugins first, so that their views are registered, then the previous layout. */
  async _start(): Promise<void> {
    await this._plugins.loadEnabled();
    await this.#restore();
    this.workspace._ready();
  }

  async #restore(): Promise<void> {
    const { workspace, vault } = this;
    const kept = (await vault.adapter.exists(LAYOUT)) ? (JSON.parse(await vault.adapter.read(LAYOUT)) as Kept) : {};
    const areas: [WorkspaceArea, KeptArea | undefined][] = [
      [workspace.leftSplit, kept.left],
      [workspace.rootSplit, kept.main],
      [workspace.rightSplit, kept.right],
    ];
    for (const [area, layout] of areas) {
      const tabs = layout === undefined ? [] : leavesOf(layout);
      const front = layout?.children?.[0]?.currentTab ?? 0;
      for (const { state } of tabs) {
        const leaf = workspace._leafIn(area);
        await leaf._show(new StandInView(leaf, state, true));
        leaf._changed();
      }
      if (layout?.collapsed === false) area.expand();
      const first = area._tabs._leaves[front];
      if (first === undefined) continue;
      area._tabs._select(first);
      if (area._isShown) await first.loadIfDeferred();
    }
    const main = workspace.rootSplit._tabs._current;
    if (main !== null) workspace.setActiveLeaf(main);
  }

  async _saveLayout(): Promise<void> {
    const { leftSplit, rootSplit, rightSplit } = this.workspace;
    const kept = { main: keep(rootSplit), left: keep(leftSplit), right: keep(rightSplit), lastOpenFiles: [] };
    await this.vault.adapter.write(LAYOUT, JSON.stringify(kept, null, 2));
  }

  /** A view is registered again: leaves that waited for it show it. */
  async _withMaker(type: string): Promise<void> {
    for (const leaf of this.workspace.getLeavesOfType(type)) {
      if (leaf.view instanceof StandInView && !leaf.isDeferred) await leaf.setViewState(leaf.getViewState());
    }
  }

  /** The view's registration ended: its leaves stay empty. */
  async _withoutMaker(type: string): Promise<void> {
    for (const leaf of this.workspace.getLeavesOfType(type)) {
      await leaf._show(new StandInView(leaf, leaf.getViewState(), false));
      leaf._changed();
    }
  }

  #askAboutLinks(): Promise<boolean> {
    return new Promise((resolve) => {
      const modal = new ConfirmationModal(this);
      modal.setTitle("Update links?");
      modal.addButton((button) => button.setButtonText("Update").onClick(() => resolve(true)));
      modal.addButton((button) => button.setButtonText("Do not update").onClick(() => resolve(false)));
      modal.open();
    });
  }
}

interface KeptArea {
  children?: { children: KeptLeaf[]; currentTab?: number }[];
  collapsed?: boolean;
}

interface Kept {
  main?: KeptArea;
  left?: KeptArea;
  right?: KeptArea;
}

function leavesOf(area: KeptArea): KeptLeaf[] {
  return (area.children ?? []).flatMap(({ children }) => children);
}

function keep(area: WorkspaceArea): object {
  const { _leaves, _current } = area._tabs;
  const children = _leaves.map((leaf) => ({ id: leaf._id, type: "leaf", state: { ...leaf.getViewState(), title: leaf.getDisplayText() } }));
  const currentTab = _current === null ? 0 : _leaves.indexOf(_current);
  return { type: "split", collapsed: area.collapsed, children: [{ type: "tabs", children, currentTab }] };
}

/** As `requestUrl` does: CORS does not apply, and an unreachable server is an error. */
async function requestUrl(asked: string | { url: string; throw?: boolean }): Promise<object> {
  const given = typeof asked === "string" ? { url: asked } : asked;
  const answer = (await ask("request", given)) as { error?: string; status: number; headers: Record<string, string>; text: string };
  if (answer.error !== undefined) throw new Error(answer.error);
  if (answer.status >= 400 && given.throw !== false) throw new Error(`Request failed, status ${answer.status}`);
  return {
    ...answer,
    get json(): unknown {
      return JSON.parse(answer.text) as unknown;
    },
    arrayBuffer: new TextEncoder().encode(answer.text).buffer,
  };
}

function parseLinktext(link: string): { path: string; subpath: string } {
  const [path = ""] = link.split("#", 1);
  return { path, subpath: link.slice(path.length) };
}

const Platform = { isDesktop: true, isDesktopApp: true, isMobile: false, isMobileApp: false, isPhone: false, isTablet: false, isMacOS: false, isWin: false, isLinux: true, isSafari: false };

/** The module that a plugin gets for `require("obsidian")`. */
export const parts = {
  ...controls,
  apiVersion: VERSION,
  App,
  Component,
  ConfirmationModal,
  editorInfoField,
  Events,
  FileManager,
  FileSystemAdapter,
  FileView,
  finishRenderMath: () => Promise.resolve(),
  ItemView,
  loadMathJax: () => Promise.resolve(),
  loadMermaid: () => Promise.resolve({ render: renderDiagram }),
  MarkdownView,
  Menu,
  MetadataCache,
  Modal,
  normalizePath,
  Notice,
  parseLinktext,
  Platform,
  Plugin,
  PluginSettingTab,
  renderMath,
  requestUrl,
  SecretStorage,
  setIcon,
  SettingTab,
  TAbstractFile,
  TFile,
  TFolder,
  Vault,
  View,
  Workspace,
  WorkspaceLeaf,
};
const api = new Proxy(parts, {
  get(of, name) {
    if (name === "__esModule" || name in of) return Reflect.get(of, name) as unknown;
    throw new Error(`the stand-in for Obsidian has no \`${String(name)}\``);
  },
});

/** The functions that a test calls. */
const standIn = {
  get app(): App {
    return app;
  },
  openSettings: () => new SettingsModal(app).open(),
  /** As the system opens a link: `obsidian://action?name=value`. */
  openLink(url: string): void {
    const { host, pathname, searchParams } = new URL(url);
    const action = host || pathname.replace(/^\/+/, "");
    const handler = app._links.get(action);
    if (handler === undefined) throw new Error(`nobody handles ${action}`);
    void handler({ action, ...Object.fromEntries(searchParams) });
  },
  /** Runs a command as the command palette does, unless the command is not available. */
  command(id: string): boolean {
    const command = app._commands.get(id);
    if (command === undefined) throw new Error(`there is no command ${id}`);
    if (command.checkCallback !== undefined) {
      if (command.checkCallback(true) !== true) return false;
      command.checkCallback(false);
    } else {
      void command.callback?.();
    }
    return true;
  },
  setDark(on: boolean): void {
    for (const { doc } of [app.workspace.rootSplit, ...app.workspace._windows]) {
      doc.body.toggleClass("theme-dark", on);
      doc.body.toggleClass("theme-light", !on);
    }
    app.workspace.trigger("css-change");
  },
  popOut(type: string): void {
    const [leaf] = app.workspace.getLeavesOfType(type);
    if (leaf === undefined) throw new Error(`no leaf has ${type}`);
    app.workspace.moveLeafToPopout(leaf);
  },
  async quit(): Promise<void> {
    await app._saveLayout();
    app.workspace.trigger("quit");
  },
  get held() {
    return {
      subscriptions: subscriptions.size,
      registered: [...registered],
      moves: waitsForMove(document.body),
      dialogs: open.length,
      styles: document.querySelectorAll("style").length,
      statusItems: app._statusBar.childElementCount,
    };
  },
  notices: shown,
  unknownIcons,
};

let app: App;

async function start(): Promise<void> {
  augment(window);
  Object.assign(window, { activeWindow: window, activeDocument: document });
  window.addEventListener("focus", () => Object.assign(window, { activeWindow: window, activeDocument: document }));
  const booted = await boot();
  app = new App(booted);
  await watch((one) => {
    const [, id] = /^\.obsidian\/plugins\/([^/]+)\/data\.json$/.exec(one.path) ?? [];
    if (id === undefined) app.vault._noticed(one);
    else if (one.kind !== "deleted") void app._plugins.running.get(id)?._dataChanged();
  });
  await app._start();
  Object.assign(window, { standIn });
}

void start();
