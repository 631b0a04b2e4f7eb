// Performance: long answers, long histories, fast starts, and no leaks.
import assert from "node:assert/strict";
import { HELD, held, words } from "./held.mjs";
import { gate } from "./model.mjs";
import { PATIENCE, Stage, done, picture, say, until } from "./stage.mjs";

const LINES = 10_000;
/** Answers that are also reopened. */
const AGAIN = ["paragraphs", "list", "table"];
/** The maximum number of drawings of one answer. */
const RUNS = 3;

/** Draws an answer of one kind, and measures how long it blocks the main thread. */
async function drawLong(set, stage, kind, line) {
  const tab = await stage.open({ width: 500 });
  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  stage.model.next(async (turn) => {
    for (let at = 0; at < LINES; at += 50) {
      turn.text(Array.from({ length: 50 }, (_, more) => line(at + more)).join(""));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    turn.text("\n\n```\n\nThe very end.");
  });
  const found = await held(set, tab, async () => {
    await say(tab, `A long answer, ${kind}`);
    await shown(tab);
  });
  const segments = await tab.locator(".vs-segment").count();
  console.log(`        ${kind}: ${segments} pieces; ${words(found)}`);
  assert.ok(segments > 60, `${kind} is drawn in pieces`);
  await stage.close(tab);
  if (!AGAIN.includes(kind)) return found;
  // Again, as history: the complete text arrives at once.
  const again = await stage.open({ at: "about:blank", width: 500 });
  const address = await stage.door.address();
  const opened = await held(set, again, async () => {
    await again.goto(address);
    await shown(again);
  });
  console.log(`        ${kind}, opened again: ${words(opened)}`);
  await stage.close(again);
  return { worked: Math.max(found.worked, opened.worked), byClock: Math.max(found.byClock, opened.byClock) };
}

/**
 * Waits until the complete answer is drawn, its end and the rest. The check looks at one element: reading the
 * whole text would be a long task itself.
 */
function shown(tab) {
  return tab.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const look = () => {
          const work = document.querySelector(".vs-work");
          const last = document.querySelector(".vs-agent .vs-group:last-child .vs-segment:last-child");
          const isWhole = document.querySelector(".vs-agent .vs-group:empty") === null;
          if (work?.hidden && last?.textContent.includes("The very end.") && isWhole) resolve();
          else if (performance.now() < 80_000) setTimeout(look, 100);
          else reject(new Error("the end is not drawn"));
        };
        look();
      }),
  );
}

/** Answers of 10,000 lines, of every kind that grows: none blocks the main thread. */
export async function a_long_answer_never_freezes(set) {
  const stage = await Stage.set(set);
  const kinds = {
    paragraphs: (at) => (at % 4 === 3 ? "\n" : `Line ${at} of a **long** answer with [[Note ${at}]] and \`code\`.\n`),
    code: (at) => (at === 0 ? "```ts\n" : `const line${at} = "of a very long listing";\n`),
    list: (at) => `- Item ${at} with *words* and a [link](https://example.org/${at})\n`,
    table: (at) => (at === 0 ? "| a | b | c |\n" : at === 1 ? "|---|---|---|\n" : `| ${at} | cell **${at}** | more |\n`),
    one_paragraph: (at) => `Line ${at} of a paragraph that does not end, with _words_.\n`,
  };
  for (const [kind, line] of Object.entries(kinds)) {
    // Another program on the machine can only make it longer, so the minimum is nearest the truth.
    let worked = Infinity;
    let byClock = Infinity;
    for (let run = 0; run < RUNS && Math.max(worked, byClock) > HELD; run++) {
      const found = await drawLong(set, stage, kind, line);
      worked = Math.min(worked, found.worked);
      byClock = Math.min(byClock, found.byClock);
    }
    assert.ok(worked <= HELD, `${kind} held the main thread for ${worked} ms of work`);
    assert.ok(byClock <= HELD, `${kind} held the main thread for ${byClock} ms by the clock`);
  }
  await stage.strike();
}

