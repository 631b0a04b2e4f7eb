/** The chat as a page that the daemon serves: without Obsidian, in a browser. */

import { createConnection } from "../connection";
import { BrowserHost } from "./browser-host";
import { element } from "../view/dom";
import { mountChat } from "../view";
import { tokenFor } from "./exchange";

async function start(): Promise<void> {
  const root = element(document, "main", { class: "page-chat" });
  document.body.appendChild(root);
  const token = tokenFor(window).catch(() => null);
  const connection = createConnection({
    address: () => window.location.host,
    token: () => token,
    capabilities: { approvals: true },
    clientInfo: { name: "vault-steward-page", title: "Browser", version: "0.1.0" },
    probe: async (url) => {
      try {
        return (await window.fetch(url, { cache: "no-store" })).ok;
      } catch {
        return false;
      }
    },
  });
  const host = new BrowserHost(document, () => connection);
  const chat = mountChat(root, connection, host);
  connection.start();
  await token;
  chat.focus();
  window.addEventListener("pagehide", () => connection.stop());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) connection.start();
  });
}

void start();
