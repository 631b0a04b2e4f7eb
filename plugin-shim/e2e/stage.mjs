// The environment of an end-to-end test: a daemon, a model, a proxy, a browser and a page.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { Daemon } from "./daemon.mjs";
import { Door, doorPort } from "./door.mjs";
import { Model } from "./model.mjs";

const HERE = import.meta.dirname;
/** Where screenshots of the main states are left. */
export const SCREENSHOTS = path.join(HERE, "screenshots");
/** The timeout in milliseconds for anything to become visible. */
export const PATIENCE = 15_000;

/** Scripts that count a page's resources, injected before its own. */
export const COUNTERS = `(() => {
  const held = { listeners: 0, timers: new Set(), intervals: new Set(), frames: new Set(), observers: new Set(), sockets: new Set() };
  const add = EventTarget.prototype.addEventListener, remove = EventTarget.prototype.removeEventListener;
  const known = new WeakMap();
  const key = (type, options) => type + "/" + (typeof options === "boolean" ? options : Boolean(options && options.capture));
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    if (listener && (this === window || this === document || this.nodeType)) {
      const mine = known.get(this) ?? new Map(); known.set(this, mine);
      const set = mine.get(key(type, options)) ?? new Set(); mine.set(key(type, options), set);
      if (!set.has(listener)) { set.add(listener); if (this === window || this === document || this === document.body) held.listeners++; }
    }
    return add.call(this, type, listener, options);
  };
  EventTarget.prototype.removeEventListener = function (type, listener, options) {
    const set = known.get(this)?.get(key(type, options));
    if (set?.delete(listener) && (this === window || this === document || this === document.body)) held.listeners--;
    return remove.call(this, type, listener, options);
  };
  const { setTimeout: later, clearTimeout: never, requestAnimationFrame: frame, cancelAnimationFrame: noFrame } = window;
  window.setTimeout = (call, ...rest) => { const id = later(() => { held.timers.delete(id); call(); }, ...rest); held.timers.add(id); return id; };
  window.clearTimeout = (id) => { held.timers.delete(id); never(id); };
  const { setInterval: often, clearInterval: noMore } = window;
  window.setInterval = (...given) => { const id = often(...given); held.intervals.add(id); return id; };
  window.clearInterval = (id) => { held.intervals.delete(id); noMore(id); };
  window.requestAnimationFrame = (call) => { const id = frame((now) => { held.frames.delete(id); call(now); }); held.frames.add(id); return id; };
  window.cancelAnimationFrame = (id) => { held.frames.delete(id); noFrame(id); };
  for (const name of ["ResizeObserver", "MutationObserver", "IntersectionObserver"]) {
    const Inner = window[name];
    window[name] = class extends Inner {
      observe(...given) { held.observers.add(this); return super.observe(...given); }
      disconnect() { held.observers.delete(this); return super.disconnect(); }
    };
  }
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...given) {
      super(...given);
      held.sockets.add(this);
      add.call(this, "close", () => held.sockets.delete(this));
      add.call(this, "message", (event) => { if (String(event.data).includes("Two.")) window.__arrived?.(); });
    }
  };
  const tasks = [];
  new PerformanceObserver((list) => list.getEntries().forEach((one) => tasks.push({ start: one.startTime, duration: one.duration }))).observe({ type: "longtask", buffered: true });
  window.__held = () => ({ listeners: held.listeners, timers: held.timers.size, intervals: held.intervals.size, frames: held.frames.size, observers: held.observers.size, sockets: held.sockets.size });
  window.__tasks = tasks;
})();`;

/** Environments to clean up if a test fails: each has `browser`, `contexts` and `strike`. */
export const stages = new Set();

/** Cleans up after a failed test in its browser. */
export async function strikeAll(name, browser) {
  for (const stage of stages) {
    if (stage.browser !== browser) continue;
    let count = 0;
    for (const context of stage.contexts) {
      for (const tab of context.pages()) await picture(tab, `failed-${name}-${++count}`).catch(() => undefined);
    }
    await stage.strike();
  }
}

export class Stage {
  contexts = new Set();

  /** Starts everything, with a vault and a daemon of its own. */
  static async set({ program, browser, sample, harness, smarthole, chain, hasOllama, folder }) {
    const stage = new Stage();
    stages.add(stage);
    stage.browser = browser;
    stage.model = await Model.start();
    stage.daemon = await Daemon.prepare({ program, sample, model: stage.model, smarthole, chain, hasOllama, folder });
    stage.daemon.port = await doorPort();
    await stage.daemon.start();
    stage.door = await Door.before(stage.daemon, harness);
    return stage;
  }

  /** Opens a tab with the page, connected. */
  async open({ width = 420, height = 760, scale = 1, dark = false, at = null } = {}) {
    const context = await this.browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: scale,
      colorScheme: dark ? "dark" : "light",
      locale: "en-GB",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    this.contexts.add(context);
    const tab = await context.newPage();
    tab.setDefaultTimeout(PATIENCE);
    tab.problems = [];
    tab.on("pageerror", (error) => tab.problems.push(`error: ${error.message}`));
    tab.on("console", (message) => {
      if (message.type() === "error" && !/net::ERR|WebSocket connection|status of 401/.test(message.text())) tab.problems.push(message.text());
    });
    await tab.addInitScript(COUNTERS);
    await tab.goto(at ?? (await this.door.address()));
    if (at === null) await tab.locator(".vs-model").waitFor();
    return tab;
  }

  /** The tests' own page, in which nothing is mounted yet. */
  harness(token = this.daemon.token) {
    this.door.origin = "app://obsidian.md";
    return `http://127.0.0.1:${this.door.port}/harness.html${token ? `?token=${token}` : ""}`;
  }

  async close(tab) {
    const { problems } = tab;
    await tab.context().close();
    this.contexts.delete(tab.context());
    assert.deepEqual(problems, [], "the page reported errors");
  }

  async strike() {
    stages.delete(this);
    for (const context of this.contexts) await context.close().catch(() => undefined);
    this.door?.stop();
    await this.daemon?.remove();
    this.model?.stop();
  }
}

/** Types a message and sends it. */
export async function say(tab, text) {
  await tab.locator(".vs-input").fill(text);
  await tab.locator(".vs-input").press("Enter");
}

/** Waits until no turn runs. */
export async function done(tab) {
  await tab.locator(".vs-work").waitFor({ state: "hidden" });
  await tab.locator(".vs-user.is-pending").waitFor({ state: "detached" });
}

/** Waits until `get` returns a value that `is` accepts. */
export async function until(what, get, is = Boolean) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const got = await get();
    if (is(got)) return got;
    if (Date.now() > end) throw new Error(`no ${what}; last: ${JSON.stringify(got)}`);
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
}

/** A screenshot of the page, for people to look at. */
export async function picture(tab, name) {
  await mkdir(SCREENSHOTS, { recursive: true });
  await tab.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), animations: "disabled" });
}