/** A history of 5,000 messages opens at its end, loads pages on the way up, and its size stays bounded. */
export async function a_long_history_is_paged(set) {
  const stage = await Stage.set(set);
  const turns = 25;
  for (let turn = 0; turn < turns; turn++) {
    stage.model.next(
      (answer) => {
        for (let at = 0; at < 198; at++) answer.call("send_message", { text: `Message ${turn * 200 + at}: about **beds** and [[Compost]].` });
      },
      (answer) => answer.text(`Turn ${turn} is over.`),
    );
  }
  const begun = Date.now();
  // The last turns with the view open: four times as many entries as it retains.
  const seen = 5;
  let tab = null;
  for (let turn = 0; turn < turns; turn++) {
    if (turn === turns - seen) tab = await stage.open();
    await stage.daemon.post(`Turn ${turn}`);
  }
  console.log(`        5,000 messages were made in ${Date.now() - begun} ms`);
  // The open view dropped the oldest entries.
  await tab.locator(".vs-list").getByText(`Turn ${turns - 1} is over.`).waitFor();
  const live = await tab.locator(".vs-entry").count();
  // Whole turns are retained, and one of these has four hundred entries.
  assert.ok(live <= 1_000, `${live} entries`);
  await stage.close(tab);

  let smooth;
  for (let run = 0; run < RUNS && !isSmooth(smooth); run++) smooth = await scrolled(set, stage, `Turn ${turns - 1} is over.`);
  assert.ok(isSmooth(smooth), `scrolling: ${JSON.stringify(smooth)}`);

  const fresh = await stage.open();
  await fresh.locator(".vs-list").getByText(`Turn ${turns - 1} is over.`).waitFor();
  const scroller = fresh.locator(".vs-scroll");
  await until("end in view", () => fromEnd(fresh), (distance) => distance < 4);
  const before = await memory(fresh);
  await scroller.hover();
  let most = 0;
  let oldest = Infinity;
  let came = Date.now();
  while (oldest > 0) {
    assert.ok(Date.now() - came < PATIENCE, `nothing older comes than ${oldest}`);
    await fresh.mouse.wheel(0, -8_000);
    const seen = await fresh.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      return {
        count: document.querySelectorAll(".vs-entry").length,
        first: document.querySelector(".vs-entry .vs-markdown, .vs-entry .vs-user-text")?.textContent ?? "",
      };
    });
    most = Math.max(most, seen.count);
    const turn = /^Turn (\d+)$/.exec(seen.first);
    const number = turn ? Number(turn[1]) * 200 : Number(/Message (\d+)/.exec(seen.first)?.[1] ?? Infinity);
    if (number < oldest) came = Date.now();
    oldest = Math.min(oldest, number);
  }
  // Each garbage collection frees one part of what was taken out.
  const after = await until("memory freed", () => memory(fresh), ({ nodes }) => nodes <= 40_000);
  console.log(`        at most ${most} entries in the page; at the end ${before.nodes} nodes and ${before.heap} MB, at the beginning ${after.nodes} and ${after.heap} MB`);
  assert.ok(most <= 1_000, `${most} entries at once`);
  assert.ok(after.heap <= 32, `${after.heap} MB`);
  // The result of a call may be in another page of the history than the call.
  await until("no call at work", () => fresh.locator(".vs-call.is-running").count(), (count) => count === 0);
  await fresh.locator(".vs-jump").click();
  await fresh.locator(".vs-list").getByText(`Turn ${turns - 1} is over.`).waitFor();
  await until("end in view", () => fromEnd(fresh), (distance) => distance < 4);
  await stage.close(fresh);
  await stage.strike();
}

/** The number of wheel turns, and the pixels of each: about a screen and a half. */
const TURNS = 80;
const STEP = 1_100;
/** Milliseconds of a frame, and the fraction of frames that may take longer. */
const FRAME = 1_000 / 60;
const LATE = 0.1;
/**
 * The maximum ratio of the view's frame times to the browser's own, on a machine that is too slow for the
 * absolute limits. The number of late frames is no measure there: both are near the limit, and a small
 * difference exceeds it.
 */
const BEYOND = 1.5;

/**
 * Scrolls a long history from its end, and a copy of the same elements without the view: the copy shows how
 * long the browser itself needs for its frames, on this machine and now.
 */
