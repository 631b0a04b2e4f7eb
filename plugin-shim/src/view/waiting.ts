/** The voice messages that wait: stored, and not delivered to a conversation yet. */

import { append, clear, element, show } from "./dom";
import { iconOf, type Parts, textButton } from "./part";
import type { InboxMessage } from "../protocol";
import { errorText } from "../call-error";
import { when } from "./format";

/** The lines of all that waits, above where the person writes. */
export function waitingView(parts: Parts): HTMLElement {
  const { connection, host, scope } = parts;
  const root = element(parts.root, "div", { class: "vs-waiting", attributes: { role: "group", "aria-label": "Spoken messages that are waiting" } });
  let asked = 0;

  const load = async (): Promise<void> => {
    const own = ++asked;
    try {
      const { messages } = await connection.call("_vault/inbox/list", {});
      if (own === asked && !scope.ended) draw(messages.filter(({ state }) => state !== "taken"));
    } catch {
      // It is asked again with the next connection.
      connection.missed();
    }
  };

  const draw = (messages: InboxMessage[]): void => {
    const hadFocus = root.contains(root.ownerDocument.activeElement);
    clear(root);
    for (const message of messages) root.appendChild(line(message));
    show(root, messages.length > 0);
    if (hadFocus) parts.root.querySelector<HTMLElement>(".vs-input")?.focus();
  };

  const line = ({ id, text, state, reason, received }: InboxMessage): HTMLElement => {
    const isAside = state === "set_aside";
    const how = isAside ? `set aside${reason === "" ? "" : `: ${reason}`}` : reason || "waiting to be read";
    const words = element(
      root,
      "div",
      {},
      element(root, "div", { text, attributes: { dir: "auto" } }),
      element(root, "div", { class: "vs-waiting-note", text: `${when(received, parts.now())} · ${how}`, attributes: { dir: "auto" } }),
    );
    const made = element(root, "div", { class: "vs-banner" }, iconOf(parts, "mic"), words);
    const button = (name: string, method: "_vault/inbox/retry" | "_vault/inbox/discard"): void => {
      const one = textButton(made, name, "vs-small");
      // An event reports the new state.
      one.addEventListener("click", () => void connection.call(method, { id }).catch((error: unknown) => host.notice(errorText(error))));
      append(made, one);
    };
    if (isAside) button("Try again", "_vault/inbox/retry");
    button("Discard", "_vault/inbox/discard");
    return made;
  };

  scope.add(connection.onSnapshot(() => void load()));
  scope.add(connection.on("_vault/inbox", () => void load()));
  show(root, false);
  if (connection.state.kind === "connected") void load();
  return root;
}
