// Failures: of the connection, the daemon, the model, and hostile answers.
import assert from "node:assert/strict";
import { Canary } from "./door.mjs";
import { Desk } from "./obsidian/desk.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";
import { gate } from "./model.mjs";

/** The connection breaks in the middle of an answer: nothing is lost or duplicated. */
export async function the_connection_breaks_in_an_answer(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const on = gate();
  const meanwhile = gate();
  stage.model.next(async (turn) => {
    turn.text("The first half, ");
    await on.opened;
    turn.text("what came meanwhile, ");
    await meanwhile.opened;
    turn.text("and the end.");
  });
  await say(tab, "Tell me a long story");
  await tab.locator(".vs-list").getByText("The first half,").waitFor();
  stage.door.slam();
  await tab.locator(".vs-panel.is-line").waitFor();
  on.open();
  await picture(tab, "away-light");
  stage.door.open();
  await tab.locator(".vs-list").getByText("what came meanwhile,").waitFor();
  meanwhile.open();
  await done(tab);
  await until("words", () => tab.locator(".vs-agent .vs-markdown").innerText(), (text) => text.trim() === "The first half, what came meanwhile, and the end.");
  await until("count", () => tab.locator(".vs-agent").count(), (count) => count === 1);
  await until("count", () => tab.locator(".vs-user").count(), (count) => count === 1);
  assert.equal(await tab.locator(".vs-panel").isVisible(), false);

  // A message written while disconnected is sent after the reconnection, once.
  stage.door.slam();
  await tab.locator(".vs-panel.is-line").waitFor();
  await say(tab, "Are you there?");
  await tab.locator(".vs-user.is-pending").waitFor();
  stage.model.next((turn) => turn.text("I am."));
  stage.door.open();
  await tab.locator(".vs-list").getByText("I am.").waitFor();
  await done(tab);
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["Tell me a long story", "Are you there?"]));
  await stage.close(tab);
  await stage.strike();
}

/** The daemon is killed and restarted: the view reconnects and shows the conversation. */
export async function the_daemon_comes_and_goes(set) {
  const stage = await Stage.set(set);
  const page = await stage.open();
  const tab = await stage.open({ at: stage.harness() });
  await tab.evaluate(() => window.mount());
  stage.model.next((turn) => turn.text("Before the end."));
  await say(tab, "Hello");
  await tab.locator(".vs-list").getByText("Before the end.").waitFor();
  await done(tab);
  await stage.daemon.stop("SIGKILL");
  await tab.locator(".vs-panel").waitFor();
  await until("word of it", () => tab.locator(".vs-panel").innerText(), (text) => /daemon has stopped/.test(text));
  await stage.daemon.start();
  await tab.locator(".vs-panel").waitFor({ state: "hidden" });
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["Hello"]));
  stage.model.next((turn) => turn.text("After it."));
  await say(tab, "Still there?");
  await tab.locator(".vs-list").getByText("After it.").waitFor();
  await done(tab);
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["Hello", "Still there?"]));
  await until("words", () => tab.locator(".vs-state").innerText(), (text) => /Done/.test(text));
  await stage.close(tab);

  // The daemon's own page reconnects, too, and survives a reload while the daemon runs.
  await page.locator(".vs-panel").waitFor({ state: "hidden" });
  await until("words", () => page.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["Hello", "Still there?"]));
  const kept = () => page.evaluate(() => Object.values(window.sessionStorage).join());
  const before = await until("what the tab keeps", kept, (text) => /-run\.[0-9a-f]{64}$/.test(text));
  await page.reload();
  await page.locator(".vs-list").getByText("After it.").waitFor();
  await until("another token", kept, (text) => /-run\./.test(text) && text !== before);
  await stage.daemon.stop("SIGKILL");
  await page.locator(".vs-panel.is-line").waitFor();
  await stage.daemon.start();
  await page.locator(".vs-panel").waitFor({ state: "hidden" });
  const address = page.url();
  if (address.includes("#")) throw new Error(`the address has more than it should: ${address}`);
  // The tab's stored value ends with the daemon: a reload after a restart needs a new code.
  await until("what it keeps of this run", kept, (text) => /-run\./.test(text) && text !== before);
  await page.goto("about:blank");
  await stage.daemon.stop("SIGKILL");
  await stage.daemon.start();
  await page.goto(address);
  await page.locator(".vs-panel").getByText("This page has expired").waitFor();
  await until("words", () => page.locator(".vs-panel").innerText(), (text) => /steward open/.test(text));
  await stage.close(page);

  // A restart in the middle of a turn leaves no entry that appears to run forever.
  const other = await stage.open({ at: stage.harness() });
  await other.evaluate(() => window.mount());
  const never = gate();
  stage.model.next(async (turn) => {
    turn.text("I begin…");
    await never.opened;
  });
  await say(other, "Begin");
  await other.locator(".vs-list").getByText("I begin…").waitFor();
  await stage.daemon.stop("SIGKILL");
  never.open();
  await other.locator(".vs-panel.is-line").waitFor();
  await stage.daemon.start();
  await other.locator(".vs-panel").waitFor({ state: "hidden" });
  await done(other);
  await until("count", () => other.locator(".vs-user").count(), (count) => count === 3);
  await stage.close(other);
  await stage.strike();
}

