/** The approval mode of a conversation: a chip next to the input field. */

import { element, setText, show } from "./dom";
import { loadCards } from "./lazy";
import type { Parts } from "./part";

/** The modes, least restrictive first. */
export const MODES = ["auto", "ask", "plan", "read-only"];

/** Their labels. */
export const MODE_NAMES: Record<string, string> = { auto: "Auto", ask: "Ask", plan: "Plan", "read-only": "Read only" };

/** The stricter of the vault's mode and the conversation's own. */
export function modeOf(vaults: string, own?: string): string {
  return MODES[Math.max(MODES.indexOf(vaults), MODES.indexOf(own ?? ""))] ?? vaults;
}

/** Chooses an option of the conversation; one that has not begun yet begins with it. */
export async function choose({ chat, connection }: Parts, configId: string, value: string): Promise<void> {
  const sessionId = chat.sessionId ?? (await connection.call("session/new", {})).sessionId;
  await connection.call("session/set_config_option", { sessionId, configId, value });
  await (chat.sessionId === null ? chat.open(sessionId) : chat.refresh());
}

/** Shows the mode, and has another one chosen for the conversation. */
export function modeChip(parts: Parts): { root: HTMLButtonElement; update(): void } {
  const { connection, chat, scope } = parts;
  const root = element(parts.root, "button", { class: "vs-mode clickable-icon", attributes: { type: "button", "aria-haspopup": "menu" } });
  let vaults: string | null = null;
  const loosest = (): string => modeOf(vaults ?? "", chat.info?.agentMode);
  const update = (): void => {
    const mode = vaults === null ? "" : modeOf(loosest(), chat.info?.mode);
    setText(root, MODE_NAMES[mode] ?? mode);
    root.dataset["mode"] = mode;
    root.title = `Mode: ${root.textContent}`;
    show(root, mode !== "");
  };
  const take = ({ mode }: { mode: string }): void => {
    vaults = mode;
    update();
  };
  const refresh = (): void => void connection.call("_vault/mode", {}).then(take, () => undefined);
  scope.add(connection.on("_vault/mode_changed", take));
  scope.add(connection.onSnapshot(refresh));
  scope.listen(root, "click", () => {
    if (vaults !== null) void loadCards().then(({ chooseMode }) => chooseMode(parts, root, loosest()));
  });
  if (connection.state.kind === "connected") refresh();
  update();
  return { root, update };
}
