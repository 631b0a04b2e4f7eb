// The time machine as an Obsidian view, in a tab of the main area.

import { ItemView, type App, type WorkspaceLeaf } from "obsidian";
import type { Activity } from "./activity";
import type { Connection, Unsubscribe } from "./connection";
import type { Host } from "./host";
import { mountMachine } from "./view/machine-view";

/** The view's type in the workspace. */
export const TIME_MACHINE_VIEW = "vault-steward-time-machine";

/** The history of the vault's changes, and earlier versions of its notes. */
export class TimeMachineView extends ItemView {
  override icon = "history";
  override navigation = false;
  readonly #connection: Connection;
  readonly #activity: Activity;
  readonly #host: Host;
  #unmount: (() => void) | null = null;
  #watching: Unsubscribe | null = null;

  constructor(leaf: WorkspaceLeaf, connection: Connection, activity: Activity, host: Host) {
    super(leaf);
    this.#connection = connection;
    this.#activity = activity;
    this.#host = host;
  }

  override getViewType(): string {
    return TIME_MACHINE_VIEW;
  }

  override getDisplayText(): string {
    return "Time machine";
  }

  override async onOpen(): Promise<void> {
    this.contentEl.addClass("vault-steward-chat");
    this.#mount();
    // Another window has another document, so the view is built again.
    this.#watching = this.contentEl.onWindowMigrated(() => {
      this.#end();
      this.#mount();
    });
  }

  override async onClose(): Promise<void> {
    this.#watching?.();
    this.#watching = null;
    this.#end();
  }

  #mount(): void {
    this.#unmount = mountMachine(this.contentEl, this.#connection, this.#activity, this.#host);
  }

  #end(): void {
    this.#unmount?.();
    this.#unmount = null;
    this.contentEl.empty();
  }
}

/** Reveals the time machine; opens it in a new tab if it is not open. */
export async function openTimeMachine(app: App): Promise<void> {
  const { workspace } = app;
  const [open] = workspace.getLeavesOfType(TIME_MACHINE_VIEW);
  const leaf = open ?? workspace.getLeaf("tab");
  if (!open) await leaf.setViewState({ type: TIME_MACHINE_VIEW, active: true });
  await workspace.revealLeaf(leaf);
}