/**
 * A view opened while disconnected shows the conversation after the reconnection, and sends waiting messages
 * once.
 */
export async function a_view_is_opened_while_the_connection_is_broken(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ at: stage.harness() });
  await tab.evaluate(() => window.mount());
  stage.model.next((turn) => turn.text("Before the break."));
  await say(tab, "Hello");
  await tab.locator(".vs-list").getByText("Before the break.").waitFor();
  await done(tab);
  // Text outside of the window is not laid out.
  const words = (of, wanted) => until("words", () => of.locator(".vs-user-text").allTextContents(), (texts) => texts.join() === wanted);

  stage.door.slam();
  await tab.locator(".vs-panel.is-line").waitFor();
  await say(tab, "Are you there?");
  await tab.locator(".vs-user.is-pending").waitFor();
  // In place of it, beside it on the same connection, and in a page without an earlier view.
  await tab.evaluate(() => window.move());
  await tab.evaluate(() => window.mount());
  const late = await stage.open({ at: stage.harness() });
  await late.evaluate(() => window.mount());
  const views = [tab.locator("main").nth(0), tab.locator("main").nth(1), late.locator("main")];
  for (const one of views) {
    await one.locator(".vs-panel").waitFor();
    assert.equal(await one.locator(".vs-composer").isVisible(), false);
    assert.equal(await one.locator(".vs-entry").count(), 0);
  }
  assert.equal(stage.model.requests.length, 1);

  const on = gate();
  stage.model.next(async (turn) => {
    await on.opened;
    turn.text("I am.");
  });
  stage.door.open();
  for (const one of views) {
    await one.locator(".vs-panel").waitFor({ state: "hidden" });
    await one.locator(".vs-list").getByText("Before the break.").waitFor();
    await words(one, "Hello,Are you there?");
  }
  // It disconnects again before the answer: the received message is not sent again.
  stage.door.slam();
  await views[0].locator(".vs-panel.is-line").waitFor();
  on.open();
  stage.door.open();
  for (const one of views) {
    await one.locator(".vs-list").getByText("I am.").waitFor();
    await done(one);
    await words(one, "Hello,Are you there?");
    await until("count", () => one.locator(".vs-agent").count(), (count) => count === 2);
  }
  assert.equal(stage.model.requests.length, 2);
  await stage.close(tab);
  await stage.close(late);
  await stage.strike();
}

