// The plugin's commands. None has a default hotkey, as Obsidian's guidelines require.

import type { App, Plugin } from "obsidian";
import type { Activity } from "./activity";
import { errorText } from "./call-error";
import { openChat } from "./chat-view";
import type { Connection } from "./connection";
import type { Host } from "./host";
import { InlineEditModal } from "./inline-edit";
import type { ToolsCallResult } from "./protocol";
import { sentence } from "./view/format";

/** The parts of the plugin that the commands use. */
export interface CommandOptions {
  app: App;
  connection: Connection;
  activity: Activity;
  host: Host;
}

/** Adds all commands. */
export function addCommands(plugin: Plugin, options: CommandOptions): void {
  const { app, connection, activity, host } = options;
  plugin.addCommand({
    id: "open-chat",
    name: "Open chat",
    callback: () => void openChat(app),
  });
  plugin.addCommand({
    id: "new-conversation",
    name: "Start a new conversation",
    callback: () => void openChat(app).then((view) => view?.newConversation()),
  });
  for (const [id, name, what] of [
    ["rename-conversation", "Rename the conversation", "rename"],
    ["export-conversation", "Export the conversation to a note", "exportNote"],
    ["edit-last-message", "Edit the last message in a branch of its own", "editLast"],
  ] as const) {
    plugin.addCommand({ id, name, callback: () => void openChat(app).then((view) => view?.act(what)) });
  }
  plugin.addCommand({
    id: "ask-about-note",
    name: "Ask about this note",
    checkCallback: (checking) => {
      const note = host.activeNote();
      if (note === null) return false;
      if (!checking) void openChat(app).then((view) => view?.ask({ path: note.path }));
      return true;
    },
  });
  plugin.addCommand({
    id: "ask-about-selection",
    name: "Ask about the selection",
    checkCallback: (checking) => {
      const note = host.activeNote();
      if (note?.selection === undefined) return false;
      if (!checking) void openChat(app).then((view) => view?.ask(note));
      return true;
    },
  });
  plugin.addCommand({
    id: "edit-selection",
    name: "Edit the selection",
    checkCallback: (checking) => {
      const note = host.activeNote();
      if (note?.selection === undefined || connection.state.kind !== "connected") return false;
      if (!checking) new InlineEditModal(app, connection, { path: note.path, selection: note.selection }).open();
      return true;
    },
  });
  plugin.addCommand({
    id: "open-time-machine",
    name: "Open the time machine",
    checkCallback: (checking) => {
      if (connection.state.kind !== "connected") return false;
      if (!checking) host.openTimeMachine?.();
      return true;
    },
  });
  plugin.addCommand({
    id: "undo-last-change",
    name: "Undo the last change",
    checkCallback: (checking) => {
      if (connection.state.kind !== "connected") return false;
      if (!checking) void undoLast(connection, host);
      return true;
    },
  });
  plugin.addCommand({
    id: "stop",
    name: "Stop",
    checkCallback: (checking) => {
      if (connection.state.kind !== "connected" || activity.working === 0) return false;
      if (!checking) activity.cancelAll();
      return true;
    },
  });
}

/** Undoes the last change set that is not undone, and shows the result. */
export async function undoLast(connection: Connection, host: Host): Promise<void> {
  try {
    let result = await undo(connection);
    const refusal = result.isError ? (result.structuredContent as Refusal) : null;
    if (refusal?.code === "approval_needed") {
      const reasons = refusal.data?.reasons?.join("; ") ?? refusal.message ?? "";
      const question = `Undo: ${refusal.data?.title ?? "the last change"}? ${sentence(reasons)}.`;
      if (!(await host.confirm(question, "Undo"))) return;
      result = await undo(connection, refusal.data?.identity ?? "");
    }
    host.notice(result.content.map(({ text }) => text).join("\n"));
  } catch (error) {
    host.notice(errorText(error));
  }
}

interface Refusal {
  code?: string;
  message?: string;
  data?: { title?: string; reasons?: string[]; identity?: string };
}

/** `agreed` is the identity of the change that the user was shown and approved. */
function undo(connection: Connection, agreed?: string): Promise<ToolsCallResult> {
  return connection.call("tools/call", {
    name: "undo",
    arguments: {},
    _meta: { vault: { confirmed: agreed !== undefined, agreed } },
  });
}
