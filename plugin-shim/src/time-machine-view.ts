// The time machine as an Obsidian view, in a tab of the main area.

import { ItemView, type App, type WorkspaceLeaf } from "obsidian";

/** The view's type in the workspace. */
export const TIME_MACHINE_VIEW = "vault-steward-time-machine";

/** The history of the vault's changes, and earlier versions of its notes. */
export class TimeMachineView extends ItemView {
  override icon = "history";
  override navigation = false;
  readonly #mount: (root: HTMLElement) => () => void;
  #unmount: (() => void) | null = null;

  constructor(leaf: WorkspaceLeaf, mount: (root: HTMLElement) => () => void) {
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
    this.#unmount = this.#mount(this.contentEl);
    // Another window has another document, so the view is built again.
    this.register(this.contentEl.onWindowMigrated(() => {
      this.#end();
      this.#unmount = this.#mount(this.contentEl);
    }));
  }

  override async onClose(): Promise<void> {
    this.#end();
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
