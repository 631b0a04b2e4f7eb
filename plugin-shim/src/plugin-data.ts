// The plugin's `data.json`. The token is not in it: the file is part of the vault and is synced with it.

import type { Plugin } from "obsidian";
import { DEFAULT_ADDRESS } from "./address";
import type { AddressBook } from "./pairing";

/** The plugin's own settings; the daemon stores its settings itself. */
export class PluginData implements AddressBook {
  address = DEFAULT_ADDRESS;

  readonly #plugin: Plugin;

  constructor(plugin: Plugin) {
    this.#plugin = plugin;
  }

  /** Reads the file. Missing or invalid values get their defaults. */
  async load(): Promise<void> {
    const stored = (await this.#plugin.loadData()) as { address?: unknown } | null;
    this.address = typeof stored?.address === "string" ? stored.address : DEFAULT_ADDRESS;
  }

  async save(): Promise<void> {
    await this.#plugin.saveData({ address: this.address });
  }
}