async function scrolled(set, stage, last) {
  const tab = await stage.open();
  await tab.locator(".vs-list").getByText(last).waitFor();
  await until("end in view", () => fromEnd(tab), (distance) => distance < 4);
  const view = await turned(set, tab, "the view");
  await tab.evaluate((length) => {
    const scroller = document.querySelector(".vs-scroll");
    const still = scroller.cloneNode(true);
    scroller.replaceWith(still);
    const list = still.querySelector(".vs-list");
    const runs = [...list.children];
    while (still.scrollHeight < length) list.append(...runs.map((run) => run.cloneNode(true)));
    still.scrollTop = still.scrollHeight;
  }, (TURNS + 10) * STEP);
  await until("end in view", () => fromEnd(tab), (distance) => distance < 4);
  const still = await turned(set, tab, "the same, still");
  await stage.close(tab);
  return { view, still };
}

/** Turns the wheel towards the beginning, one step per frame or two, and measures the frame times. */
async function turned(set, tab, what) {
  await tab.locator(".vs-scroll").hover();
  let frames = [];
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
    for (let turn = 0; turn < TURNS; turn++) {
      await tab.mouse.wheel(0, -STEP);
      await tab.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
    frames = await tab.evaluate(() => {
      const all = window.__frames;
      delete window.__frames;
      return all;
    });
  });
  const top = await tab.locator(".vs-scroll").evaluate((one) => one.scrollHeight - one.scrollTop);
  assert.ok(top > 5_000, `it has scrolled: ${top}`);
  frames.sort((one, other) => one - other);
  const at = (part) => frames[Math.floor(frames.length * part)] ?? 0;
  const dropped = frames.reduce((sum, frame) => sum + Math.max(0, Math.round(frame / FRAME) - 1), 0);
  // Among the frames with the most work: the first that must not take longer.
  const slow = found.works[Math.floor(frames.length * LATE)] ?? 0;
  console.log(`        ${what}: ${frames.length} frames, ${dropped} dropped; the middle one after ${at(0.5).toFixed(0)} ms, of a hundred the slowest after ${at(0.99).toFixed(0)} ms; of ten the slowest worked ${slow.toFixed(1)} ms`);
  console.log(`        ${words(found)}`);
  return { middle: at(0.5), slow, worked: found.worked, byClock: found.byClock };
}

function isSmooth(found) {
  if (found === undefined) return false;
  const { view, still } = found;
  const within = (bound, ours, own) => ours <= Math.max(bound, BEYOND * own);
  const isInTime = within(FRAME, view.slow, still.slow) && view.middle < BEYOND * Math.max(FRAME, still.middle);
  return isInTime && within(HELD, view.worked, still.worked) && within(HELD, view.byClock, still.worked);
}

function fromEnd(tab) {
  return tab.locator(".vs-scroll").evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight);
}

/** The memory of a page after a garbage collection: nodes, and megabytes of its scripts. */
async function memory(tab) {
  const session = await tab.context().newCDPSession(tab);
  await session.send("Performance.enable");
  await session.send("HeapProfiler.collectGarbage");
  const { metrics } = await session.send("Performance.getMetrics");
  await session.detach();
  const of = (name) => metrics.find((one) => one.name === name)?.value ?? 0;
  return { nodes: of("Nodes"), heap: Math.round(of("JSHeapUsedSize") / 1e5) / 10 };
}

