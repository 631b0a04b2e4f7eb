// A proxy before the daemon: it forwards the page and the socket, and a test can cut it in the middle of an
// answer, as a network failure would. It has the daemon's port at another local address, to which the browser
// is redirected (`browser.mjs`): the daemon proves itself for its own port, so a proxy at another port would
// be refused.
import http from "node:http";
import net from "node:net";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";

/** The proxies' address. */
const BEFORE = "127.0.0.2";
/** The browser's host rule for all ports that a daemon behind a proxy may have. */
export const LEAD = `MAP 127.0.0.1:27??? ${BEFORE}`;

/** Ports in use: a daemon that has not started yet does not hold its port. */
const given = new Set();

/** A port for a daemon and its proxy. */
export async function doorPort() {
  const isFree = (port, host) =>
    new Promise((resolve) => {
      const server = net.createServer().once("error", () => resolve(false));
      server.listen(port, host, () => server.close(() => resolve(true)));
    });
  for (;;) {
    const port = 27_000 + Math.floor(Math.random() * 1_000);
    if (given.has(port)) continue;
    given.add(port);
    if ((await isFree(port, "127.0.0.1")) && (await isFree(port, BEFORE))) return port;
  }
}

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

export class Door {
  #sockets = new Set();
  #server;
  #daemon;
  #harness;
  isOpen = true;

  /** `harness` is the folder of the tests' own page. */
  static async before(daemon, harness) {
    const door = new Door();
    door.#daemon = daemon;
    door.#harness = harness;
    door.#server = http.createServer((request, response) => void door.#serve(request, response));
    door.#server.on("upgrade", (request, socket, head) => door.#upgrade(request, socket, head));
    door.port = daemon.port;
    await new Promise((resolve, reject) => door.#server.once("error", reject).listen(door.port, BEFORE, resolve));
    return door;
  }

  /** A one-time address of the page. */
  async address() {
    const own = `http://127.0.0.1:${this.port}/`;
    const inner = await this.#inner("GET", "/", {});
    if (inner.status !== 200) throw new Error(`the daemon serves no page: ${inner.status}`);
    const printed = await this.#daemon.command("open", "--print");
    const code = /#code=\S+/.exec(printed)?.[0];
    if (code === undefined) throw new Error(`steward open says: ${printed}`);
    return own + code;
  }

  #inner(method, url, headers, body) {
    return new Promise((resolve, reject) => {
      const { port } = this.#daemon;
      const request = http.request({ host: "127.0.0.1", port, method, path: url, headers: { ...headers, host: `127.0.0.1:${port}` } });
      request.on("error", reject).on("response", async (response) => {
        const chunks = [];
        for await (const chunk of response) chunks.push(chunk);
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) });
      });
      request.end(body);
    });
  }

  async #serve(request, response) {
    const [file] = request.url.slice(1).split("?");
    if (file === "harness.html" || file === "harness.js" || file === "harness.css") return this.#own(file, response);
    if (!this.isOpen) return response.destroy();
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = this.#headers(request.headers, null);
    let inner;
    try {
      inner = await this.#inner(request.method, request.url, headers, Buffer.concat(chunks));
    } catch {
      return response.destroy();
    }
    // For developers of the view: a page that was built after the daemon.
    const newer = process.env.STEWARD_PAGE;
    if (newer && inner.status === 200 && /^\/(view\.(js|css)|chunk\.js|cards\.js)$/.test(request.url)) {
      inner.body = await readFile(path.join(newer, request.url));
      inner.headers["content-length"] = String(inner.body.length);
      delete inner.headers.etag;
    }
    response.writeHead(inner.status, inner.headers);
    response.end(inner.body);
  }

  /** The tests' own page, which is available without the daemon, too. */
  async #own(file, response) {
    const page = '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><link rel="stylesheet" href="harness.css"><script src="harness.js" defer></script><body>';
    const text = file === "harness.html" ? page : await readFile(path.join(this.#harness, file));
    response.writeHead(200, { "content-type": TYPES[path.extname(file)], "content-security-policy": this.#policy() });
    response.end(text);
  }

  #policy() {
    return `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws://127.0.0.1:${this.port}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
  }

  /** The headers that the daemon receives: it accepts only its own host name. */
  #headers(given, origin) {
    const headers = { ...given, host: `127.0.0.1:${this.#daemon.port}` };
    if (given.origin !== undefined) headers.origin = origin ?? `http://127.0.0.1:${this.#daemon.port}`;
    return headers;
  }

  #upgrade(request, client, head) {
    if (!this.isOpen) return client.destroy();
    const inner = net.connect(this.#daemon.port, "127.0.0.1");
    const both = [client, inner];
    const end = () => both.forEach((one) => (one.destroy(), this.#sockets.delete(one)));
    both.forEach((one) => (this.#sockets.add(one), one.on("error", end).on("close", end)));
    // The daemon's own page has its real origin; the tests' page gets a configured one.
    const isPage = String(request.headers["sec-websocket-protocol"]).includes("vault.ticket.page-");
    const headers = Object.entries(this.#headers(request.headers, isPage ? null : this.origin)).map(([name, value]) => `${name}: ${value}\r\n`);
    inner.write(`GET ${request.url} HTTP/1.1\r\n${headers.join("")}\r\n`);
    inner.write(head);
    client.pipe(inner);
    inner.pipe(client);
  }

  /** Closes every connection, and refuses new ones until `open`. */
  slam() {
    this.isOpen = false;
    this.#sockets.forEach((socket) => socket.destroy());
    this.#server.closeAllConnections();
  }

  open() {
    this.isOpen = true;
  }

  stop() {
    this.slam();
    this.#server.close();
  }
}

/** A server that must not receive any request: hostile answers refer to it. */
export class Canary {
  asked = [];
  #server;

  static async start() {
    const canary = new Canary();
    canary.#server = http.createServer((request, response) => {
      canary.asked.push(`${request.method} ${request.url}`);
      response.end();
    });
    await new Promise((resolve) => canary.#server.listen(0, "127.0.0.1", resolve));
    canary.port = canary.#server.address().port;
    return canary;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
