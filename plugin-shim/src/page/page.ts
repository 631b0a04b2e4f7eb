/** The chat as a page that the daemon serves: without Obsidian, in a browser. */

import { Activity } from "../activity";
import { type Connection, createConnection } from "../connection";
import { BrowserHost } from "./browser-host";
import { element } from "../view/dom";
import type { Host } from "../host";
import { loadCards } from "../view/lazy";
import { type ChatState, mountChat } from "../view";
import { codeIn, exchange, keep, tokenFor } from "./exchange";

const NAME = "Vault Steward";

async function start(): Promise<void> {
  // Before the code is taken out of the address, and what goes with it.
  const isMachine = new URLSearchParams(window.location.hash.slice(1)).get("view") === "time-machine";
  const root = element(document, "main", { class: "page-chat" });
  document.body.appendChild(root);
  let token = tokenFor(window).catch(() => null);
  const connection = createConnection({
    address: () => window.location.host,
    token: () => token,
    capabilities: { approvals: true },
    clientInfo: { name: "vault-steward-page", title: "Browser", version: "0.1.0" },
    get: async (url) => {
      // Its own daemon, whatever this machine is called in the address bar.
      const answer = await window.fetch(new URL(url).pathname, { cache: "no-store" });
      return { status: answer.status, text: await answer.text() };
    },
  });
  const host = new BrowserHost(document, () => connection);
  const activity = new Activity(connection);
  activity.onWaiting((what) => host.alert(what));
  const focus = isMachine ? await showMachine(root, connection, activity, host) : showChat(root, connection, activity, host);
  /** Once it is in: a token with all of its time before it, and what lets this tab in again. */
  const renew = async (): Promise<void> => {
    const { url } = await connection.call("_vault/page_code", {});
    const renewed = await exchange(window, codeIn(url));
    const epoch = connection.daemon?.agentCapabilities._meta.vault.epoch;
    if (renewed === null || epoch === undefined) return;
    token = Promise.resolve(renewed);
    await keep(window, renewed, epoch);
  };
  connection.onState(({ kind }) => {
    // What cannot be had now is had with the next connection.
    if (kind === "connected") renew().catch(() => undefined);
  });
  connection.start();
  await token;
  focus();
  window.addEventListener("pagehide", () => connection.stop());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) connection.start();
  });
}

/** The chat; the answer has the person write there. */
function showChat(root: HTMLElement, connection: Connection, activity: Activity, host: Host): () => void {
  const chat = mountChat(root, connection, activity, host);
  const entitle = (): void => {
    document.title = titleFor(chat.state(), activity.waiting);
  };
  activity.onChange(entitle);
  chat.onState(entitle);
  return () => chat.focus();
}

/** The time machine in a tab of its own. */
async function showMachine(root: HTMLElement, connection: Connection, activity: Activity, host: Host): Promise<() => void> {
  document.title = `Time machine · ${NAME}`;
  const { mountMachine } = await loadCards();
  mountMachine(root, connection, activity, host);
  return () => root.querySelector<HTMLElement>(".vs-river")?.focus();
}

/** What the tab is called: what waits for the person first, in whichever conversation it does. */
function titleFor({ kind, approvals }: ChatState, isWaiting: boolean): string {
  const words: Partial<Record<ChatState["kind"], string>> = { working: "Working…", failed: "Failed", away: "Disconnected" };
  const what = words[kind];
  const first = approvals > 0 ? `(${approvals}) Waiting for you` : isWaiting ? "Waiting for you" : what;
  return first === undefined ? NAME : `${first} · ${NAME}`;
}

// In a task of its own: reading the program and building the page are each as long as one may be.
window.setTimeout(() => void start(), 0);