/** Messages that wait when Obsidian quits are there afterwards, and delivered once. */
export async function what_waits_outlives_obsidian(set) {
  const desk = await Desk.set(set);
  let tab = await desk.openPaired();
  const words = (wanted) => until("words", () => tab.locator(".vs-user-text").allTextContents(), (texts) => texts.join() === wanted);
  desk.model.next((turn) => turn.text("Before."));
  await say(tab, "Hello");
  await tab.locator(".vs-list").getByText("Before.").waitFor();
  await done(tab);
  await desk.daemon.stop();
  await tab.locator(".vs-panel.is-line").waitFor();
  await say(tab, "Are you there?");
  await tab.locator(".vs-user.is-pending").waitFor();
  await desk.quit();

  await desk.daemon.start();
  tab = await desk.open();
  const failed = tab.locator(".vs-user.is-failed");
  await failed.getByText("May not have arrived before Obsidian quit").waitFor();
  await words("Hello\nPotting bench,Are you there?");
  await picture(tab, "unsent-light");
  assert.equal(desk.model.requests.length, 1);
  desk.model.next((turn) => turn.text("I am."));
  await failed.getByRole("button", { name: "Send again" }).click();
  await tab.locator(".vs-list").getByText("I am.").waitFor();
  await done(tab);
  await words("Hello\nPotting bench,Are you there?");
  await desk.quit();

  tab = await desk.open();
  await tab.locator(".vs-list").getByText("I am.").waitFor();
  await words("Hello\nPotting bench,Are you there?");
  assert.equal(await tab.locator(".vs-user.is-failed").count(), 0);
  assert.equal(desk.model.requests.length, 2);
  await desk.quit();
  assert.deepEqual(desk.problems, [], "the page reported errors");
  await desk.strike();
}

/** Without a daemon the view shows how to start it, and connects automatically. */
export async function a_view_waits_for_the_daemon(set) {
  const stage = await Stage.set(set);
  const at = stage.harness();
  await stage.daemon.stop();
  const tab = await stage.open({ at });
  await tab.evaluate(() => window.mount());
  const panel = tab.locator(".vs-panel");
  await panel.getByText("The daemon is not running").waitFor();
  await until("words", () => panel.innerText(), (text) => /steward serve/.test(text));
  assert.equal(await tab.locator(".vs-composer").isVisible(), false);
  await picture(tab, "absent-light");
  await stage.daemon.start();
  await panel.waitFor({ state: "hidden" });
  await say(tab, "Hello");
  await tab.locator(".vs-list").getByText("Noted.").waitFor();
  await done(tab);
  await stage.close(tab);

  const unpaired = await stage.open({ at: stage.harness(null), dark: true });
  await unpaired.evaluate(() => window.mount());
  await unpaired.locator(".vs-panel").getByText("Not paired yet").waitFor();
  await picture(unpaired, "unpaired-dark");
  await stage.close(unpaired);

  const wrong = await stage.open({ at: stage.harness("0".repeat(64)) });
  await wrong.evaluate(() => window.mount());
  await wrong.locator(".vs-panel").getByText("This page has expired").waitFor();
  await stage.close(wrong);
  await stage.strike();
}

/** The model fails: the turn ends with the reason, and can be retried. */
export async function a_model_that_fails_is_told(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  stage.model.next((turn) => turn.fail());
  await say(tab, "Hello");
  await tab.locator(".vs-end.is-error").waitFor();
  await done(tab);
  await picture(tab, "failed-light");
  stage.model.next((turn) => turn.text("Now it works."));
  await tab.getByRole("button", { name: "Try again" }).click();
  await tab.locator(".vs-list").getByText("Now it works.").waitFor();
  await done(tab);
  assert.equal(await tab.locator(".vs-end").count(), 0);
  await until("count", () => tab.locator(".vs-user").count(), (count) => count === 1);
  await stage.close(tab);
  await stage.strike();
}

