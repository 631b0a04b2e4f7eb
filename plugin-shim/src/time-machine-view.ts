// The time machine as an Obsidian view, in a tab of the main area.

import { ItemView, type App, type WorkspaceLeaf } from "obsidian";
import type { MachineHandle } from "./view/machine-view";

/** The view's type in the workspace. */
export const TIME_MACHINE_VIEW = "vault-steward-time-machine";

/** The history of the vault's changes, and earlier versions of its notes. */
export class TimeMachineView extends ItemView {
  override icon = "history";
  override navigation = false;
  readonly #mount: (root: HTMLElement) => MachineHandle;
  #machine: MachineHandle | null = null;

  constructor(leaf: WorkspaceLeaf, mount: (root: HTMLElement) => MachineHandle) {
    super(leaf);
    this.#mount = mount;
  }

  override getViewType(): string {
    return TIME_MACHINE_VIEW;
  }

  override getDisplayText(): string {
    return "Time machine";
  }

  override async onOpen(): Promise<void> {
    this.contentEl.addClass("vault-steward-chat");
    this.#machine = this.#mount(this.contentEl);
    // Another window has another document, so the view is built again.
    this.register(this.contentEl.onWindowMigrated(() => {
      this.#end();
      this.#machine = this.#mount(this.contentEl);
    }));
  }

  /** Shows only the changes of this note or folder. */
  only(path: string): void {
    this.#machine?.only(path);
  }

  override async onClose(): Promise<void> {
    this.#end();
  }

  #end(): void {
    this.#machine?.end();
    this.#machine = null;
    this.contentEl.empty();
  }
}

/** Reveals the time machine, with the changes of one note; opens it in a new tab if it is not open. */
export async function openTimeMachine(app: App, path?: string): Promise<void> {
  const { workspace } = app;
  const [open] = workspace.getLeavesOfType(TIME_MACHINE_VIEW);
  const leaf = open ?? workspace.getLeaf("tab");
  if (!open) await leaf.setViewState({ type: TIME_MACHINE_VIEW, active: true });
  await workspace.revealLeaf(leaf);
  if (path !== undefined && leaf.view instanceof TimeMachineView) leaf.view.only(path);
}
