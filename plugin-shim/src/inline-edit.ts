// Edits the selected text by an instruction: the agent proposes, the diff is shown over the note, and the note changes once the person keeps it.

import { ButtonComponent, Modal, type App } from "obsidian";
import { CallError, type Connection } from "./connection";
import type { ConversationResult } from "./protocol";
import type { ActiveNote } from "./host";
import { drawDiff } from "./view/diff-view";
import { isProposed, type Proposed } from "./view/outputs";

/** The selection to edit, and its note. */
export interface Selected extends ActiveNote {
  selection: string;
}

/** The instruction for the agent. The selected text is sent with it, as data. */
function words(path: string, instruction: string): string {
  const link = path.replace(/\.md$/i, "");
  return `Edit only the selected text in [[${link}]], with one call of \`edit_file\`, and leave everything else in the note as it is. If it cannot be done, say why in a sentence. What to do with it:\n\n${instruction}`;
}

/** The dialog, from the instruction to the decision. */
export class InlineEditModal extends Modal {
  readonly #connection: Connection;
  readonly #selected: Selected;
  #field: HTMLTextAreaElement | null = null;
  #status: HTMLElement | null = null;
  #result: HTMLElement | null = null;
  #propose: ButtonComponent | null = null;
  #keep: ButtonComponent | null = null;
  #sessionId: string | null = null;
  #isWorking = false;
  #isClosed = false;

  constructor(app: App, connection: Connection, selected: Selected) {
    super(app);
    this.#connection = connection;
    this.#selected = selected;
  }

  override onOpen(): void {
    const { contentEl } = this;
    const { path, selection } = this.#selected;
    this.modalEl.addClass("vault-steward-inline");
    this.setTitle("Edit the selection");
    contentEl.createDiv({ cls: "vault-steward-inline-text", text: selection, attr: { dir: "auto" } });
    this.#field = contentEl.createEl("textarea", { cls: "vault-steward-lines", attr: { rows: 2, dir: "auto", placeholder: "What to do with it: shorten it, make it a list…", "aria-label": `What to do with the selection in ${path}` } });
    this.#field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.#ask();
    });
    this.#status = contentEl.createDiv({ cls: "vault-steward-inline-status", attr: { role: "status" } });
    // The chat's own rules draw the diff.
    this.#result = contentEl.createDiv({ cls: "vs-chat vault-steward-inline-diff" });
    const buttons = contentEl.createDiv("modal-button-container");
    this.#propose = new ButtonComponent(buttons).setButtonText("Propose").onClick(() => void this.#ask());
    this.#keep = new ButtonComponent(buttons).setButtonText("Keep").setCta().onClick(() => void this.#apply());
    new ButtonComponent(buttons).setButtonText("Discard").onClick(() => this.close());
    this.#draw(null);
    this.#field.focus();
  }

  override onClose(): void {
    this.#isClosed = true;
    const sessionId = this.#sessionId;
    this.contentEl.empty();
    if (sessionId === null || this.#connection.state.kind !== "connected") return;
    // The next message of theirs is about something else.
    if (this.#isWorking) this.#connection.notify("session/cancel", { sessionId });
    this.#connection.call("_vault/end", { sessionId, reason: "the selection was edited" }).catch(() => undefined);
  }

  #say(text: string): void {
    this.#status?.setText(text);
  }

  #draw(proposed: Proposed[] | null): void {
    this.#result?.empty();
    for (const { changes } of proposed ?? []) {
      for (const { diff } of changes) if (diff !== "") this.#result?.appendChild(drawDiff(this.contentEl, diff));
    }
    this.#keep?.setDisabled(proposed === null || proposed.length === 0);
    this.#propose?.setButtonText(proposed === null ? "Propose" : "Propose again");
  }

  async #ask(): Promise<void> {
    const instruction = this.#field?.value.trim() ?? "";
    if (instruction === "" || this.#isWorking) return;
    this.#isWorking = true;
    this.#propose?.setDisabled(true);
    this.#draw(null);
    this.#say("Working…");
    try {
      const { path, selection } = this.#selected;
      const sessionId = await this.#begin();
      const text = words(path, instruction);
      const prompt = [{ type: "text" as const, text }, { type: "resource" as const, resource: { uri: path, text: selection } }];
      const { _meta } = await this.#connection.call("session/prompt", { sessionId, prompt, _meta: { vault: { source: "inline" } } });
      const conversation = await this.#connection.call("_vault/conversation", { sessionId, last: 20, updates: true });
      if (this.#isClosed) return;
      const proposed = proposedIn(conversation, Number(_meta.vault.turn));
      this.#draw(proposed);
      this.#say(proposed.length > 0 ? "" : _meta.vault.answer || "Nothing was proposed.");
    } catch (error) {
      if (!this.#isClosed) this.#say(error instanceof CallError ? error.advice : String(error));
    } finally {
      this.#isWorking = false;
      this.#propose?.setDisabled(false);
    }
  }

  /** Starts a separate conversation in the mode `plan`, in which the agent only proposes. */
  async #begin(): Promise<string> {
    if (this.#sessionId !== null) return this.#sessionId;
    const { sessionId } = await this.#connection.call("session/new", {});
    this.#sessionId = sessionId;
    await this.#connection.call("session/set_mode", { sessionId, modeId: "plan" });
    return sessionId;
  }

  async #apply(): Promise<void> {
    if (this.#sessionId === null) return;
    this.#keep?.setDisabled(true);
    try {
      const { applied, total, failed } = await this.#connection.call("_vault/proposals/apply", { sessionId: this.#sessionId });
      if (applied === total) this.close();
      else this.#say(`${applied} of ${total} applied. ${failed ?? ""}`);
    } catch (error) {
      this.#say(error instanceof CallError ? error.advice : String(error));
    }
  }
}

/** The proposals of a turn. */
function proposedIn({ items }: ConversationResult, turn: number): Proposed[] {
  const updates = items.filter((item) => item.turn === turn).flatMap((item) => item.updates ?? []);
  return updates.flatMap((update) => (update.sessionUpdate === "tool_call_update" && isProposed(update.rawOutput) ? [update.rawOutput] : []));
}
