/** The menu of modes. */

import { MODE_NAMES, modeOf, MODES } from "./mode";
import type { Parts } from "./part";
import { said } from "../call-error";
import { showMenu } from "./menu";

const WORDS: Record<string, string> = {
  auto: "asks before large or risky changes",
  ask: "asks before every change",
  plan: "proposes changes; you apply them",
  "read-only": "changes nothing",
};

/** Has a mode chosen for the conversation; one that has not begun yet begins with it. */
export function chooseMode(parts: Parts, at: HTMLElement, vaults: string): void {
  const { chat, connection } = parts;
  const now = modeOf(vaults, chat.info?.mode);
  const choose = async (mode: string): Promise<void> => {
    const sessionId = chat.sessionId ?? (await connection.call("session/new", {})).sessionId;
    await connection.call("session/set_mode", { sessionId, modeId: mode });
    if (chat.sessionId === null) await chat.open(sessionId);
    else await chat.learn();
    parts.announce(`Mode: ${MODE_NAMES[mode]}`);
  };
  showMenu(parts, at, "Mode of this conversation", MODES.map((mode) => ({
    text: MODE_NAMES[mode] ?? mode,
    note: modeOf(vaults, mode) === mode ? WORDS[mode] : "looser than the vault's mode",
    checked: mode === now,
    disabled: modeOf(vaults, mode) !== mode,
    choose: () => void choose(mode).catch((error: unknown) => parts.host.notice(said(error))),
  })));
}
