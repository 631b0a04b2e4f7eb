/** The menu of modes. */

import { choose, MODE_NAMES, modeOf, MODES } from "./mode";
import type { Parts } from "./part";
import { errorText } from "../call-error";
import { showMenu } from "./menu";

const WORDS: Record<string, string> = {
  auto: "asks before large or risky changes",
  ask: "asks before every change",
  plan: "proposes changes; you apply them",
  "read-only": "changes nothing",
};

/** Has a mode chosen for the conversation. */
export function chooseMode(parts: Parts, at: HTMLElement, loosest: string): void {
  const now = modeOf(loosest, parts.chat.info?.mode);
  showMenu(parts, at, "Mode of this conversation", MODES.map((mode) => ({
    text: MODE_NAMES[mode] ?? mode,
    note: modeOf(loosest, mode) === mode ? WORDS[mode] : "looser than the vault's or the agent's mode",
    checked: mode === now,
    disabled: modeOf(loosest, mode) !== mode,
    choose: () =>
      void choose(parts, "mode", mode).then(
        () => parts.announce(`Mode: ${MODE_NAMES[mode]}`),
        (error: unknown) => parts.host.notice(errorText(error)),
      ),
  })));
}
