// The person's prompts as Obsidian commands and menu items. They put a prompt into the input field; the
// person sends it.

import { Component, type App, type Menu, type Plugin } from "obsidian";
import { openChat } from "./chat-view";
import type { Connection } from "./connection";
import type { ActiveNote, Host } from "./host";
import { InlineEditModal } from "./inline-edit";
import type { PromptInfo, PromptsResult } from "./protocol";

/** Milliseconds without changes before the prompts are requested again. */
const QUIET = 500;
/** The maximum number of prompts in a menu. */
const MOST = 12;

/** The parts of the plugin that the prompts use. */
export interface PromptCommandsOptions {
  app: App;
  connection: Connection;
  host: Host;
}

/** The commands and the menu items. */
export class PromptCommands extends Component {
  readonly #plugin: Plugin;
  readonly #options: PromptCommandsOptions;
  #known: PromptsResult = { folder: "", prompts: [], examples: [] };
  #wait = 0;

  constructor(plugin: Plugin, options: PromptCommandsOptions) {
    super();
    this.#plugin = plugin;
    this.#options = options;
  }

  override onload(): void {
    const { app, connection } = this.#options;
    const { workspace } = app;
    this.registerEvent(
      workspace.on("editor-menu", (menu, editor, { file }) => {
        if (file === null) return;
        const selection = editor.getSelection();
        if (selection !== "" && connection.state.kind === "connected") {
          const edit = new InlineEditModal(app, connection, { path: file.path, selection });
          menu.addItem((item) => item.setTitle("Steward: edit the selection").setIcon("pencil").setSection("vault-steward").onClick(() => edit.open()));
        }
        this.#offer(menu, { path: file.path, selection: selection === "" ? undefined : selection });
      }),
    );
    this.registerEvent(
      workspace.on("file-menu", (menu, file) => {
        if (/\.md$/i.test(file.path)) this.#offer(menu, { path: file.path });
      }),
    );
    this.register(connection.onState(({ kind }) => kind === "connected" && this.#look()));
    this.register(connection.on("_vault/config_reloaded", ({ changed }) => changed.includes("agent.prompts_folder") && this.#look()));
    this.register(
      connection.on("_vault/changed", ({ path, from = path }) => {
        const { folder } = this.#known;
        const isIn = (one: string): boolean => `${one}/`.toLowerCase().startsWith(`${folder}/`.toLowerCase());
        if (folder !== "" && (isIn(path) || isIn(from))) this.#look();
      }),
    );
    this.register(() => window.clearTimeout(this.#wait));
    if (connection.state.kind === "connected") this.#look();
  }

  #look(): void {
    window.clearTimeout(this.#wait);
    this.#wait = window.setTimeout(() => {
      this.#options.connection.call("_vault/prompts", {}).then(
        (known) => this.#take(known),
        // An older daemon has no prompts; the next connection asks again.
        () => undefined,
      );
    }, QUIET);
  }

  #take(known: PromptsResult): void {
    const before = this.#known.prompts;
    this.#known = known;
    const isSame = (one: PromptInfo, other: PromptInfo): boolean => one.name === other.name && one.title === other.title && one.needs.join() === other.needs.join();
    for (const one of before) if (!known.prompts.some((other) => isSame(one, other))) this.#plugin.removeCommand(`prompt-${one.name}`);
    for (const one of known.prompts) if (!before.some((other) => isSame(one, other))) this.#command(one);
  }

  #command({ name, title, needs }: PromptInfo): void {
    const { connection, host } = this.#options;
    this.#plugin.addCommand({
      id: `prompt-${name}`,
      name: `Prompt: ${title}`,
      checkCallback: (checking) => {
        const note = host.activeNote();
        if (connection.state.kind !== "connected" || !fits(needs, note)) return false;
        if (!checking) this.#use(name, note);
        return true;
      },
    });
  }

  /** Adds the prompts that are applicable to the active note. */
  #offer(menu: Menu, about: ActiveNote): void {
    const { connection } = this.#options;
    if (connection.state.kind !== "connected") return;
    const isAbout = ({ needs }: PromptInfo): boolean => needs.includes(about.selection === undefined ? "note" : "selection") && fits(needs, about);
    for (const { name, title } of this.#known.prompts.filter(isAbout).slice(0, MOST)) {
      menu.addItem((item) => item.setTitle(`Steward: ${title}`).setIcon("messages-square").setSection("vault-steward").onClick(() => this.#use(name, about)));
    }
  }

  #use(name: string, about: ActiveNote | null): void {
    void openChat(this.#options.app).then((view) => view?.prompt(name, about));
  }
}

/** Whether the note provides the variables that a prompt needs. */
function fits(needs: string[], note: ActiveNote | null): boolean {
  if (needs.includes("selection")) return note?.selection !== undefined;
  return !needs.includes("note") || note !== null;
}
