// The settings tab: the connection to the daemon, and the daemon's own settings, which the daemon
// reads and writes.

import {
  PluginSettingTab,
  type App,
  type DropdownComponent,
  type Plugin,
  type Setting,
  type SettingDefinition,
  type SettingDefinitionItem,
} from "obsidian";
import { DEFAULT_ADDRESS, endpoint } from "./address";
import { errorText } from "./call-error";
import type { Connection, ConnectionState } from "./connection";
import type { DaemonSettings } from "./daemon-settings";
import type { Host } from "./host";
import { parseToken, type Pairing } from "./pairing";
import { rowDefinition, type Row } from "./settings-rows";

const CONVERSATION_ROWS: Row[] = [
  { key: "agent.information_architecture", name: "Vault structure", kind: "lines" },
  { key: "agent.instructions", name: "Instructions for the model", kind: "lines" },
  { key: "agent.prompts_folder", name: "Folder of your prompts", kind: "text" },
  { key: "conversation.idle_minutes", name: "End a conversation after (minutes)", kind: "number" },
];

const VOICE_ROWS: Row[] = [
  { key: "smarthole.enabled", name: "Receive voice messages from SmartHole", kind: "toggle" },
  { key: "smarthole.name", name: "Name in SmartHole", kind: "text" },
  { key: "smarthole.description", name: "Description for SmartHole", kind: "lines" },
];

const RETENTION_ROWS: Row[] = [
  { key: "conversation.kept", name: "Conversations to keep", kind: "number" },
  { key: "journal.versions", name: "Versions to keep of each file", kind: "number" },
  { key: "journal.days", name: "Days to keep versions", kind: "number" },
];

const MODES: Record<string, string> = {
  settings: "Use the settings file",
  ask: "Ask before every change",
  auto: "Ask before large or risky changes",
  plan: "Propose changes, and apply them together",
  "read-only": "Allow no changes",
};

/** The parts of the plugin that the tab uses. */
export interface SettingsTabOptions {
  connection: Connection;
  daemon: DaemonSettings;
  pairing: Pairing;
  host: Host;
}

/** The tab. Its rows subscribe to changes only while they are shown. */
export class StewardSettingTab extends PluginSettingTab {
  override icon = "messages-square";
  readonly #options: SettingsTabOptions;

  constructor(app: App, plugin: Plugin, options: SettingsTabOptions) {
    super(app, plugin);
    this.#options = options;
  }

