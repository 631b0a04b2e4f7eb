// A person's computer: a vault, the program, and a stand-in for Obsidian in its own browser.
import assert from "node:assert/strict";
import { cp, readFile } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import process from "node:process";
import { WebSocket } from "ws";
import { launch } from "../browser.mjs";
import { Daemon } from "../daemon.mjs";
import { Model } from "../model.mjs";
import { SmartHole } from "../smarthole.mjs";
import { COUNTERS, PATIENCE, stages } from "../stage.mjs";
import { House } from "./house.mjs";

const ID = "vault-steward";
const BUILT = path.resolve(import.meta.dirname, "..", "..", "dist");

export class Desk {
  contexts = new Set();
  /** The errors of the page. */
  problems = [];
  /** The file of the plugin's own settings, in the vault. */
  data = `.obsidian/plugins/${ID}/data.json`;
  /** The page's requests to other machines. */
  elsewhere = [];
  #browser;

  /** Prepares everything; only processes that are not the steward's are running. */
  static async set({ program, browser, sample, harness, chain }) {
    const desk = new Desk();
    stages.add(desk);
    // Not opened here; its name identifies the test.
    desk.browser = browser;
    desk.scripts = harness;
    desk.model = await Model.start();
    desk.smarthole = await SmartHole.start();
    desk.port = await freePort();
    const given = { program, sample, model: desk.model, smarthole: desk.smarthole.port, hears: false, port: desk.port, chain };
    // A name that needs quotes in a shell.
    desk.daemon = await Daemon.prepare({ ...given, folder: "Ana's notes" });
    desk.house = await House.open({ vault: desk.daemon.vault, home: desk.daemon.home, scripts: harness, usual: desk.port });
    return desk;
  }

  /** The vault's folder, quoted for a shell. */
  get folder() {
    return `'${this.daemon.vault.replaceAll("'", "'\\''")}'`;
  }

  /** Installs the plugin into the vault with the program; returns the output. */
  async install() {
    const printed = await this.daemon.typed(`steward plugin install --vault ${this.folder}`);
    const folder = path.join(this.daemon.vault, ".obsidian", "plugins", ID);
    // For developers: a plugin that was built after the program.
    const newer = process.env.STEWARD_PLUGIN;
    if (newer) for (const file of ["main.js", "styles.css"]) await cp(path.join(newer, file), path.join(folder, file));
    const carried = await readFile(path.join(folder, "main.js"), "utf8");
    const built = await readFile(path.join(newer ?? BUILT, "main.js"), "utf8");
    assert.equal(carried, built, "the program carries another plugin than dist/ has; build it again");
    return printed;
  }

  /** Opens Obsidian in a new browser. */
  async open({ dark = false } = {}) {
    this.#browser = await launch();
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 800 },
      locale: "en-GB",
      proxy: this.house.proxy,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    this.contexts.add(context);
    await context.addInitScript(COUNTERS);
    context.on("page", (page) => this.#watch(page));
    const tab = await context.newPage();
    await tab.goto(this.house.address);
    await tab.waitForFunction(() => window.standIn !== undefined, null, { timeout: PATIENCE });
    if (dark) await tab.evaluate(() => window.standIn.setDark(true));
    this.tab = tab;
    return tab;
  }

  /** The plugin is installed, enabled and paired: the chat is in the sidebar. */
  async openPaired() {
    await this.install();
    await this.daemon.start();
    const tab = await this.open();
    await tab.evaluate((id) => window.standIn.app._plugins.enable(id), ID);
    const link = (await this.daemon.command("pair")).split("\n").at(-1);
    await tab.evaluate((url) => window.standIn.openLink(url), link);
    await tab.locator(".modal").getByRole("button", { name: "Pair" }).click();
    await tab.locator(".vs-composer").waitFor();
    return tab;
  }

  #watch(page) {
    page.setDefaultTimeout(PATIENCE);
    const asked = (url) => {
      if (!url.startsWith("data:") && new URL(url).hostname !== "127.0.0.1") this.elsewhere.push(url);
    };
    page.on("request", (request) => asked(request.url()));
    page.on("websocket", (socket) => asked(socket.url()));
    page.on("pageerror", (error) => this.problems.push(`error: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" && !/net::ERR|WebSocket connection/.test(message.text())) this.problems.push(message.text());
    });
  }

  /** Closes Obsidian with all its windows, as a person does; the layout is saved. */
  async quit() {
    await this.tab.evaluate(() => window.standIn.quit());
    await this.#browser.close();
    this.contexts.clear();
  }

  /** The page's resources, and the plugin's registrations in the stand-in and the daemon. */
  async held() {
    const inside = await this.tab.evaluate(() => ({ ...window.__held(), ...window.standIn.held }));
    return { ...inside, connections: this.house.tunnels.size };
  }

  notices() {
    return this.tab.evaluate(() => window.standIn.notices);
  }

  /** Calls the daemon as a person's own program does. */
  async call(method, params) {
    const headers = { authorization: `Bearer ${this.daemon.token}` };
    const socket = new WebSocket(`ws://127.0.0.1:${this.daemon.port}/v1`, { headers });
    try {
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
      const ask = (id, name, given) =>
        new Promise((resolve, reject) => {
          socket.on("message", (data) => {
            const answer = JSON.parse(String(data));
            if (answer.id === id) resolve(answer);
          });
          socket.once("close", () => reject(new Error("the daemon ended the connection")));
          socket.send(JSON.stringify({ jsonrpc: "2.0", id, method: name, params: given }));
        });
      await ask(1, "initialize", { protocolVersion: 1 });
      return await ask(2, method, params);
    } finally {
      socket.close();
    }
  }

  async strike() {
    stages.delete(this);
    await this.#browser?.close().catch(() => undefined);
    this.house?.close();
    await this.daemon?.remove();
    this.model?.stop();
    this.smarthole?.stop();
  }
}

/** A port without a listener. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on("error", reject).listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
