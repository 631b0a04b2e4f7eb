// The plugin's lifecycle: creates all parts when it is loaded, and removes them when it is unloaded. The
// daemon does the work; the files imported here do what only Obsidian can do.

import { Plugin, requestUrl } from "obsidian";
import { Activity } from "./activity";
import { CHAT_VIEW, chatIsSeen, ChatView, openChat } from "./chat-view";
import { addCommands } from "./commands";
import { createConnection, type Connection } from "./connection";
import { DaemonSettings } from "./daemon-settings";
import { HOST_OPERATIONS, HostOperations } from "./host-operations";
import { noteHunks } from "./note-hunks";
import { ObsidianHost } from "./obsidian-host";
import { Pairing, readToken } from "./pairing";
import { PluginData } from "./plugin-data";
import { PromptCommands } from "./prompts";
import { StewardSettingTab } from "./settings-tab";
import { StatusBar } from "./status-bar";
import { TIME_MACHINE_VIEW, TimeMachineView } from "./time-machine-view";
import { mountChat } from "./view";
import { mountMachine } from "./view/machine-view";

export default class VaultStewardPlugin extends Plugin {
  readonly #data = new PluginData(this);
  #connection: Connection | null = null;

  override async onload(): Promise<void> {
    await this.#data.load();
    const { app } = this;
    const connection = createConnection({
      address: () => this.#data.address,
      token: () => Promise.resolve(readToken(app)),
      capabilities: { approvals: true, host: HOST_OPERATIONS, minDaemon: "0.1.0" },
      clientInfo: { name: "obsidian", title: "Obsidian", version: this.manifest.version },
      // Obsidian's requests are not subject to CORS.
      get: (url) => requestUrl({ url, throw: false }),
    });
    this.#connection = connection;
    this.register(() => {
      this.#connection = null;
      connection.stop();
    });

    const host = new ObsidianHost(app, () => this.#data.address);
    const pairing = new Pairing(app, this.#data, connection);
    const activity = new Activity(connection);
    this.register(() => activity.stop());

    this.registerView(CHAT_VIEW, (leaf) => new ChatView(leaf, (root) => mountChat(root, connection, activity, host)));
    this.registerView(TIME_MACHINE_VIEW, (leaf) => new TimeMachineView(leaf, (root) => mountMachine(root, connection, activity, host)));
    this.registerEditorExtension(noteHunks(activity.proposals, (listener) => activity.onChange(listener), (text) => host.notice(text)));
    this.addChild(new HostOperations(app, connection));
    const open = (): void => void openChat(app);
    this.addChild(new StatusBar(this.addStatusBarItem(), connection, activity, open));
    addCommands(this, { app, connection, activity, host });
    this.addChild(new PromptCommands(this, { app, connection, host }));
    const daemon = new DaemonSettings(connection);
    this.addSettingTab(new StewardSettingTab(app, this, { connection, daemon, pairing, host }));
    this.registerObsidianProtocolHandler("vault-steward", (data) => void pairing.follow(data, host));
    this.register(
      activity.onWaiting((what) => {
        // A visible chat shows the approval itself.
        if (!chatIsSeen(app)) host.notice(what);
        host.alert(what);
      }),
    );

    app.workspace.onLayoutReady(() => {
      // The plugin may have been unloaded meanwhile.
      if (this.#connection === connection) connection.start();
    });
  }

  override onUserEnable(): void {
    void openChat(this.app);
  }

  override async onExternalSettingsChange(): Promise<void> {
    await this.#data.load();
    this.#connection?.retryNow();
  }
}