/** A hostile answer: its resources are at `at`, and its scripts would set `__harm`. */
function traps(at) {
  return `
![picture](${at}/image.png) ![[${at}/embed.png]] ![ref][r]

[r]: ${at}/reference.png

<img src="${at}/html.png" onerror="window.__harm=1"> <iframe src="${at}/frame"></iframe>

<script>window.__harm=2</script><script src="${at}/script.js"></script>
<link rel="stylesheet" href="${at}/style.css"><style>@import "${at}/import.css"; body{background:url(${at}/css.png)}</style>
<object data="${at}/object"></object><video src="${at}/video" autoplay></video><svg><image href="${at}/svg.png"/><script>window.__harm=3</script></svg>
<meta http-equiv="refresh" content="0;url=${at}/refresh"><base href="${at}/"><form action="${at}/form"><button autofocus onfocus="window.__harm=4">x</button></form>

[script](javascript:window.__harm=5) [tabbed](java\tscript:window.__harm=6) [data](data:text/html,<script>window.__harm=7</script>) [vb](vbscript:x) [file](file:///etc/passwd) [obsidian](obsidian://open?vault=x) [blob](blob:${at}/x) <javascript:window.__harm=8>

[entity](&#106;avascript:window.__harm=9) [user](https://bank.example@${at.slice(7)}/user) [protocol](//${at.slice(7)}/relative)

[https://bank.example](${at}/phish) and [[Compost|${at}/alias]]

| a | b |
|---|---|
| ![x](${at}/table.png) | <img src=${at}/cell.png> |

\`\`\`html
<img src="${at}/code.png" onerror="window.__harm=10">
\`\`\`

${FORMULAS.map((formula) => `$${formula.replaceAll("AT", at)}$`).join(" and ")}

$$
\\bbox[position:fixed;inset:0;background:url(${at}/block.png)]{x}
$$
`;
}

/** Harmful formulas for MathJax. */
const FORMULAS = [
  String.raw`\mmlToken{mi}[style="background-image:url(AT/token.png)"]{x}`,
  String.raw`\mmlToken{mi}[href="javascript:window.__harm=13"]{formula}`,
  String.raw`\mmlToken{mglyph}[src="AT/glyph.png"]{}`,
  String.raw`\mmlToken{mi}[class="modal",id="trap"]{x}`,
  String.raw`\bbox[background-image:url(AT/box.png)]{x}`,
  String.raw`\bbox[position:fixed;top:0;left:0;width:100vw;height:100vh]{x}`,
  String.raw`\href{AT/href}{formula}`,
  String.raw`\style{background-image:url(AT/style.png)}{x}`,
  String.raw`\class{modal}{x}`,
  String.raw`\colorbox{url(AT/color.png)}{x}`,
  String.raw`\DeclareMathOperator{\sin}{evil}`,
];

/** The page contains only the answer's text. */
async function nothingButWords(tab) {
  const inside = await tab.locator(".vs-list").evaluate((list) => {
    const drawn = [...list.querySelectorAll(".vs-formula, .vs-formula-block")].flatMap((one) => [...one.querySelectorAll("[style]")]);
    const found = [...list.querySelectorAll("img, iframe, script, link, style, object, embed, video, audio, image, meta, base, form, a[href], .modal, #trap, [onerror], [onfocus], [style]")];
    const bad = ({ style }) => /url|fixed|absolute/.test(style.cssText);
    return found.filter((one) => !drawn.includes(one) || bad(one)).map((one) => one.outerHTML);
  });
  assert.deepEqual(inside, []);
  for (const name of ["script", "tabbed", "data", "vb", "file", "obsidian", "blob", "entity", "user", "protocol"]) {
    assert.equal(await tab.locator(".vs-agent .vs-link", { hasText: new RegExp(`^${name}`) }).count(), 0, name);
  }
}

