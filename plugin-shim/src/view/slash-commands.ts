/** Slash commands in the input field: actions of the view, and the person's own prompts. */

import { callAgreed, messageOf, textOf } from "./agreed";
import type { ActiveNote } from "../host";
import type { Draft } from "./draft";
import type { Parts } from "./part";
import type { PromptInfo } from "../protocol";
import { errorText } from "../call-error";

/** A command: typed as `/name`. */
export interface SlashCommand {
  name: string;
  /** Its description. */
  text: string;
  icon: string;
  /** The argument that the command needs. */
  takes?: string;
  /** Undefined for a prompt, which is sent as a message. */
  run?: () => void;
}

/** The actions of the view that the commands call. */
export interface CommandActions {
  begin: () => void;
  list: () => void;
  timeMachine: () => void;
  prompts: () => void;
  tab: () => void;
  model: () => void;
  rename: () => void;
  exportNote: () => void;
  endConversation: () => void;
}

/** The commands that are available now. */
function ownCommands(parts: Parts, actions: CommandActions): SlashCommand[] {
  const { chat } = parts;
  const has = chat.info !== null;
  const all: (SlashCommand & { when?: boolean })[] = [
    { name: "new", text: "Start a new conversation", icon: "square-pen", run: actions.begin },
    { name: "tab", text: "Open another tab", icon: "square-pen", run: actions.tab },
    { name: "conversations", text: "Show all conversations", icon: "message-square", run: actions.list },
    { name: "history", text: "Show the time machine", icon: "rotate-ccw", run: actions.timeMachine },
    { name: "prompts", text: "Show your prompts, and examples", icon: "file-text", run: actions.prompts },
    { name: "undo", text: "Undo the last change", icon: "undo-2", run: () => void undoLast(parts) },
    { name: "stop", text: "Stop the answer", icon: "square", run: () => chat.stop(), when: chat.isWorking },
    { name: "model", text: "Choose the model", icon: "wrench", run: actions.model },
    { name: "rename", text: "Rename the conversation", icon: "pencil", run: actions.rename, when: has },
    { name: "export", text: "Export the conversation to a note", icon: "file-output", run: actions.exportNote, when: has },
    { name: "end", text: "End the conversation", icon: "circle-check", run: actions.endConversation, when: has && chat.info?.state !== "ended" && !chat.isWorking },
  ];
  return all.filter(({ when = true }) => when);
}

/** The person's prompts; empty if the daemon cannot be asked. */
async function prompts({ connection }: Pick<Parts, "connection">): Promise<PromptInfo[]> {
  return connection.call("_vault/prompts", {}).then((answer) => answer.prompts, () => []);
}

/** The commands, and the prompts without those that have a command's name. */
export async function slashCommands(parts: Parts, actions: CommandActions): Promise<SlashCommand[]> {
  const own = ownCommands(parts, actions);
  const others = (await prompts(parts)).filter((prompt) => own.every(({ name }) => name !== prompt.name));
  return [
    ...others.map(({ name, description, hint, needs }) => ({
      name,
      text: description,
      icon: "file-text",
      takes: needs.includes("arguments") ? (hint ?? "…") : undefined,
    })),
    ...own,
  ];
}

/**
 * Runs a message that begins with a slash. Returns the draft to send: the prompt that it names, or the message itself
 * if it names none; null after a command.
 */
export async function typedCommand(parts: Parts, actions: CommandActions, draft: Draft): Promise<Draft | null> {
  const [, name = "", more = ""] = /^\/([\p{L}\p{N}-]+)(?:\s+([\s\S]*))?$/u.exec(draft.text) ?? [];
  const command = more === "" ? ownCommands(parts, actions).find((one) => one.name === name) : undefined;
  if (command?.run) {
    command.run();
    return null;
  }
  if (name === "" || !(await prompts(parts)).some((prompt) => prompt.name === name)) return draft;
  const active = parts.host.activeNote();
  const about = draft.attachments.find(({ selection }) => selection !== undefined) ?? (active?.selection ? active : (draft.attachments[0] ?? active));
  return filled(parts, draft, name, more, about);
}

/** The draft with its text replaced by the prompt of this name. */
async function filled({ connection }: Parts, draft: Draft, name: string, more: string, about: ActiveNote | null): Promise<Draft> {
  const given = { name, arguments: more, note: about?.path, selection: about?.selection };
  const { text, selection } = await connection.call("_vault/prompts/get", given);
  const { attachments } = draft;
  if (!selection || attachments.some((one) => one.selection === selection.text)) return { ...draft, text };
  return { ...draft, text, attachments: [...attachments, { path: selection.path, selection: selection.text }] };
}

/** Puts a prompt into the input field; the person sends it. */
export async function usePrompt(parts: Parts, name: string, about: ActiveNote | null, compose: (text: string, attach?: Draft["attachments"]) => void): Promise<void> {
  const prompt = (await prompts(parts)).find((one) => one.name === name);
  if (prompt?.needs.includes("arguments")) compose(`/${name} `, about ? [about] : []);
  else {
    const { text, attachments } = await filled(parts, { text: "", attachments: [], images: [] }, name, "", about);
    compose(text, attachments);
  }
}

async function undoLast(parts: Parts): Promise<void> {
  try {
    const result = await callAgreed(parts, "undo", {}, { question: "Undo the last change?", action: "Undo" });
    if (result) parts.host.notice(result.isError ? messageOf(result) : textOf(result));
  } catch (error) {
    parts.host.notice(errorText(error));
  }
}