  override getSettingDefinitions(): SettingDefinitionItem[] {
    const { daemon } = this.#options;
    const rows = (of: Row[]): SettingDefinition[] => of.map((row) => rowDefinition(row, daemon));
    return [
      {
        type: "group",
        heading: "Connection",
        items: [
          { name: "State", render: (setting) => this.#state(setting) },
          { name: "Address", aliases: ["port"], render: (setting) => this.#address(setting) },
          { name: "Token", aliases: ["pairing"], render: (setting) => this.#token(setting) },
        ],
      },
      {
        type: "group",
        heading: "Model and changes",
        items: [
          { name: "Model", aliases: ["models.chain"], render: (setting) => this.#model(setting) },
          { name: "Approvals", aliases: ["mode"], render: (setting) => this.#mode(setting) },
        ],
      },
      { type: "group", heading: "Conversations", items: rows(CONVERSATION_ROWS) },
      { type: "group", heading: "Voice", items: rows(VOICE_ROWS) },
      { type: "group", heading: "Retention", items: rows(RETENTION_ROWS) },
    ];
  }

  #state(setting: Setting): () => void {
    const { connection, daemon, host } = this.#options;
    const show = (): void => {
      const lines = [stateText(connection.state, host.command("serve"))];
      const problem = daemon.loaded?.problem;
      if (problem !== undefined) {
        const place = problem.line === undefined ? "" : `, line ${problem.line}`;
        lines.push(`The settings file has an error, so the previous settings stay in effect: ${problem.message} (${problem.file}${place}).`);
      } else if (daemon.problem !== null) {
        lines.push(`Could not load the daemon's settings: ${daemon.problem}.`);
      }
      setting.setDesc(lines.join(" "));
    };
    setting.addButton((button) =>
      button.setButtonText("Try again").onClick(() => {
        connection.retryNow();
        if (connection.state.kind === "connected") void daemon.load();
      }),
    );
    show();
    const ends = [connection.onState(show), daemon.watch(show)];
    return () => {
      for (const end of ends) end();
    };
  }

  #address(setting: Setting): () => void {
    const { pairing, connection } = this.#options;
    let show = (): void => undefined;
    setting.setDesc("The daemon's address on this computer. Its port is `server.port` in its settings.");
    setting.addText((text) => {
      text.setPlaceholder(DEFAULT_ADDRESS);
      // Pairing may change the address. Text that the user is editing stays.
      let shown = "";
      show = () => {
        if (text.getValue() === shown) text.setValue((shown = pairing.address));
      };
      text.inputEl.setAttribute("aria-label", "Address");
      text.inputEl.addEventListener("change", () => {
        const address = text.inputEl.value.trim() || DEFAULT_ADDRESS;
        const where = endpoint(address);
        if ("problem" in where) return void setting.setErrorMessage(where.problem);
        setting.setErrorMessage(null);
        shown = text.getValue();
        pairing.move(address).catch((error: unknown) => {
          setting.setErrorMessage(errorText(error));
        });
      });
    });
    show();
    return connection.onState(() => show());
  }

  #token(setting: Setting): void {
    const { pairing, host } = this.#options;
    const show = (): void => {
      setting.setDesc(
        pairing.paired
          ? "This vault is paired. The token is stored in this device's secret storage, not in the vault."
          : `Run \`${host.command("pair")}\` in a terminal. Then open the link that it prints, or paste it here.`,
      );
    };
    setting.addText((text) => {
      text.setPlaceholder("Paste the link");
      text.inputEl.type = "password";
      text.inputEl.autocomplete = "off";
      text.inputEl.setAttribute("aria-label", "Token");
      setting.addButton((button) =>
        button.setButtonText("Pair").onClick(async () => {
          const parsed = parseToken(text.inputEl.value);
          if ("problem" in parsed) return void setting.setErrorMessage(parsed.problem);
          setting.setErrorMessage(null);
          await pairing.pair(parsed);
          text.setValue("");
          show();
        }),
      );
    });
    setting.addButton((button) =>
      button.setButtonText("Forget").onClick(() => {
        pairing.forget();
        show();
      }),
    );
    show();
  }

  #model(setting: Setting): () => void {
    const { daemon } = this.#options;
    const show = (dropdown: DropdownComponent): string => {
      const models = daemon.loaded?.models ?? null;
      const first = models?.chain[0] ?? "";
      if (first === "") dropdown.addOption("", models === null ? "Unknown" : "None");
      for (const { name, ready } of models?.models ?? []) {
        dropdown.addOption(name, ready ? name : `${name} (not set up)`);
      }
      dropdown.setDisabled(models === null);
      const parts = ["The language model that answers."];
      if ((models?.chain.length ?? 0) > 1) parts.push("If it fails, the others in `models.chain` are tried in order.");
      setting.setDesc(parts.join(" "));
      return first;
    };
    return this.#dropdown(setting, "Model", show, (chosen) => daemon.chooseModel(chosen));
  }

  #mode(setting: Setting): () => void {
    const { daemon } = this.#options;
    const show = (dropdown: DropdownComponent): string => {
      const mode = daemon.loaded?.mode ?? null;
      for (const [value, name] of Object.entries(MODES)) dropdown.addOption(value, name);
      dropdown.setDisabled(mode === null);
      const now = mode === null ? "" : ` Currently: ${MODES[mode.mode] ?? mode.mode}.`;
      setting.setDesc(`Which changes need your approval.${now}`);
      return mode?.setLive === true ? mode.mode : "settings";
    };
    return this.#dropdown(setting, "Approvals", show, (chosen) => daemon.setMode(chosen));
  }

  /** A dropdown that is redrawn when the daemon's settings change. */
  #dropdown(
    setting: Setting,
    label: string,
    show: (dropdown: DropdownComponent) => string,
    choose: (value: string) => Promise<void>,
  ): () => void {
    let shown = "";
    let redraw = (): void => undefined;
    setting.addDropdown((dropdown) => {
      dropdown.selectEl.setAttribute("aria-label", label);
      redraw = () => {
        dropdown.selectEl.replaceChildren();
        shown = show(dropdown);
        dropdown.setValue(shown);
      };
      dropdown.onChange((value) => {
        if (value === shown) return;
        choose(value).then(
          () => void setting.setErrorMessage(null),
          (error: unknown) => {
            redraw();
            setting.setErrorMessage(errorText(error));
          },
        );
      });
    });
    redraw();
    return this.#options.daemon.watch(redraw);
  }
}

/** Describes the state of the connection in a sentence. */
function stateText(state: ConnectionState, startCommand: string): string {
  switch (state.kind) {
    case "off":
      return "Not started.";
    case "connecting":
      return "Connecting…";
    case "connected":
      return "Connected.";
    case "absent":
      return `The daemon is not running. Start it in a terminal with \`${startCommand}\`; the plugin then connects.`;
    case "refused":
      return `Cannot connect: ${state.detail ?? "the daemon refused the connection"}.`;
    case "unpaired":
      return "Not paired yet. See Token below.";
  }
}