/** A hostile answer loads nothing, runs nothing, and opens only clicked links. */
export async function a_hostile_answer_does_nothing(set) {
  const stage = await Stage.set(set);
  const canary = await Canary.start();
  const tab = await stage.open({ height: 1400 });
  const asked = [];
  tab.on("request", (request) => asked.push(request.url()));
  const at = `http://127.0.0.1:${canary.port}`;
  stage.model.next((turn) => {
    turn.thought(`<img src="${at}/thought.png" onerror="window.__harm=11">`);
    turn.text(traps(at));
  });
  await say(tab, `<img src="${at}/mine.png" onerror="window.__harm=12">`);
  await done(tab);
  await tab.locator(".vs-thought summary").click();
  // Any load would have started by now: the page was drawn and laid out.
  await tab.evaluate(() => new Promise((resolve) => setTimeout(resolve, 600)));
  assert.equal(await tab.evaluate(() => window.__harm), undefined);
  assert.deepEqual(canary.asked, []);
  assert.deepEqual(asked.filter((url) => url.includes(String(canary.port))), []);
  await nothingButWords(tab);
  // A link's destination is beside it, whatever its text.
  const phish = tab.locator(".vs-agent .vs-link", { hasText: "https://bank.example" });
  await until("words", () => phish.innerText(), (text) => new RegExp(`127\\.0\\.0\\.1:${canary.port}`).test(text));
  await picture(tab, "hostile-light");
  // Only a click opens it: here in a new tab, which requests the canary.
  const opened = tab.context().waitForEvent("page");
  await phish.click();
  await opened;
  await until("request", () => canary.asked.length, (count) => count > 0);
  assert.deepEqual([...new Set(canary.asked)].filter((one) => one !== "GET /favicon.ico"), ["GET /phish"]);
  await stage.close(tab);
  canary.stop();
  await stage.strike();
}

/** Nor does it in Obsidian, where no content security policy protects the page and formulas are drawn. */
export async function a_hostile_answer_does_nothing_in_obsidian(set) {
  const desk = await Desk.set(set);
  const canary = await Canary.start();
  const tab = await desk.openPaired();
  const at = `http://127.0.0.1:${canary.port}`;
  desk.model.next((turn) => {
    turn.thought(`<img src="${at}/thought.png" onerror="window.__harm=11">`);
    turn.text(traps(at));
  });
  await say(tab, `<img src="${at}/mine.png" onerror="window.__harm=12">`);
  await done(tab);
  await tab.locator(".vs-thought summary").click();
  // Formulas are drawn, but a formula that is moved far away is not visible outside its place.
  const raised = String.raw`$\smash{\rlap{\raise{9em}{\text{Agree}}}}$`;
  desk.model.next((turn) => turn.text(`The wave is $\\sin x$. ${raised}`));
  await say(tab, "Draw it");
  const formulas = tab.locator(".vs-agent").last().locator(".vs-formula");
  await until("formulas", () => formulas.count(), (count) => count === 2);
  await done(tab);
  await tab.evaluate(() => new Promise((resolve) => setTimeout(resolve, 600)));
  assert.equal(await tab.evaluate(() => window.__harm), undefined);
  assert.deepEqual(canary.asked, []);
  await nothingButWords(tab);
  const written = await tab.locator(".vs-agent .vs-math").allInnerTexts();
  // Invalid colours have no effect; all other formulas are shown as TeX.
  assert.equal(written.length, FORMULAS.length);
  assert.equal(await formulas.first().innerText(), "sinx");
  const seen = await formulas.locator("mjx-rbox").evaluate((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    const { top: above } = one.closest("p").getBoundingClientRect();
    return { isAway: top + height < above, isHit: one.contains(document.elementFromPoint(left + width / 2, top + height / 2)) };
  });
  assert.deepEqual(seen, { isAway: true, isHit: false });
  await picture(tab, "hostile-obsidian-light");
  await desk.quit();
  assert.deepEqual(desk.problems, [], "the page reported errors");
  assert.deepEqual([...desk.elsewhere, ...desk.house.refused], [], "something asked another machine");
  canary.stop();
  await desk.strike();
}
