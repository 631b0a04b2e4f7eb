// Over real sockets: the information that a program gets that has the daemon's port, or forwards everything
// from another port.
import { createHmac, randomBytes } from "node:crypto";
import http from "node:http";
import net from "node:net";
import { afterEach, expect, it } from "vitest";
import { WebSocket as NodeSocket, WebSocketServer } from "ws";
import { createConnection, type Connection, type ConnectionState, type Socket } from "../src/connection";

const TOKEN = "ab".repeat(32);

const ends: (() => void)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

function sign(text: string): string {
  return createHmac("sha256", TOKEN).update(text).digest("hex");
}

function listen(server: net.Server | http.Server): Promise<number> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve((server.address() as net.AddressInfo).port)));
}

/** A daemon's login; counts its successful logins. */
async function daemon(): Promise<{ port: number; entered: string[] }> {
  const entered: string[] = [];
  const nonces: string[] = [];
  let port = 0;
  const server = http.createServer(({ url = "" }, response) => {
    const [, name, theirs] = /^\/v1\/challenge\/(\w+)\/(\w+)$/.exec(url) ?? [];
    const nonce = randomBytes(16).toString("hex");
    nonces.push(nonce);
    const isKnown = name === sign("vault-steward name").slice(0, 32);
    response.writeHead(isKnown ? 200 : 401, { connection: "close" });
    response.end(JSON.stringify({ nonce, proof: sign(`vault-steward challenge 127.0.0.1:${port} ${theirs} ${nonce}`) }));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket, { headers }) => {
    const [, ticket] = String(headers["sec-websocket-protocol"]).split(",");
    const [, nonce = "", proof] = ticket?.trim().replace("vault.ticket.", "").split(".") ?? [];
    const right = sign(`vault-steward ticket 127.0.0.1:${port} ${nonce}`);
    if (nonces.includes(nonce) && proof === right) entered.push(nonce);
    socket.close();
  });
  port = await listen(server);
  ends.push(() => {
    server.closeAllConnections();
    server.close();
    sockets.close();
  });
  return { port, entered };
}

/** A program that records all traffic, and answers or forwards it. */
async function hearing(serve: (client: net.Socket, hear: (bytes: Buffer) => void) => void): Promise<{ port: number; heard: () => string }> {
  const all: Buffer[] = [];
  const server = net.createServer((client) => {
    client.on("error", () => undefined);
    serve(client, (bytes) => all.push(bytes));
    ends.push(() => client.destroy());
  });
  const port = await listen(server);
  ends.push(() => server.close());
  return { port, heard: () => Buffer.concat(all).toString("latin1") };
}

function connectTo(port: number): Connection {
  const connection = createConnection({
    address: () => `127.0.0.1:${port}`,
    token: () => Promise.resolve(TOKEN),
    capabilities: {},
    clientInfo: { name: "test", version: "1.0.0" },
    get: (url) =>
      new Promise((resolve, reject) => {
        const request = http.get(url, { agent: false }, (response) => {
          let text = "";
          response.on("data", (chunk) => (text += String(chunk)));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        });
        request.on("error", reject);
      }),
    socket: (url, protocols) => new NodeSocket(url, protocols) as unknown as Socket,
  });
  ends.push(() => connection.stop());
  return connection;
}

/** Waits for the first state that identifies the program at the address. */
function outcome(connection: Connection): Promise<ConnectionState> {
  return new Promise((resolve) => {
    connection.onState((state) => {
      if (state.kind !== "connecting" || state.retryAt !== undefined) resolve(state);
    });
    connection.start();
  });
}

it("logs in at the daemon without sending the token", async () => {
  const { port, entered } = await daemon();
  const state = await outcome(connectTo(port));
  // The fake daemon closes the connection after a successful login.
  expect(state.detail).toContain("lost");
  expect(entered).toHaveLength(1);
});

it.each([
  ["nothing of use", '{"nonce":"0123456789abcdef","proof":"00"}'],
  ["a page", "<html></html>"],
])("sends neither token nor ticket to a program that took the port and answers with %s", async (_, body) => {
  const { port, heard } = await hearing((client, hear) =>
    client.on("data", (bytes) => {
      hear(bytes);
      client.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    }),
  );
  const state = await outcome(connectTo(port));
  expect(state.kind).toBe("refused");
  expect(state.detail).toContain("not this vault's daemon");
  expect(heard()).toContain("GET /v1/challenge/");
  expect(heard()).not.toContain(TOKEN);
  expect(heard()).not.toMatch(/vault\.t/);
});

it("reveals nothing useful to a program that forwards the daemon's answers", async () => {
  const real = await daemon();
  const relay = await hearing((client, hear) => {
    const inner = net.connect(real.port, "127.0.0.1");
    inner.on("error", () => client.destroy());
    client.on("data", hear);
    client.pipe(inner).pipe(client);
  });
  const state = await outcome(connectTo(relay.port));
  expect(state.kind).toBe("refused");
  expect(relay.heard()).toContain("GET /v1/challenge/");
  expect(relay.heard()).not.toContain(TOKEN);
  expect(relay.heard()).not.toMatch(/vault\.t/);
  expect(real.entered).toEqual([]);
});
