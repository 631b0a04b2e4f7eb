// The beginning and the end of a connection: its proofs, its errors, and its clean-up.
import { beforeEach, describe, expect, it } from "vitest";
import type { ConnectionState } from "../src/connection";
import { FakeClock, settle } from "./fake-clock";
import { connected, connectTo, failure, FakeDaemon, hmac, PLACE, seen, TOKEN } from "./fake-daemon";

let daemon: FakeDaemon;
let clock: FakeClock;

beforeEach(() => {
  daemon = new FakeDaemon();
  clock = new FakeClock();
});

function answered(answer: object | null): { status: number; text: string } {
  return { status: 200, text: JSON.stringify(answer) };
}

describe("getting in", () => {
  it("logs in with a ticket for the daemon's nonce, and never sends the token", async () => {
    const connection = await connected(daemon, clock);
    expect(daemon.asked).toHaveLength(1);
    expect(daemon.asked[0]).toMatch(new RegExp(`^http://${PLACE}/v1/challenge/${daemon.name}/[0-9a-f]{64}$`));
    expect(daemon.last.url).toBe(`ws://${PLACE}/v1`);
    const ticket = hmac(TOKEN, `vault-steward ticket ${PLACE} 1-nonce`);
    expect(daemon.last.protocols).toEqual(["vault.v1", `vault.ticket.${daemon.name}.1-nonce.${ticket}`]);
    expect(JSON.stringify([daemon.asked, daemon.last.protocols, daemon.last.sent])).not.toContain(TOKEN);
    expect(connection.daemon?.agentCapabilities._meta.vault.name).toBe("Notes");
  });

  it("passes on the daemon's words where one of the two is too old, and comes in once that is mended", async () => {
    daemon.refusal = {
      code: 1011,
      message: "the plugin in Obsidian is version 0.1.0, and the daemon, 0.9.0, works with 0.8.0 and later",
      data: { kind: "outdated", retryable: false, hint: "`steward plugin update`, then restart Obsidian" },
    };
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("works with 0.8.0 and later (`steward plugin update`, then restart Obsidian)");
    daemon.refusal = null;
    connection.retryNow();
    await settle();
    expect(connection.state.kind).toBe("connected");
  });

  it.each([
    ["has another token's proof", () => {
      daemon.challenge = ({ nonce }) => answered({ nonce, proof: hmac("another", "x") });
    }],
    ["gives its client's ticket back for a proof", () => {
      daemon.challenge = ({ nonce }) => answered({ nonce, proof: hmac(TOKEN, `vault-steward ticket ${PLACE} ${nonce}`) });
    }],
    ["has an old answer", () => {
      const old = { nonce: "0-nonce", proof: hmac(TOKEN, `vault-steward challenge ${PLACE} ${"ab".repeat(32)} 0-nonce`) };
      daemon.challenge = () => answered(old);
    }],
    ["has no proof", () => (daemon.challenge = ({ nonce }) => answered({ nonce }))],
    ["has no nonce", () => (daemon.challenge = ({ proof }) => answered({ proof }))],
    ["has a nonce that is not a word", () => {
      const nonce = "a, vault.v1";
      daemon.challenge = () => answered({ nonce, proof: hmac(TOKEN, `vault-steward challenge ${PLACE} x ${nonce}`) });
    }],
    ["speaks something else", () => (daemon.challenge = () => ({ status: 200, text: "<html>" }))],
    ["says nothing", () => (daemon.challenge = () => answered(null))],
    ["knows no such address", () => (daemon.challenge = () => ({ status: 404, text: "" }))],
    // The forwarded proof is valid, but for another port.
    ["passes everything on to the daemon elsewhere", () => (daemon.elsewhere = "127.0.0.1:27999")],
  ])("opens no socket to a program that %s", async (_, act) => {
    act();
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("not this vault's daemon");
    await clock.pass(600_000);
    expect(daemon.sockets).toHaveLength(0);
    expect(daemon.asked.join()).not.toContain(TOKEN);
    daemon.challenge = null;
    daemon.elsewhere = null;
    await clock.pass(60_000);
    expect(connection.state.kind).toBe("connected");
  });

  it("sends no further request for a finished attempt", async () => {
    let address = PLACE;
    const connection = connectTo(daemon, clock, { address: () => address });
    connection.start();
    // The first attempt is pending: its signing runs in parallel with everything else.
    await Promise.resolve();
    address = "127.0.0.1:27999";
    connection.retryNow();
    await settle();
    expect(daemon.asked.map((url) => new URL(url).host)).toEqual([address]);
    expect(connection.state.kind).toBe("connected");
  });

  it("connects to the daemon's own address for any name of this machine", async () => {
    await connected(daemon, clock, { address: () => "localhost:27180" });
    await connected(daemon, clock, { address: () => "27180" });
    expect(daemon.sockets.map(({ url }) => url)).toEqual([`ws://${PLACE}/v1`, `ws://${PLACE}/v1`]);
  });

  it("reports a daemon with another token, or without capacity", async () => {
    const connection = connectTo(daemon, clock, { token: () => Promise.resolve("another token") });
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("steward pair");
    const full = connectTo(daemon, clock);
    daemon.challenge = () => ({ status: 503, text: "" });
    full.start();
    await settle();
    expect(full.state.detail).toContain("too many");
    expect(daemon.sockets).toHaveLength(0);
  });

  it("splits a page's token into its name and its key", async () => {
    const [name, key] = ["page-9-ab-run", "cd".repeat(32)];
    const nonce = "1-nonce";
    const get = (url: string): Promise<{ status: number; text: string }> => {
      const theirs = url.split("/").at(-1) ?? "";
      expect(url).toContain(`/${name}/`);
      return Promise.resolve(answered({ nonce, proof: hmac(key, `vault-steward challenge ${PLACE} ${theirs} ${nonce}`) }));
    };
    const connection = connectTo(daemon, clock, { get, token: () => Promise.resolve(`${name}.${key}`) });
    connection.start();
    await settle();
    const ticket = hmac(key, `vault-steward ticket ${PLACE} ${nonce}`);
    expect(daemon.last.protocols[1]).toBe(`vault.ticket.${name}.${nonce}.${ticket}`);
    connection.stop();
  });

  it("sends its capabilities, with a new nonce each time", async () => {
    await connected(daemon, clock, { capabilities: { approvals: true } });
    await connected(daemon, clock);
    const nonces = daemon.sockets.map((socket) => {
      const params = socket.asked("initialize")[0]?.params as {
        clientCapabilities: { _meta: { vault: { approvals: boolean; nonce: string } } };
      };
      expect(params.clientCapabilities._meta.vault.approvals).toBe(true);
      return params.clientCapabilities._meta.vault.nonce;
    });
    expect(nonces[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  it.each([
    ["another token's", (nonce: string) => new FakeDaemon().proof(nonce, "another")],
    ["none", () => undefined],
    ["no hex", () => "proof"],
    ["an empty one", () => ""],
  ])("sends nothing to a program whose proof is %s, and does not retry", async (_, proof) => {
    const original = daemon.proof;
    daemon.proof = (nonce) => proof(nonce);
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("not this vault's daemon");
    expect(daemon.last.sent.map(({ method }) => method)).toEqual(["initialize"]);
    expect(daemon.last.closed).toBe(true);
    expect(clock.timers).toBe(0);
    await clock.pass(3_600_000);
    expect(daemon.sockets).toHaveLength(1);
    daemon.proof = original;
    connection.retryNow();
    await settle();
    expect(connection.state.kind).toBe("connected");
  });

  it("ignores a program that has not proved itself", async () => {
    daemon.proof = () => "00";
    const connection = connectTo(daemon, clock);
    const told = seen(connection);
    const receive = daemon.receive.bind(daemon);
    daemon.receive = (socket, message) => {
      socket.event("_vault/changed", 1, { path: "Lie.md" });
      receive(socket, message);
      socket.event("_vault/changed", 2, { path: "Another.md" });
    };
    connection.start();
    await settle();
    expect(told).toEqual(["connecting", "refused"]);
  });

  it("reports an absent daemon, and connects when it starts", async () => {
    daemon.there = false;
    const connection = connectTo(daemon, clock);
    const states: ConnectionState[] = [];
    connection.onState((state) => states.push(state));
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("absent");
    expect(connection.state.retryAt).toBe(clock.now() + 250);
    await clock.pass(60_000);
    expect(daemon.sockets).toHaveLength(0);
    // The state does not flicker during the attempts.
    expect(new Set(states.slice(1).map(({ kind }) => kind))).toEqual(new Set(["absent"]));
    daemon.there = true;
    await clock.pass(5_000);
    expect(connection.state).toEqual({ kind: "connected" });
  });

  it("treats an unanswered request as an absent daemon", async () => {
    const connection = connectTo(daemon, clock, { get: () => new Promise(() => undefined) });
    connection.start();
    await settle();
    await clock.pass(5_000);
    expect(connection.state.kind).toBe("absent");
    connection.stop();
    expect(clock.timers).toBe(0);
  });

  it("distinguishes refused from absent, and retries rarely", async () => {
    daemon.opening = "refuse";
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("too many");
    await clock.pass(20_000);
    expect(daemon.sockets).toHaveLength(3);
    await clock.pass(600_000);
    expect(daemon.sockets).toHaveLength(13);
  });

  it("reports a missing pairing, and connects after it", async () => {
    let token: string | null = null;
    const connection = connectTo(daemon, clock, { token: () => Promise.resolve(token) });
    connection.start();
    await settle();
    expect(connection.state).toEqual({ kind: "unpaired" });
    expect(clock.timers).toBe(0);
    token = TOKEN;
    connection.retryNow();
    await settle();
    expect(connection.state.kind).toBe("connected");
  });

  it.each(["example.org:27180", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999", "a b", "127.0.0.1:1@evil:2", ""])(
    "sends the token to no other machine: %s",
    async (address) => {
      const connection = connectTo(daemon, clock, { address: () => address });
      connection.start();
      await settle();
      expect(connection.state.kind).toBe("refused");
      expect(connection.state.detail).toContain("127.0.0.1:27180");
      expect(daemon.sockets).toHaveLength(0);
    },
  );

  it("refuses a daemon with another protocol, and a token that is not a person's", async () => {
    daemon.protocolVersion = 2;
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    expect(connection.state.detail).toContain("version 2");
    daemon.protocolVersion = 1;
    daemon.scope = "mcp";
    connection.retryNow();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("`mcp`");
  });

  it("reports another program at the address", async () => {
    const connection = connectTo(daemon, clock);
    daemon.receive = (socket) => socket.onmessage?.({ data: "<html>" });
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("refused");
    expect(connection.state.detail).toContain("does not speak");
  });

  it("waits at most ten seconds for a socket to open", async () => {
    daemon.opening = "never";
    const connection = connectTo(daemon, clock);
    connection.start();
    await settle();
    await clock.pass(9_999);
    expect(daemon.last.closed).toBe(false);
    await clock.pass(1);
    expect(daemon.sockets[0]?.closed).toBe(true);
    expect(connection.state.kind).toBe("refused");
  });
});

describe("stopping", () => {
  it.each(["connected", "absent", "refused", "connecting", "unpaired"] as const)(
    "leaves no timer, socket or call: %s",
    async (kind) => {
      if (kind === "absent") daemon.there = false;
      if (kind === "refused") daemon.opening = "refuse";
      if (kind === "connecting") daemon.opening = "never";
      const connection = connectTo(daemon, clock, {
        token: () => Promise.resolve(kind === "unpaired" ? null : TOKEN),
      });
      connection.start();
      await settle();
      expect(connection.state.kind).toBe(kind);
      const call = failure(connection.call("session/prompt", { prompt: [] }));
      connection.stop();
      expect((await call).kind).toMatch(/^(dis|not_)connected$/);
      expect(connection.state).toEqual({ kind: "off" });
      expect(clock.timers).toBe(0);
      expect(daemon.sockets.every(({ closed }) => closed)).toBe(true);
      const made = daemon.sockets.length;
      await clock.pass(3_600_000);
      expect(daemon.sockets).toHaveLength(made);
    },
  );

  it("takes effect while the token is being read", async () => {
    let give = (_: string): void => undefined;
    const connection = connectTo(daemon, clock, {
      token: () => new Promise((resolve) => { give = resolve; }),
    });
    connection.start();
    connection.stop();
    give(TOKEN);
    await settle();
    expect(daemon.sockets).toHaveLength(0);
    expect(clock.timers).toBe(0);
  });

  it("can be followed by another start, which requests a reload", async () => {
    const connection = await connected(daemon, clock);
    const told = seen(connection);
    connection.stop();
    connection.start();
    await settle();
    expect(told).toEqual(["off", "connecting", "connected", "snapshot"]);
  });
});

describe("another address or token", () => {
  it("is moved to at once", async () => {
    let address = "127.0.0.1:27180";
    const connection = await connected(daemon, clock, { address: () => address });
    connection.retryNow();
    await settle();
    expect(daemon.sockets).toHaveLength(1);
    address = "127.0.0.1:27181";
    connection.retryNow();
    await settle();
    expect(daemon.last.url).toBe("ws://127.0.0.1:27181/v1");
    expect(connection.state.kind).toBe("connected");
    expect(daemon.sockets[0]?.closed).toBe(true);
  });
});
