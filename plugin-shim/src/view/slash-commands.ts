/** What can be done by a word behind a slash where the person writes. */

import { callAgreed, messageOf, textOf } from "./agreed";
import type { Parts } from "./part";
import { said } from "../call-error";

/** A command: typed as `/name`. */
export interface SlashCommand {
  name: string;
  /** What it does. */
  text: string;
  icon: string;
  run: () => void;
}

/** What the commands ask of the view. */
export interface CommandActions {
  begin: () => void;
  list: () => void;
  timeMachine: () => void;
  model: () => void;
  rename: () => void;
  exportNote: () => void;
  endConversation: () => void;
}

/** The commands that can be run now. */
export function slashCommands(parts: Parts, actions: CommandActions): SlashCommand[] {
  const { chat } = parts;
  const has = chat.info !== null;
  const all: (SlashCommand & { when?: boolean })[] = [
    { name: "new", text: "Start a new conversation", icon: "square-pen", run: actions.begin },
    { name: "conversations", text: "Show all conversations", icon: "message-square", run: actions.list },
    { name: "history", text: "Show the time machine", icon: "rotate-ccw", run: actions.timeMachine },
    { name: "undo", text: "Undo the last change", icon: "undo-2", run: () => void undoLast(parts) },
    { name: "stop", text: "Stop the answer", icon: "square", run: () => chat.stop(), when: chat.isWorking },
    { name: "model", text: "Choose the model", icon: "wrench", run: actions.model },
    { name: "rename", text: "Rename the conversation", icon: "pencil", run: actions.rename, when: has },
    { name: "export", text: "Export the conversation to a note", icon: "file-output", run: actions.exportNote, when: has },
    { name: "end", text: "End the conversation", icon: "circle-check", run: actions.endConversation, when: has && chat.info?.state !== "ended" && !chat.isWorking },
  ];
  return all.filter(({ when = true }) => when);
}

async function undoLast(parts: Parts): Promise<void> {
  try {
    const result = await callAgreed(parts, "undo", {}, { question: "Undo the last change?", action: "Undo" });
    if (result) parts.host.notice(result.isError ? messageOf(result) : textOf(result));
  } catch (error) {
    parts.host.notice(said(error));
  }
}
