// The daemon's settings. They are loaded from the daemon while they are shown, and stored only there.

import { errorText } from "./call-error";
import type { Connection, Unsubscribe } from "./connection";
import { Listeners } from "./listeners";
import type {
  ConfigProblem,
  JsonValue,
  ModelsResult,
  ModeResult,
  Setting,
  SettingsSetResult,
} from "./protocol";

/** The settings as the daemon reported them. */
export interface Loaded {
  /** The path of the settings file. */
  file: string;
  /** The reason why the current file is not in effect. */
  problem?: ConfigProblem;
  /** By name. */
  settings: ReadonlyMap<string, Setting>;
  /** The approval mode; null if it cannot be read. */
  mode: ModeResult | null;
  /** Null if they cannot be listed. */
  models: ModelsResult | null;
}

/** The settings. They are loaded only while there are subscribers. */
export class DaemonSettings {
  readonly #connection: Connection;
  readonly #listeners = new Listeners<void>();
  #watching: Unsubscribe[] = [];
  #loaded: Loaded | null = null;
  #loading = 0;
  #problem: string | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Null before the first load, and without a connection. */
  get loaded(): Loaded | null {
    return this.#loaded;
  }

  /** The reason why the last load failed. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Subscribes to changes by any client. The first subscriber loads the settings. */
  watch(listener: () => void): Unsubscribe {
    const end = this.#listeners.add(listener);
    if (this.#watching.length === 0) this.#begin();
    return () => {
      end();
      if (this.#listeners.size === 0) this.#end();
    };
  }

  /** Sets one setting; null restores its default. */
  async set(key: string, value: JsonValue): Promise<SettingsSetResult> {
    const result = await this.#connection.call("_vault/settings/set", { key, value });
    await this.load();
    return result;
  }

  /** Sets the approval mode, which takes effect at the next call. */
  async setMode(mode: string): Promise<void> {
    await this.#connection.call("_vault/mode", { mode });
    await this.load();
  }

  /** Moves a model to the front of the chain. The daemon accepts only models that it lists. */
  async chooseModel(name: string): Promise<void> {
    await this.#connection.call("_vault/models", { choose: name });
    await this.load();
  }

  async load(): Promise<void> {
    const loading = ++this.#loading;
    const connection = this.#connection;
    try {
      const [got, mode, models] = await Promise.all([
        connection.call("_vault/settings/get", {}),
        connection.call("_vault/mode", {}).catch(() => null),
        connection.call("_vault/models", {}).catch(() => null),
      ]);
      if (loading !== this.#loading) return;
      const settings = new Map(got.settings.map((setting) => [setting.key, setting]));
      this.#loaded = { file: got.file, problem: got.problem, settings, mode, models };
      this.#problem = null;
    } catch (error) {
      if (loading !== this.#loading) return;
      this.#loaded = null;
      this.#problem = errorText(error);
    }
    this.#listeners.notify();
  }

  #begin(): void {
    const again = (): void => void this.load();
    const connection = this.#connection;
    this.#watching = [
      connection.on("_vault/config_reloaded", again),
      connection.on("_vault/config_rejected", again),
      connection.on("_vault/mode_changed", again),
      connection.onState(({ kind }) => {
        if (kind === "connected") again();
        else this.#forget();
      }),
    ];
    if (connection.state.kind === "connected") again();
  }

  #end(): void {
    for (const end of this.#watching.splice(0)) end();
    this.#forget();
  }

  #forget(): void {
    // A response that is still pending is ignored.
    this.#loading += 1;
    this.#loaded = null;
    this.#problem = null;
    this.#listeners.notify();
  }
}
