import type { ObsidianProtocolData } from "obsidian";
import { App } from "obsidian-test-mocks/obsidian";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { storeToken, Pairing, parseLink, parseToken, readToken } from "../src/pairing";
import { FakeClock, settle } from "./fake-clock";
import { connectTo, FakeDaemon, TOKEN } from "./fake-daemon";

let app: ReturnType<App["asOriginalType__"]>;
let book: { address: string; save: ReturnType<typeof vi.fn<() => Promise<void>>> };
let daemon: FakeDaemon;
let clock: FakeClock;

beforeEach(() => {
  app = App.createConfigured__().asOriginalType__();
  book = { address: "127.0.0.1:27180", save: vi.fn(() => Promise.resolve()) };
  daemon = new FakeDaemon();
  clock = new FakeClock();
});

function pairing(): { pairing: Pairing; connection: ReturnType<typeof connectTo> } {
  const connection = connectTo(daemon, clock, {
    address: () => book.address,
    token: () => Promise.resolve(readToken(app)),
  });
  return { pairing: new Pairing(app, book, connection), connection };
}

describe("a token", () => {
  it.each([
    [TOKEN, undefined],
    [`  ${TOKEN}\n`, undefined],
    [`obsidian://vault-steward?token=${TOKEN}`, undefined],
    [`obsidian://vault-steward?token=${TOKEN}&port=27999`, "127.0.0.1:27999"],
  ])("is parsed from pasted text, with the daemon's address", (text, address) => {
    expect(parseToken(text)).toEqual({ token: TOKEN, address });
  });

  it.each(["", "   ", "short", "two words and more of them", `${TOKEN},another`, '"quoted-quoted-quoted"', "obsidian://vault-steward?port=1", `obsidian://vault-steward?token=${TOKEN}&port=none`])(
    "is not parsed from %j",
    (text) => {
      expect(parseToken(text)).toHaveProperty("problem");
    },
  );
});

describe("a link", () => {
  it("contains token and port", () => {
    const link = parseLink({ action: "vault-steward", token: TOKEN, port: "27999" });
    expect(link).toEqual({ token: TOKEN, address: "127.0.0.1:27999" });
  });

  it.each([
    { action: "vault-steward", port: "1" },
    { action: "vault-steward", token: "true" },
    { action: "vault-steward", token: TOKEN, port: "evil.example:1" },
    { action: "vault-steward", token: TOKEN, port: "0" },
    { action: "vault-steward", token: TOKEN, port: "70000" },
  ])("that is invalid is reported: %o", (data: Partial<ObsidianProtocolData>) => {
    expect(parseLink(data as ObsidianProtocolData)).toHaveProperty("problem");
  });

  it("is accepted if the person confirms", async () => {
    const { pairing: made, connection } = pairing();
    connection.start();
    await settle();
    expect(connection.state.kind).toBe("unpaired");
    const host = { confirm: vi.fn(() => Promise.resolve(true)), notice: vi.fn() };
    await made.follow({ action: "vault-steward", token: TOKEN, port: "27999" }, host);
    await settle();
    expect(host.confirm.mock.calls[0]?.join(" ")).toContain("127.0.0.1:27999");
    expect(readToken(app)).toBe(TOKEN);
    expect(book.address).toBe("127.0.0.1:27999");
    expect(book.save).toHaveBeenCalledOnce();
    expect(connection.state.kind).toBe("connected");
    expect(daemon.last.url).toBe("ws://127.0.0.1:27999/v1");
    expect(host.notice.mock.calls).toEqual([["Paired and connected"]]);
    await made.follow({ action: "vault-steward", token: TOKEN }, host);
    expect(host.notice.mock.calls[1]).toEqual(["Already paired and connected"]);
  });

  it.each([
    ["absent", "when the daemon runs"],
    ["refused", "refuses connections"],
  ])("reports a failed connection: %s", async (kind, words) => {
    if (kind === "absent") daemon.there = false;
    else daemon.opening = "refuse";
    const { pairing: made, connection } = pairing();
    connection.start();
    await settle();
    const host = { confirm: () => Promise.resolve(true), notice: vi.fn<(text: string) => void>() };
    await made.follow({ action: "vault-steward", token: TOKEN }, host);
    await settle();
    expect(host.notice).toHaveBeenCalledOnce();
    expect(host.notice.mock.calls[0]?.[0]).toContain(words);
    daemon.there = true;
    daemon.opening = "accept";
    await clock.pass(60_000);
    expect(connection.state.kind).toBe("connected");
    expect(host.notice).toHaveBeenCalledOnce();
  });

  it("from another source changes nothing without confirmation", async () => {
    storeToken(app, TOKEN);
    const { pairing: made, connection } = pairing();
    connection.start();
    await settle();
    const host = { confirm: () => Promise.resolve(false), notice: vi.fn() };
    await made.follow({ action: "vault-steward", token: "evil".repeat(8), port: "666" }, host);
    expect(readToken(app)).toBe(TOKEN);
    expect(book.address).toBe("127.0.0.1:27180");
    expect(connection.state.kind).toBe("connected");
    expect(daemon.sockets).toHaveLength(1);
  });

  it("that is invalid is reported without a question", async () => {
    const host = { confirm: vi.fn(() => Promise.resolve(true)), notice: vi.fn() };
    await pairing().pairing.follow({ action: "vault-steward" }, host);
    expect(host.confirm).not.toHaveBeenCalled();
    expect(host.notice.mock.calls[0]?.[0]).toContain("steward pair");
  });
});

describe("the token", () => {
  it("is only in the secret storage", async () => {
    const { pairing: made } = pairing();
    await made.pair({ token: TOKEN });
    expect(app.secretStorage.listSecrets()).toEqual(["vault-steward-token"]);
    expect(made.paired).toBe(true);
    expect(JSON.stringify(book)).not.toContain(TOKEN);
  });

  it("can be removed", async () => {
    const { pairing: made, connection } = pairing();
    await made.pair({ token: TOKEN });
    connection.start();
    await settle();
    made.forget();
    await settle();
    expect(made.paired).toBe(false);
    expect(connection.state.kind).toBe("unpaired");
    expect(daemon.last.closed).toBe(true);
  });
});
