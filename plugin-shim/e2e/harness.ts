// The view in the tests' own page: a test can unmount it, or mount it before its daemon runs.
import { Activity } from "../src/activity";
import { BrowserHost } from "../src/page/browser-host";
import { createConnection } from "../src/connection";
import { element } from "../src/view/dom";
import { mountChat } from "../src/view";

const query = new URLSearchParams(window.location.search);
const connection = createConnection({
  address: () => window.location.host,
  token: () => Promise.resolve(query.get("token")),
  capabilities: { approvals: true },
  clientInfo: { name: "harness", version: "0.0.0" },
  get: async (url) => {
    const answer = await window.fetch(url);
    return { status: answer.status, text: await answer.text() };
  },
});
const activity = new Activity(connection);
const host = new BrowserHost(document, () => connection);

/** Mounts the view and returns the milliseconds until it is painted. */
async function mount(): Promise<number> {
  const before = performance.now();
  const root = element(document, "main", { class: "page-chat" });
  document.body.appendChild(root);
  let chat = mountChat(root, connection, activity, host);
  connection.start();
  Object.assign(window, {
    /** Another view replaces it, as when Obsidian moves one to another window. */
    move() {
      const kept = chat.unmount();
      chat = mountChat(root, connection, activity, host);
      chat.restore(kept);
    },
    unmount() {
      chat.unmount();
      connection.stop();
      root.remove();
    },
  });
  // The task after the frame runs when the frame is painted.
  await new Promise((resolve) => window.requestAnimationFrame(() => window.setTimeout(resolve, 0)));
  return performance.now() - before;
}

Object.assign(window, { mount });
