// What the plugin keeps in its `data.json`. The token is not in it: that file is part of the vault
// and goes wherever the vault is synced to.

import type { Plugin } from "obsidian";
import { DEFAULT_ADDRESS } from "./address";
import type { AddressBook } from "./pairing";

/** The plugin's own settings. Those of the daemon are the daemon's. */
export class PluginData implements AddressBook {
  address = DEFAULT_ADDRESS;

  readonly #plugin: Plugin;

  constructor(plugin: Plugin) {
    this.#plugin = plugin;
  }

  /** Reads them; what is missing or makes no sense is as it would be without the file. */
  async load(): Promise<void> {
    const kept = (await this.#plugin.loadData()) as { address?: unknown } | null;
    this.address = typeof kept?.address === "string" ? kept.address : DEFAULT_ADDRESS;
  }

  async save(): Promise<void> {
    await this.#plugin.saveData({ address: this.address });
  }
}
