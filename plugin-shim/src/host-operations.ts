// The daemon's requests to the program that has the vault open (`_vault/host/*`), and that program's own
// notifications: the active note, and whether the window has the focus.

import { Component, normalizePath, Notice, type App } from "obsidian";
import { CallError, type Clock, type Connection } from "./connection";
import { activeNote, fileAppears, openFile } from "./notes";
import type {
  HostNoticeParams,
  HostOpenParams,
  HostOpenResult,
  HostOperation,
  HostRenameParams,
  HostRenameResult,
  HostTrashParams,
  HostTrashResult,
} from "./protocol";

/** The operations that are offered to the daemon. */
export const HOST_OPERATIONS: HostOperation[] = ["active_note", "open", "notice", "trash", "rename"];

/** The number of remembered operation ids. A repeated request is executed only once. */
const REMEMBERED = 500;
const LONGEST_NOTICE = 1_000;

interface Operation {
  opId: string;
  deadlineMs: number;
}

/** Serves the daemon's host requests while it is loaded. */
export class HostOperations extends Component {
  readonly #app: App;
  readonly #connection: Connection;
  readonly #clock: Pick<Clock, "now">;
  readonly #done = new Set<string>();
  /** File changes are made one after another. */
  #before: Promise<void> = Promise.resolve();
  #reported: string | null = null;

  constructor(app: App, connection: Connection, clock: Pick<Clock, "now"> = Date) {
    super();
    this.#app = app;
    this.#connection = connection;
    this.#clock = clock;
  }

  override onload(): void {
    const connection = this.#connection;
    this.register(
      connection.answer("_vault/host/active_note", () =>
        Promise.resolve({ note: activeNote(this.#app) }),
      ),
    );
    this.register(connection.answer("_vault/host/open", (params, signal) => this.#open(params, signal)));
    this.register(
      connection.answer("_vault/host/notice", (params) => Promise.resolve(this.#notice(params))),
    );
    this.register(connection.answer("_vault/host/trash", (params, signal) => this.#trash(params, signal)));
    this.register(connection.answer("_vault/host/rename", (params, signal) => this.#rename(params, signal)));

    this.register(
      connection.onState(({ kind }) => {
        if (kind !== "connected") return;
        this.#reported = null;
        this.#tellFocus();
        this.#tellNote();
      }),
    );
    const { workspace } = this.#app;
    this.registerEvent(workspace.on("file-open", () => this.#tellNote()));
    this.#watchFocus(window);
    this.registerEvent(workspace.on("window-open", ({ win }) => this.#watchFocus(win)));
  }

  #watchFocus(win: Window): void {
    this.registerDomEvent(win, "focus", () => this.#tellFocus());
    this.registerDomEvent(win, "blur", () => this.#tellFocus());
  }

  #tellFocus(): void {
    this.#connection.notify("_vault/host/focus", { focused: activeDocument.hasFocus() });
  }

  #tellNote(): void {
    const path = this.#app.workspace.getActiveFile()?.path ?? null;
    if (path === this.#reported) return;
    this.#reported = path;
    this.#connection.notify("_vault/host/active_note_changed", { path });
  }

  async #open(params: HostOpenParams, signal: AbortSignal): Promise<HostOpenResult> {
    if (this.#begins(params)) {
      await fileAppears(this.#app, params.path, params.deadlineMs, signal);
      await openFile(this.#app, params.path, { line: params.line });
    }
    return { path: this.#app.workspace.getActiveFile()?.path ?? null };
  }

  #notice(params: HostNoticeParams): { shown: boolean } {
    if (this.#begins(params)) {
      const { seconds } = params;
      const duration = seconds === undefined ? undefined : 1000 * seconds;
      new Notice(params.text.slice(0, LONGEST_NOTICE), duration);
    }
    return { shown: true };
  }

  async #trash(params: HostTrashParams, signal: AbortSignal): Promise<HostTrashResult> {
    const path = normalizePath(params.path);
    await this.#inTurn(params, signal, async () => {
      const file = this.#app.vault.getAbstractFileByPath(path);
      if (file === null) throw unknownPath(params.path);
      await this.#app.fileManager.trashFile(file);
    });
    return { exists: await this.#app.vault.adapter.exists(path) };
  }

  async #rename(params: HostRenameParams, signal: AbortSignal): Promise<HostRenameResult> {
    const { adapter } = this.#app.vault;
    const [path, to] = [normalizePath(params.path), normalizePath(params.to)];
    await this.#inTurn(params, signal, async () => {
      const file = this.#app.vault.getAbstractFileByPath(path);
      if (file === null) throw unknownPath(params.path);
      if (await adapter.exists(to)) {
        throw failed(`\`${params.to}\` already exists`, "choose another name");
      }
      if (!(await this.#linksFollowUnasked())) {
        const hint = "turn on `Automatically update internal links` in Obsidian, or let the daemon rename the file";
        throw failed("Obsidian would ask its user whether to update links", hint);
      }
      await this.#app.fileManager.renameFile(file, to);
    });
    return { exists: await adapter.exists(path), toExists: await adapter.exists(to) };
  }

  /**
   * Whether Obsidian updates links without a question. If it asks, `renameFile` does not return until the
   * user clicks, so it must not be called. Obsidian's default is to ask.
   */
  async #linksFollowUnasked(): Promise<boolean> {
    const { adapter, configDir } = this.#app.vault;
    try {
      const settings: unknown = JSON.parse(await adapter.read(`${configDir}/app.json`));
      return (settings as { alwaysUpdateLinks?: unknown } | null)?.alwaysUpdateLinks === true;
    } catch {
      return false;
    }
  }

  /** Whether the operation should be executed: not if it was executed before, nor after its deadline. */
  #begins({ opId, deadlineMs }: Operation): boolean {
    const epoch = this.#connection.daemon?.agentCapabilities._meta.vault.epoch ?? "";
    const name = `${epoch}/${opId}`;
    if (this.#done.has(name)) return false;
    if (deadlineMs <= 0) throw tooLate();
    this.#done.add(name);
    const [oldest] = this.#done;
    if (this.#done.size > REMEMBERED && oldest !== undefined) this.#done.delete(oldest);
    return true;
  }

  /** Executes the operation once, after the earlier ones, and not after its deadline. */
  async #inTurn(
    params: Operation,
    signal: AbortSignal,
    act: () => Promise<void>,
  ): Promise<void> {
    const until = this.#clock.now() + params.deadlineMs;
    const before = this.#before;
    let over = (): void => undefined;
    this.#before = new Promise((resolve) => {
      over = resolve;
    });
    try {
      await before;
      if (signal.aborted || this.#clock.now() > until) throw tooLate();
      if (this.#begins(params)) {
        await inTime(act(), until - this.#clock.now(), signal);
      }
    } finally {
      over();
    }
  }
}

/** Waits for a change until its deadline, so that a change that hangs does not block the others. */
function inTime(work: Promise<void>, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const givenUp = (): void => {
      over();
      reject(tooLate());
    };
    const over = (): void => {
      window.clearTimeout(timer);
      signal.removeEventListener("abort", givenUp);
    };
    const timer = window.setTimeout(givenUp, milliseconds);
    signal.addEventListener("abort", givenUp);
    work.finally(over).then(resolve, reject);
  });
}

function tooLate(): CallError {
  return new CallError("the operation timed out", 0, "timeout", false);
}

function failed(message: string, hint: string): CallError {
  return new CallError(message, 0, "failed", false, hint);
}

function unknownPath(path: string): CallError {
  return failed(`Obsidian cannot find \`${path}\``, "Obsidian may not have noticed a new file yet; try again");
}
