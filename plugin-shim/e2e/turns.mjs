// The time machine with a journal of ten thousand turns.
import assert from "node:assert/strict";
import { WebSocket } from "ws";
import { HELD, held, words } from "./held.mjs";
import { Stage, picture, until } from "./stage.mjs";

const TURNS = 10_000;
const NOTES = 200;
/** The number of parallel calls that create the journal. */
const ABREAST = 8;
/** The number of requested note states, and the time limit of one in milliseconds. */
const LOOKS = 300;
const LONGEST = 100;
/** The pixels of a wheel turn. */
const STEP = 2_000;

/** A person's own program: sends several calls to the daemon at once. */
async function program(daemon) {
  const socket = new WebSocket(`ws://127.0.0.1:${daemon.port}/v1`, { headers: { authorization: `Bearer ${daemon.token}` } });
  const waits = new Map();
  let id = 0;
  socket.on("message", (data) => {
    const answer = JSON.parse(String(data));
    waits.get(answer.id)?.(answer);
    waits.delete(answer.id);
  });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const call = async (method, params) => {
    const answer = await new Promise((resolve) => {
      waits.set(++id, resolve);
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    return answer.result;
  };
  await call("initialize", { protocolVersion: 1 });
  return { call, close: () => socket.close() };
}

const name = (turn) => `Turns/Note ${turn % NOTES}.md`;
const text = (turn) => `# Note\n\nWritten in turn ${turn}.\n${"The bed by the wall is dug, and beans stand where the peas were.\n".repeat(20)}`;

/** Ten thousand turns scroll smoothly, and any note's state at any of them is shown at once. */
export async function ten_thousand_turns_are_gone_through(set) {
  const stage = await Stage.set(set);
  const own = await program(stage.daemon);
  const begun = Date.now();
  let turn = 0;
  await Promise.all(Array.from({ length: ABREAST }, async () => {
    while (turn < TURNS) {
      const at = turn++;
      const { isError, content } = await own.call("tools/call", { name: "write_file", arguments: { path: name(at), content: text(at) } });
      assert.ok(!isError, content?.[0]?.text);
    }
  }));
  console.log(`        ${TURNS} turns were made in ${Date.now() - begun} ms`);
  const page = await own.call("_vault/timeline", { limit: 500 });
  assert.equal(page.days.reduce((sum, { count }) => sum + count, 0), TURNS);

  /** The milliseconds of many requests: the median, the 99th percentile, the maximum. */
  const timed = async (what, look, looks = LOOKS) => {
    const took = [];
    for (let at = 0; at < looks; at++) {
      const before = performance.now();
      await look(at);
      took.push(performance.now() - before);
    }
    took.sort((one, other) => one - other);
    const [middle, late, worst] = [took[looks >> 1], took[Math.floor(looks * 0.99)], took.at(-1)];
    console.log(`        ${what}: ${middle.toFixed(1)} ms, of a hundred the slowest ${late.toFixed(1)} ms, of all ${worst.toFixed(1)} ms`);
    return late;
  };
  const first = page.sets.at(-1).id - (TURNS - page.sets.length);
  const looked = await timed("a note as of a turn", async (at) => {
    // Over the part of the journal in which every note exists, in an order that no cache helps.
    const changeSet = first + 2 * NOTES + ((at * 7_919) % (TURNS - 2 * NOTES));
    const note = await own.call("_vault/as_of", { path: `Turns/Note ${(at * 31) % NOTES}.md`, at: { changeSet } });
    assert.match(note.text, /Written in turn \d+\./);
  });
  const listed = await timed("all files as of a turn", (at) => own.call("_vault/as_of", { at: { changeSet: first + ((at * 7_919) % TURNS) } }), 20);
  const paged = await timed("a page of the list", (at) => own.call("_vault/timeline", { limit: 200, before: first + TURNS - ((at * 200) % TURNS) }));
  own.close();
  assert.ok(looked < LONGEST, `${looked} ms`);
  assert.ok(listed < LONGEST, `${listed} ms`);
  assert.ok(paged < LONGEST, `${paged} ms`);

  const tab = await stage.open({ width: 1000 });
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Time machine" }).click();
  const river = tab.getByRole("listbox", { name: "Changes, newest first" });
  await tab.locator(".vs-river-row").first().waitFor();
  await river.hover();
  const frames = [];
  const found = await held(set, tab, async () => {
    await tab.evaluate(() => {
      window.__frames = [];
      let before = performance.now();
      const look = (now) => {
        window.__frames?.push(now - before);
        before = now;
        if (window.__frames) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
    let came = Date.now();
    for (let top = -1; ; ) {
      await tab.mouse.wheel(0, STEP);
      const now = await river.evaluate(async (one) => {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        return { top: one.scrollTop, height: one.scrollHeight };
      });
      if (now.top !== top) came = Date.now();
      top = now.top;
      if (now.height > TURNS * 46 && now.top + 2_000 > now.height) break;
      assert.ok(Date.now() - came < 15_000, `it stands still at ${JSON.stringify(now)}`);
    }
    frames.push(...(await tab.evaluate(() => window.__frames.splice(0))));
  });
  frames.sort((one, other) => one - other);
  const of = (part) => frames[Math.floor(frames.length * part)] ?? 0;
  console.log(`        ${frames.length} frames, the middle one after ${of(0.5).toFixed(0)} ms, of a hundred the slowest after ${of(0.99).toFixed(0)} ms; ${words(found)}`);
  assert.ok(found.worked <= HELD, `the main thread was held for ${found.worked} ms`);
  assert.ok(found.byClock <= HELD, `the main thread was held for ${found.byClock} ms by the clock`);
  const rows = await tab.locator(".vs-river-row").count();
  assert.ok(rows < 100, `${rows} rows are in the page`);
  await river.press("End");
  await river.press("Enter");
  await until("words", () => tab.locator(".vs-time-detail").innerText(), (shown) => /Note 0/.test(shown));
  await picture(tab, "time-turns-light");
  await stage.close(tab);
  await stage.strike();
}
