/** The panel that replaces the chat without a daemon. */

import { append, box, clear, element, show } from "./dom";
import { iconOf, type Parts, setWords, textButton } from "./part";

export interface Panel {
  root: HTMLElement;
  update(): void;
}

/** Milliseconds of a reconnection before it is shown. */
const PATIENCE = 700;

export function panel(parts: Parts, changed: (isShown: boolean) => void): Panel {
  const { connection, host, scope } = parts;
  const root = element(parts.root, "section", { class: "vs-panel", attributes: { role: "status", "aria-label": "Connection" } });
  let drawn = "";
  let wait: (() => void) | null = null;
  /** Whether there was a connection: then the content stays, and a line shows the state. */
  let wasConnected = false;

  const draw = (): void => {
    const { kind, detail } = connection.state;
    const now = `${kind} ${detail ?? ""} ${wasConnected}`;
    if (now === drawn) return;
    drawn = now;
    clear(root);
    root.classList.toggle("is-line", wasConnected && kind !== "unpaired" && kind !== "refused");
    const isLine = root.classList.contains("is-line");
    const say = (icon: string, title: string, ...more: (Node | string)[]): void => {
      append(root, iconOf(parts, icon, "vs-panel-icon"), element(root, "div", { class: "vs-panel-title", text: title }));
      for (const one of more) {
        if (typeof one !== "string") root.appendChild(one);
        else setWords(root.appendChild(element(root, "p", { attributes: { dir: "auto" } })), one);
      }
    };
    const retry = textButton(root, "Try now", isLine ? "vs-small" : "mod-cta");
    retry.addEventListener("click", () => connection.retryNow());
    switch (kind) {
      case "connected":
        break;
      case "off":
      case "connecting":
        if (isLine) say("plug", "Connection lost. Reconnecting…");
        else say("plug", "Connecting…");
        break;
      case "absent":
        if (isLine) say("plug", "The daemon has stopped. Messages you write will be sent when it is back.", retry);
        else say("plug", "The daemon is not running", "Start it in a terminal:", command(host.command("serve")), "This view connects as soon as the daemon runs.", retry);
        break;
      case "unpaired":
        if (host.kind === "browser") {
          say("key-round", "Not paired yet", detail ?? "This page opens with a one-time code. Run this in a terminal:", command("steward open"));
          break;
        }
        // A new user has not started the daemon either.
        say("key-round", "Not paired yet", "Start the daemon in a terminal, and leave it running:", command(host.command("serve")), "In another terminal, pair this vault with it, and open the link that is printed:", command(host.command("pair")));
        break;
      case "refused":
        if (host.kind === "browser") {
          say("key-round", "This page has expired", "The daemon was restarted, or its token was replaced. Open the page again from a terminal:", command("steward open"));
          break;
        }
        say("shield-alert", "The daemon refused the connection", detail ?? "Pair again: the token may have changed.", ...(/pair/.test(detail ?? "pair") ? [command(host.command("pair"))] : []), retry);
        break;
    }
    const isShown = kind !== "connected";
    show(root, isShown);
    changed(isShown && !isLine);
  };

  const command = (text: string): HTMLElement => {
    const copy = textButton(root, "Copy", "vs-small");
    copy.addEventListener("click", () => void host.copy(text).then(() => host.notice("Copied"), () => undefined));
    return box(root, "vs-command", element(root, "code", { text, attributes: { tabindex: 0 } }), copy);
  };

  const update = (): void => {
    wait?.();
    wait = null;
    const { kind } = connection.state;
    if (kind === "connected") wasConnected = true;
    // A connection that is restored at once is not reported.
    if ((kind === "connecting" || kind === "off") && drawn === "") {
      show(root, false);
      wait = scope.after(PATIENCE, draw);
    } else if (kind === "connecting" && connection.state.detail === undefined && !root.hidden) {
      // The text stays until the state is known, so that it does not flicker.
      return;
    } else {
      draw();
    }
  };
  return { root, update };
}