/** The view is painted at once, a piece of an answer within a frame, and nothing leaks. */
export async function it_is_quick_and_leaves_nothing(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ at: stage.harness() });
  const clean = await tab.evaluate(() => window.__held());
  const times = [];
  for (let round = 0; round < 5; round++) {
    times.push(await tab.evaluate(() => window.mount()));
    await tab.locator(".vs-composer").waitFor();
    if (round === 0) {
      stage.model.next((turn) => turn.call("write_file", { path: "New.md", content: "x\n" }), (turn) => turn.text("Noted."));
      await say(tab, "Hello");
      await tab.locator(".vs-list").getByText("Noted.").waitFor();
      await done(tab);
    }
    await tab.locator(".vs-changes .vs-added").first().waitFor();
    // It is unmounted with open menus, lists and half a sentence.
    await tab.locator(".vs-title").click();
    await tab.locator(".vs-session").waitFor();
    if (round % 2 === 1) {
      await tab.locator(".vs-search").press("Escape");
      await tab.getByRole("button", { name: "More", exact: true }).click();
    }
    await tab.evaluate(() => window.unmount());
    await until("nothing left", () => tab.evaluate(() => window.__held()), (held) => JSON.stringify(held) === JSON.stringify(clean));
    assert.equal(await tab.locator(".vs-chat, .page-chat").count(), 0);
  }
  console.log(`        painted after ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
  // Another program can only make it longer, so the minimum is nearest the truth.
  assert.ok(Math.min(...times) < 100, `${times}`);

  await tab.evaluate(() => window.mount());
  await tab.locator(".vs-changes .vs-added").first().waitFor();
  const on = gate();
  stage.model.next(async (turn) => {
    turn.text("One. ");
    await on.opened;
    turn.text("Two.");
  });
  await say(tab, "In pieces");
  await tab.locator(".vs-list").getByText("One.").waitFor();
  // From the arrival of a piece at the socket to its words in the page, in frames.
  await tab.evaluate(() => {
    window.__waited = new Promise((resolve) => {
      let count = null;
      window.__arrived = () => (count ??= 0);
      const look = () => {
        if (document.querySelector(".vs-list")?.textContent.includes("Two.")) return resolve(count);
        if (count !== null) count += 1;
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
  });
  on.open();
  const waited = await tab.evaluate(() => window.__waited);
  console.log(`        a piece is in the page ${waited} frames after it came`);
  assert.ok(waited !== null && waited <= 1, `${waited} frames`);
  await done(tab);
  await tab.evaluate(() => window.unmount());
  await stage.close(tab);
  await stage.strike();
}

/** Sidebars of every width, both themes, and writing from right to left. */
export async function it_looks_right_everywhere(set) {
  const stage = await Stage.set(set);
  stage.model.next(
    (turn) => {
      turn.thought("The bed plan first.");
      turn.call("read_file", { path: "Garden/Crop rotation.md" });
    },
    (turn) => turn.call("edit_file", { path: "Inbox.md", old_text: "# Inbox", new_text: "# Inbox\n\n- [ ] Order seed potatoes" }),
    (turn) =>
      turn.text(
        "Bed 2 is free after the beans, so **potatoes** can go there:\n\n| Month | What to do |\n|---|---|\n| March | chit them |\n| April | plant, 30 cm apart |\n\n- [x] a bed is free\n- [ ] seed potatoes\n\nThe order is in your [[Inbox]].",
      ),
  );
  const tab = await stage.open({ width: 900, height: 720 });
  await say(tab, "Where can potatoes go this year? Put what I have to buy on my list.");
  await tab.locator(".vs-list").getByText("The order is in your").waitFor();
  await done(tab);
  await tab.locator(".vs-changes .vs-added").first().waitFor();
  await picture(tab, "turn-wide-light");
  await stage.close(tab);
  for (const [name, size] of Object.entries({ "narrow-dark": { width: 240, height: 720, dark: true }, "sidebar-light": { width: 380, height: 760 }, "sidebar-dark": { width: 380, height: 760, dark: true } })) {
    const one = await stage.open(size);
    await one.locator(".vs-changes .vs-added").first().waitFor();
    // The view hides overflow, so each of its parts is checked.
    const wide = await one.evaluate(() =>
      [".vs-chat", ".vs-header", ".vs-body", ".vs-list", ".vs-content", ".vs-composer"].map((part) => {
        const found = document.querySelector(part);
        return `${part}: ${found === null ? "missing" : found.scrollWidth - found.clientWidth}`;
      }),
    );
    assert.deepEqual(wide.filter((part) => !part.endsWith(": 0")), [], `${name} has something that sticks out`);
    await picture(one, `turn-${name}`);
    await stage.close(one);
  }
  const hebrew = await stage.open();
  await hebrew.getByRole("button", { name: "New conversation", exact: true }).click();
  stage.model.next((turn) => turn.text("הגינה צריכה **מים** פעמיים בשבוע.\n\n- ראשון\n- רביעי"));
  await say(hebrew, "מה הגינה צריכה?");
  await hebrew.locator(".vs-list").getByText("פעמיים בשבוע").waitFor();
  await done(hebrew);
  assert.equal(await hebrew.locator(".vs-agent p").first().evaluate((one) => getComputedStyle(one).direction), "rtl");
  await picture(hebrew, "rtl-light");
  await stage.close(hebrew);
  await stage.strike();
}
