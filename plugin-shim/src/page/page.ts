/** The chat as a page that the daemon serves to a browser. */

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
  // Read before the fragment, which holds the code, is removed from the address.
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
      // The page's own daemon, whatever name of this machine is in the address.
      const answer = await window.fetch(new URL(url).pathname, { cache: "no-store" });
      return { status: answer.status, text: await answer.text() };
    },
  });
  const host = new BrowserHost(document, () => connection);
  const activity = new Activity(connection);
  activity.onWaiting((what) => host.alert(what));
  const focus = isMachine ? await showMachine(root, connection, activity, host) : showChat(root, connection, activity, host);
  /** After the login: requests a token with its full lifetime, and the value that admits this tab again. */
  const renew = async (): Promise<void> => {
    const { url } = await connection.call("_vault/page_code", {});
    const renewed = await exchange(window, codeIn(url));
    const epoch = connection.daemon?.agentCapabilities._meta.vault.epoch;
    if (renewed === null || epoch === undefined) return;
    token = Promise.resolve(renewed);
    await keep(window, renewed, epoch);
  };
  connection.onState(({ kind }) => {
    // A failed renewal is repeated with the next connection.
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

/** Shows the chat; the returned function focuses the input field. */
function showChat(root: HTMLElement, connection: Connection, activity: Activity, host: Host): () => void {
  const chat = mountChat(root, connection, activity, host);
  const entitle = (): void => {
    document.title = titleFor(chat.state(), activity.waiting);
  };
  activity.onChange(entitle);
  chat.onState(entitle);
  return () => chat.focus();
}

/** Shows the time machine in its own tab. */
async function showMachine(root: HTMLElement, connection: Connection, activity: Activity, host: Host): Promise<() => void> {
  document.title = `Time machine · ${NAME}`;
  const { mountMachine } = await loadCards();
  mountMachine(root, connection, activity, host);
  return () => root.querySelector<HTMLElement>(".vs-river")?.focus();
}

/** The title of the tab: pending approvals of any conversation come first. */
function titleFor({ kind, approvals }: ChatState, isWaiting: boolean): string {
  const words: Partial<Record<ChatState["kind"], string>> = { working: "Working…", failed: "Failed", away: "Disconnected" };
  const what = words[kind];
  const first = approvals > 0 ? `(${approvals}) Waiting for you` : isWaiting ? "Waiting for you" : what;
  return first === undefined ? NAME : `${first} · ${NAME}`;
}

// In a separate task: parsing the program and building the page each take as long as one task may.
window.setTimeout(() => void start(), 0);
