// The chat as an Obsidian view. `view/` holds its content; this file opens and closes it.

import { ItemView, type App, type ViewStateResult, type WorkspaceLeaf } from "obsidian";
import type { ActiveNote } from "./host";
import { type ChatHandle, type Kept, read, written } from "./view";

/** The view's type in the workspace. */
export const CHAT_VIEW = "vault-steward-chat";

/** The chat in a sidebar, a tab or its own window. */
export class ChatView extends ItemView {
  override icon = "messages-square";
  override navigation = false;
  readonly #mounted: (root: HTMLElement) => ChatHandle;
  #chat: ChatHandle | null = null;

  constructor(leaf: WorkspaceLeaf, mounted: (root: HTMLElement) => ChatHandle) {
    super(leaf);
    this.#mounted = mounted;
  }

  override getViewType(): string {
    return CHAT_VIEW;
  }

  override getDisplayText(): string {
    return "Steward";
  }

  /**
   * The state that Obsidian restores after a restart: the conversation, the draft, and unsent messages
   * without their images.
   */
  override getState(): Record<string, unknown> {
    return { ...super.getState(), ...(this.#chat && written(this.#chat.kept())) };
  }

  override async setState(state: unknown, result: ViewStateResult): Promise<void> {
    await super.setState(state, result);
    const kept = read(state);
    if (kept && this.#chat?.kept().draft.text === "") this.#chat.restore(kept, false);
  }

  override async onOpen(): Promise<void> {
    this.contentEl.addClass("vault-steward-chat");
    this.#mount();
    this.registerDomEvent(this.contentEl, "focusout", () => this.#save());
    // Another window has another document, so the view is built again.
    this.register(this.contentEl.onWindowMigrated(() => {
      const kept = this.#unmount();
      this.#mount();
      if (kept !== undefined) this.#chat?.restore(kept);
    }));
  }

  override async onClose(): Promise<void> {
    this.#unmount();
  }

  /** Starts another conversation. */
  newConversation(): void {
    this.#chat?.newConversation();
    this.#chat?.focus();
  }

  /** Does something with the conversation that is shown. */
  act(what: Parameters<ChatHandle["act"]>[0]): void {
    this.#chat?.act(what);
  }

  /** Puts a prompt of the person's where they write. */
  prompt(name: string, about: ActiveNote | null): void {
    this.#chat?.prompt(name, about);
  }

  /** Attaches a note to the draft. */
  ask(about: ActiveNote): void {
    this.#chat?.compose("", [about]);
    this.#chat?.focus();
  }

  #mount(): void {
    this.#chat = this.#mounted(this.contentEl);
    this.#chat.onState(() => this.#save());
  }

  #save(): void {
    void this.app.workspace.requestSaveLayout();
  }

  #unmount(): Kept | undefined {
    const kept = this.#chat?.unmount();
    this.#chat = null;
    this.contentEl.empty();
    return kept;
  }
}

/** Whether the chat is visible: not in a closed sidebar, nor behind another tab. */
export function chatIsSeen(app: App): boolean {
  return app.workspace.getLeavesOfType(CHAT_VIEW).some(({ view }) => view.containerEl.isShown());
}

/** Reveals the chat; opens it in the right sidebar if it is not open. */
export async function openChat(app: App): Promise<ChatView | null> {
  const { workspace } = app;
  const leaf =
    workspace.getLeavesOfType(CHAT_VIEW)[0] ??
    (await workspace.ensureSideLeaf(CHAT_VIEW, "right", { active: true, reveal: true }));
  // Obsidian creates a leaf's view when the leaf is first revealed.
  await workspace.revealLeaf(leaf);
  return leaf.view instanceof ChatView ? leaf.view : null;
}
