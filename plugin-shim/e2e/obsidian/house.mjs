// The environment of the stand-in for Obsidian on a real machine: the disk, the system's trash, its secret
// storage, and the network, as a proxy that blocks all other machines and sets Obsidian's origin on requests.
import http from "node:http";
import net from "node:net";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

/** The origin of Obsidian's desktop app, as servers receive it. */
const ORIGIN = "app://obsidian.md";
/** The port of a daemon with default settings. */
const USUAL = 27_180;
/** The maximum delay in milliseconds after which a change on the disk is noticed. */
const NOTICED = 60;
const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Notes</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/app.css"></head>
<body class="theme-light mod-linux is-focused"><script src="/app.js"></script></body></html>`;

export class House {
  /** Open connections through the proxy, except the page's own. */
  tunnels = new Set();
  /** Blocked requests to other machines from outside of any page. */
  refused = [];
  #server;
  #watchers = new Set();
  #timer;
  #known = new Map();
  #vault;
  #home;
  #scripts;
  #usual;

  /**
   * `scripts` is the folder with the built `app.js`; `home` is for files that are not part of the vault.
   * `usual` is the port that replaces the daemon's default port, since this machine may run its own daemon.
   */
  static async open({ vault, home, scripts, usual }) {
    const house = new House();
    house.#vault = vault;
    house.#home = home;
    house.#scripts = scripts;
    house.#usual = usual;
    house.#server = http.createServer((request, response) => {
      house.#serve(request, response).catch((error) => {
        response.writeHead(500).end(String(error.stack ?? error));
      });
    });
    house.#server.on("connect", (request, socket, head) => house.#tunnel(request, socket, head));
    await new Promise((resolve) => house.#server.listen(0, "127.0.0.1", resolve));
    house.port = house.#server.address().port;
    house.#known = house.#walk();
    house.#timer = setInterval(() => house.#look(), NOTICED);
    return house;
  }

  get address() {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** The proxy settings for a browser. */
  get proxy() {
    return { server: `http://127.0.0.1:${this.port}` };
  }

  /** The files in the system's trash. */
  get trashed() {
    const trash = path.join(this.#home, "trash");
    return existsSync(trash) ? readdirSync(trash) : [];
  }

  close() {
    clearInterval(this.#timer);
    for (const response of this.#watchers) response.destroy();
    for (const socket of this.tunnels) socket.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request, response) {
    const url = new URL(request.url, this.address);
    if (url.host !== `127.0.0.1:${this.port}`) return this.#forward(url, request, response);
    const send = (type, body) => {
      response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
      response.end(body);
    };
    if (url.pathname === "/") return send("text/html; charset=utf-8", PAGE);
    if (url.pathname === "/app.js") return send("text/javascript", await readFile(path.join(this.#scripts, "app.js")));
    if (url.pathname === "/app.css") return send("text/css", await readFile(path.join(import.meta.dirname, "app.css")));
    if (url.pathname === "/changes") {
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
      response.write(":\n\n");
      this.#watchers.add(response);
      response.on("close", () => this.#watchers.delete(response));
      return undefined;
    }
    const { op, ...given } = JSON.parse(await text(request));
    const answer = (await this.#operations[op](given)) ?? null;
    this.#look();
    return send("application/json", JSON.stringify(answer));
  }

  /** The stand-in's commands to the machine. */
  #operations = {
    boot: async () => ({ base: this.#vault, files: [...this.#known.values()], secrets: await this.#secrets() }),
    read: async ({ file }) => {
      const at = this.#at(file);
      return { text: existsSync(at) && statSync(at).isFile() ? await readFile(at, "utf8") : null };
    },
    list: async ({ file }) => {
      const at = this.#at(file);
      return existsSync(at) ? readdirSync(at) : [];
    },
    exists: async ({ file }) => existsSync(this.#at(file)),
    write: async ({ file, text: content }) => {
      await mkdir(path.dirname(this.#at(file)), { recursive: true });
      await writeFile(this.#at(file), content);
    },
    rename: async ({ file, to }) => {
      await mkdir(path.dirname(this.#at(to)), { recursive: true });
      await rename(this.#at(file), this.#at(to));
    },
    /** Into the vault's `.trash`, flat, or into the system's trash. */
    trash: async ({ file, system }) => {
      const trash = system ? path.join(this.#home, "trash") : this.#at(".trash");
      await mkdir(trash, { recursive: true });
      const { name, ext } = path.parse(file);
      let to = path.join(trash, `${name}${ext}`);
      for (let number = 2; existsSync(to); number++) to = path.join(trash, `${name} ${number}${ext}`);
      await rename(this.#at(file), to);
    },
    remove: ({ file }) => rm(this.#at(file), { recursive: true }),
    keepSecrets: ({ secrets }) => writeFile(this.#secretsFile, JSON.stringify(secrets), { mode: 0o600 }),
    request: (given) => this.#request(given),
  };

  get #secretsFile() {
    return path.join(this.#home, "secrets.json");
  }

  async #secrets() {
    return existsSync(this.#secretsFile) ? JSON.parse(await readFile(this.#secretsFile, "utf8")) : {};
  }

  #at(file) {
    const at = path.join(this.#vault, file);
    if (at !== this.#vault && !at.startsWith(this.#vault + path.sep)) throw new Error(`${file} leads out of the vault`);
    return at;
  }

  /** A request outside of any page, as `requestUrl` makes it. */
  #request({ url, method = "GET", headers = {}, body }) {
    const to = new URL(url);
    if (to.port === String(USUAL)) to.port = String(this.#usual);
    if (!isHere(to.hostname)) {
      this.refused.push(url);
      return { error: "net::ERR_INTERNET_DISCONNECTED" };
    }
    return new Promise((resolve) => {
      const asked = http.request(to, { method, headers });
      asked.on("error", () => resolve({ error: "net::ERR_CONNECTION_REFUSED" }));
      asked.on("response", async (answer) => {
        resolve({ status: answer.statusCode, headers: answer.headers, text: await text(answer) });
      });
      asked.end(body);
    });
  }

  /** A request of a page to another server. */
  #forward(url, request, response) {
    if (!isHere(url.hostname)) {
      response.writeHead(403).end();
      return;
    }
    const own = this.address.slice(0, -1);
    const headers = { ...request.headers, host: url.host };
    if (headers.origin === own) headers.origin = ORIGIN;
    const asked = http.request(url, { method: request.method, headers });
    asked.on("error", () => response.destroy());
    asked.on("response", (answer) => {
      const back = { ...answer.headers };
      const name = "access-control-allow-origin";
      if (back[name] === ORIGIN) back[name] = own;
      response.writeHead(answer.statusCode, back);
      answer.pipe(response);
    });
    request.pipe(asked);
  }

  /** A WebSocket of a page. */
  #tunnel(request, socket, head) {
    const [, host, port] = /^(.*):(\d+)$/.exec(request.url) ?? [];
    if (!isHere(host ?? "")) {
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    const inner = net.connect(Number(port) === USUAL ? this.#usual : Number(port), "127.0.0.1");
    const end = () => {
      this.tunnels.delete(socket);
      inner.destroy();
      socket.destroy();
    };
    socket.on("error", end).on("close", end);
    inner.on("error", () => {
      if (!this.tunnels.has(socket)) socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
      end();
    });
    inner.on("close", end).on("connect", () => {
      this.tunnels.add(socket);
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      let asked = head.toString("latin1");
      const heard = (chunk) => {
        asked += chunk.toString("latin1");
        if (!asked.includes("\r\n\r\n")) return;
        socket.off("data", heard);
        const own = this.address.slice(0, -1);
        inner.write(Buffer.from(asked.replace(`\r\nOrigin: ${own}\r\n`, `\r\nOrigin: ${ORIGIN}\r\n`), "latin1"));
        socket.pipe(inner);
        inner.pipe(socket);
      };
      socket.on("data", heard);
      if (asked !== "") heard(Buffer.alloc(0));
    });
  }

  /** The vault as Obsidian sees it, without names that begin with a dot; and each plugin's own data. */
  #walk() {
    const found = new Map();
    const into = (folder) => {
      for (const entry of readdirSync(path.join(this.#vault, folder), { withFileTypes: true })) {
        if (entry.name.startsWith(".")) continue;
        const file = folder === "" ? entry.name : `${folder}/${entry.name}`;
        const isFolder = entry.isDirectory();
        if (isFolder || entry.isFile()) this.#note(found, file, isFolder);
        if (isFolder) into(file);
      }
    };
    into("");
    const plugins = path.join(this.#vault, ".obsidian", "plugins");
    for (const id of existsSync(plugins) ? readdirSync(plugins) : []) {
      const file = `.obsidian/plugins/${id}/data.json`;
      if (existsSync(this.#at(file))) this.#note(found, file, false);
    }
    return found;
  }

  #note(found, file, isFolder) {
    try {
      const { size, mtimeMs, ctimeMs } = statSync(this.#at(file));
      found.set(file, { path: file, isFolder, size, mtime: mtimeMs, ctime: ctimeMs });
    } catch {
      // It was deleted after the listing.
    }
  }

  /** Reports the differences on the disk to the page. */
  #look() {
    const now = this.#walk();
    const told = [];
    for (const [file, before] of this.#known) {
      if (!now.has(file)) told.push({ ...before, kind: "deleted" });
    }
    for (const [file, one] of now) {
      const before = this.#known.get(file);
      if (before === undefined) told.push({ ...one, kind: "created" });
      else if (!one.isFolder && (before.mtime !== one.mtime || before.size !== one.size)) told.push({ ...one, kind: "modified" });
    }
    this.#known = now;
    for (const one of told) {
      for (const response of this.#watchers) response.write(`data: ${JSON.stringify(one)}\n\n`);
    }
  }

  /** The plugin's data in the vault as text; it may be read during a write. */
  data(id) {
    return readFileSync(this.#at(`.obsidian/plugins/${id}/data.json`), "utf8").replace(/\s/g, "");
  }
}

function isHere(host) {
  return ["127.0.0.1", "localhost", "[::1]", "::1"].includes(host);
}

async function text(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** Whether a file exists, for tests that wait for its deletion. */
export async function exists(file) {
  return stat(file).then(() => true, () => false);
}
