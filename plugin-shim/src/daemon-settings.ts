// The daemon's settings, as the daemon has them: nothing is kept here, so there is one truth.

import { CallError, type Connection, type Unsubscribe } from "./connection";
import { Listeners } from "./listeners";
import type {
  ConfigProblem,
  JsonValue,
  ModelsResult,
  ModeResult,
  Setting,
  SettingsSetResult,
} from "./protocol";

/** What the daemon says of its settings. */
export interface Loaded {
  /** The file. */
  file: string;
  /** Why the file as it is now does not hold. */
  problem?: ConfigProblem;
  /** The settings by name. */
  settings: ReadonlyMap<string, Setting>;
  /** How far callers are trusted with changes; null where that cannot be read. */
  mode: ModeResult | null;
  /** The models; null where they cannot be told. */
  models: ModelsResult | null;
}

/** The settings, for as long as somebody looks at them. */
export class DaemonSettings {
  readonly #connection: Connection;
  readonly #heard = new Listeners<void>();
  #watching: Unsubscribe[] = [];
  #loaded: Loaded | null = null;
  #loading = 0;
  #problem: string | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** What is known; null until it is loaded, and while there is no connection. */
  get loaded(): Loaded | null {
    return this.#loaded;
  }

  /** Why they could not be loaded. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Hears whenever they are otherwise, whoever changed them. They are loaded with the first. */
  watch(heard: () => void): Unsubscribe {
    const end = this.#heard.add(heard);
    if (this.#watching.length === 0) this.#begin();
    return () => {
      end();
      if (this.#heard.size === 0) this.#end();
    };
  }

  /** Gives one setting a value; null brings its default back. */
  async set(key: string, value: JsonValue): Promise<SettingsSetResult> {
    const result = await this.#connection.call("_vault/settings/set", { key, value });
    await this.load();
    return result;
  }

  /** Says how far callers are trusted, from the next call on. */
  async setMode(mode: string): Promise<void> {
    await this.#connection.call("_vault/mode", { mode });
    await this.load();
  }

  /** Has another model asked first. The daemon takes only those that it names itself. */
  async chooseModel(name: string): Promise<void> {
    await this.#connection.call("_vault/models", { choose: name });
    await this.load();
  }

  /** Asks the daemon for all of it. */
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
      this.#problem = error instanceof CallError ? error.advice : String(error);
    }
    this.#heard.tell();
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
    // What is on its way counts for nothing.
    this.#loading += 1;
    this.#loaded = null;
    this.#problem = null;
    this.#heard.tell();
  }
}
