// A day with the page, as issue after issue was tried by hand: the first question on a new machine, a plan, an
// approval, a mistake, a job that is killed, and a rule that runs automatically.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFile, mkdir, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { faults } from "./axe.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

const agree = (tab, name) => tab.locator(".page-dialog").getByRole("button", { name, exact: true }).click();
const anew = (tab) => tab.getByRole("button", { name: "New conversation", exact: true }).click();
const note = (year, at) => `Meetings/${year}-03-0${1 + (at % 9)} Standup ${at}.md`;

/** A vault with meeting notes of six years, each of which links to the next one. */
async function meetings(daemon, count) {
  const paths = Array.from({ length: count }, (_, at) => note(2018 + (at % 6), at));
  await mkdir(path.join(daemon.vault, "Meetings"));
  for (const [at, one] of paths.entries()) {
    const next = path.basename(paths[(at + 1) % count], ".md");
    await daemon.write(one, `---\ndate: ${path.basename(one).slice(0, 10)}\ntags: [meeting]\n---\nAfter this [[${next}]], see [the list](../Inbox.md).\n`);
  }
  return paths;
}

/** The hash of each file outside Obsidian's folder and the trash. */
async function hashes(daemon) {
  const entries = await readdir(daemon.vault, { recursive: true, withFileTypes: true });
  const files = entries.filter((one) => one.isFile()).map((one) => path.relative(daemon.vault, path.join(one.parentPath, one.name)));
  const kept = files.filter((file) => !/^\.(obsidian|trash)\//.test(file)).sort();
  return Promise.all(kept.map(async (file) => [file, createHash("sha256").update(await readFile(path.join(daemon.vault, file))).digest("hex")]));
}

/** Without any model set up, the page finds Ollama where its variable says, and the person asks. */
export async function the_first_question_needs_no_terminal(set) {
  const stage = await Stage.set({ ...set, chain: "", hasOllama: true });
  const tab = await stage.open({ width: 360, dark: true });
  const setup = tab.locator(".vs-setup");
  await setup.getByText("Found on this computer").waitFor();
  assert.deepEqual(await faults(tab, "a found model"), []);
  await picture(tab, "setup-found-narrow-dark");
  // By the keyboard alone.
  await setup.getByRole("button", { name: "Use it" }).press("Enter");
  await setup.waitFor({ state: "detached" });
  const input = tab.locator(".vs-input");
  await until("focus", () => input.evaluate((field) => document.activeElement === field));
  stage.model.next((turn) => turn.text("Nothing is due."));
  await tab.keyboard.type("What is due today?");
  await tab.keyboard.press("Enter");
  await tab.locator(".vs-list").getByText("Nothing is due.").waitFor();
  await done(tab);
  assert.equal(stage.model.requests[0].model, "one");
  await stage.close(tab);
  await stage.strike();
}

/** Twenty moves are judged, an approval is answered in another window, and a mistake is taken back alone. */
export async function a_day_of_work(set) {
  const stage = await Stage.set(set);
  const { daemon, model } = stage;
  const notes = await meetings(daemon, 20);
  const tab = await stage.open({ width: 1000, height: 900 });
  model.next((turn) => turn.call("plan_changes", { items: notes.map((from) => ({ path: from, to: `Archive/${from}` })) }), (turn) => turn.text("Twenty notes."));
  await say(tab, "Archive the meetings");
  await tab.locator(".vs-list").getByText("Twenty notes.").waitFor();
  await done(tab);
  const card = tab.getByRole("group", { name: "Plan 1", exact: true });
  await card.getByRole("button", { name: /^Show 10 more of / }).click();
  await card.getByRole("checkbox", { name: `${notes[3]} to Archive/${notes[3]}` }).uncheck();
  await card.getByRole("button", { name: "Apply 19 changes of plan 1" }).click();
  await agree(tab, "Apply");
  await card.getByText("Done: 19 items").waitFor();
  await daemon.read(notes[3]);
  // A row leads to where its note is now.
  await card.locator(".vs-plan-name", { hasText: path.basename(notes[0], ".md") }).first().click();
  await tab.getByRole("dialog", { name: `Archive/${notes[0]}` }).getByRole("button", { name: "Close" }).click();

  // A second window answers.
  await daemon.command("mode", "ask");
  const other = await stage.open({ width: 360, dark: true });
  await anew(tab);
  model.next(
    (turn) => turn.call("read_file", { path: "Garden/Compost.md" }),
    (turn) => {
      turn.call("edit_file", { path: "Garden/Compost.md", old_text: "Turn at Christmas.", new_text: "Burn at Christmas." });
      turn.call("write_file", { path: "Garden/Bonfire.md", content: "Dry wood.\n" });
    },
    (turn) => turn.text("Both are written."),
  );
  await say(tab, "Prepare the bonfire");
  const question = other.locator(".vs-approval");
  await question.getByText(/^Asked by the agent in another conversation/).waitFor();
  assert.equal(await other.locator(".vs-banner:not([hidden])").count(), 0, "it is said once");
  await picture(other, "approval-elsewhere-narrow-dark");
  await question.getByRole("button", { name: "Allow once" }).click();
  await question.getByText("Bonfire").first().waitFor();
  await question.getByRole("button", { name: "Allow once" }).click();
  await tab.locator(".vs-list").getByText("Both are written.").waitFor();
  await done(tab);
  await stage.close(other);
  await daemon.command("mode", "auto");

  // Later the mistake is found among other changes, and undone alone.
  await daemon.command("new", "Later", "something else");
  await say(tab, "/history");
  await tab.getByText("Choose a change to see what it did and to undo it.").waitFor();
  const rows = tab.locator(".vs-river-row");
  await rows.filter({ hasText: "Plan 1 (job 1): move 19 notes" }).waitFor();
  await rows.filter({ hasText: "Compost, Bonfire" }).click();
  const detail = tab.locator(".vs-time-detail");
  await detail.getByRole("button", { name: "Undo the change of Garden/Compost.md" }).click();
  await detail.locator(".vs-row-undone").waitFor();
  await rows.filter({ hasText: "an undo" }).waitFor();
  await picture(tab, "day-undone-light");
  assert.deepEqual(await faults(tab, "one change undone"), []);
  assert.match(await daemon.read("Garden/Compost.md"), /Turn at Christmas/);
  assert.match(await daemon.read("Garden/Bonfire.md"), /Dry wood/);

  // A job that is undone by its change set is not still done.
  await tab.keyboard.press("Escape");
  await rows.filter({ hasText: "Plan 1 (job 1)" }).click();
  await detail.getByRole("button", { name: "Undo all of these changes" }).click();
  await agree(tab, "Undo");
  await detail.getByText(/^Undone: /).waitFor();
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("Escape");
  const open = async (page, name) => {
    await page.locator(".vs-title").click();
    await page.locator(".vs-session-open").getByText(name).click();
  };
  await open(tab, "Archive the meetings");
  await card.getByText("Undone: 19 items").waitFor();
  await stage.close(tab);

  // All is closed, and found again as it was.
  await daemon.stop();
  await daemon.start();
  const again = await stage.open({ width: 1000, height: 900 });
  const changes = again.locator(".vs-changes");
  await changes.locator(".vs-row.is-undone").getByText("Compost").waitFor();
  // Opened once more, the card does not show it as it was before, not even until the daemon answers.
  await again.evaluate(() => {
    window.counts = [];
    const count = () => window.counts.push(document.querySelectorAll(".vs-changes .vs-row-undone").length);
    new MutationObserver(count).observe(document.querySelector(".vs-list"), { subtree: true, childList: true });
  });
  await open(again, "Prepare the bonfire");
  await until("the conversation, drawn again", () => again.evaluate(() => window.counts.length));
  assert.equal(await changes.locator(".vs-row-undone").count(), 1);
  assert.deepEqual(await again.evaluate(() => window.counts.filter((count) => count !== 1)), []);
  await open(again, "Archive the meetings");
  await again.getByRole("group", { name: "Plan 1", exact: true }).getByText("Undone: 19 items").waitFor();
  await stage.close(again);
  await stage.strike();
}

/** A drafted rule is corrected, looked at as a tree, applied, killed, resumed and undone: every byte is as before. */
export async function old_meetings_go_into_the_archive_by_year(set) {
  const stage = await Stage.set(set);
  const { daemon, model } = stage;
  await daemon.stop();
  await appendFile(daemon.settings, "[organize]\natomic_items = 5\n");
  await meetings(daemon, 480);
  await daemon.start();
  const before = await hashes(daemon);
  const rules = (to) => `version: 1\nrules:\n  - name: Old meetings\n    in: [Meetings]\n    when: file.hasTag("meeting") && date < date("2023-01-01")\n    do: [{ move: '${to}' }]\n`;
  const tab = await stage.open({ width: 800, height: 900 });
  model.next((turn) => turn.call("plan_changes", { rules: rules("Archive") }), (turn) => turn.text("A draft."));
  await say(tab, "Old meeting notes into the archive, by year");
  await tab.locator(".vs-list").getByText("A draft.").waitFor();
  await done(tab);
  const card = tab.getByRole("group", { name: "Plan 1", exact: true });
  await card.getByText(/date is before 2023-01-01: move it to Archive\./).waitFor();
  await card.getByRole("button", { name: "Correct…" }).click();
  model.next((turn) => turn.call("plan_changes", { rules: rules('Archive/{{date.format("YYYY")}}'), plan: 1 }), (turn) => turn.text("By year."));
  await tab.locator(".vs-input").press("End");
  await tab.keyboard.type("by year");
  await tab.keyboard.press("Enter");
  await tab.locator(".vs-list").getByText("By year.").waitFor();
  await done(tab);
  const folders = () => card.locator(".vs-plan-tree .vs-plan-folder").allInnerTexts();
  await until("folders", folders, (names) => names.join() === [2018, 2019, 2020, 2021, 2022].map((year) => `Meetings → Archive/${year}`).join());
  // Of a large plan a few of each folder are drawn.
  assert.equal(await card.locator(".vs-plan-tree .vs-row").count(), 15);
  assert.match(await daemon.command("organize", "show", "1"), /After \(400\)[^]*Archive\/ \(400\)[^]*2018\/ \(80\)/);
  await picture(tab, "by-year-light");
  assert.deepEqual(await faults(tab, "a plan by year"), []);

  await card.getByRole("button", { name: "Apply 400 changes of plan 1" }).click();
  await tab.locator(".page-dialog").getByText(/applied in 80 pieces/).waitFor();
  await agree(tab, "Apply");
  // The daemon runs for moments only, so that the job cannot end before the page shows that it runs.
  const running = card.getByText(/^Running: [1-9]\d* of 400 items$/);
  for (daemon.freeze(); !(await running.isVisible()); daemon.freeze()) {
    daemon.thaw();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await daemon.stop("SIGKILL");
  await card.getByText(/^The connection was lost after [1-9]\d* of 400 items$/).waitFor();
  assert.equal(await card.getByRole("button", { name: /^Stop/ }).count(), 0);
  await picture(tab, "job-lost-light");
  await daemon.start();
  await card.getByRole("button", { name: "Resume: apply what is left" }).click({ timeout: 30_000 });
  await agree(tab, "Apply");
  await card.getByText("Done: 400 items").waitFor({ timeout: 60_000 });
  await daemon.read(`Archive/${path.basename(note(2018, 0)).slice(0, 4)}/${path.basename(note(2018, 0))}`);
  await card.getByRole("button", { name: "Undo this job" }).click();
  await agree(tab, "Undo");
  await card.getByText("Undone: 400 items").waitFor({ timeout: 60_000 });
  assert.deepEqual(await hashes(daemon), before);
  await stage.close(tab);
  await stage.strike();
}

/** An enabled rule files a new note some time after it was written, once, and says why. */
export async function a_rule_files_what_comes_into_the_inbox(set) {
  const stage = await Stage.set(set);
  const { daemon, model } = stage;
  await daemon.command("config", "set", "organize.quiet_seconds", "2");
  const tab = await stage.open({ width: 600, dark: true });
  const rules = "version: 1\nrules:\n  - name: Recipes\n    in: [Post]\n    when: file.hasTag(\"recipe\")\n    do: [{ move: Recipes }]\n    run: change\n    once: true\n";
  model.next((turn) => turn.call("plan_changes", { rules }), (turn) => turn.text("Nothing matches yet."));
  await say(tab, "File the recipes that come by post");
  await tab.locator(".vs-list").getByText("Nothing matches yet.").waitFor();
  await done(tab);
  const card = tab.getByRole("group", { name: "Rules of plan 1" });
  await card.getByText("Takes no file now").waitFor();
  await card.getByText(/^No file is in a folder Post$/).waitFor();
  await picture(tab, "rule-empty-dark");
  assert.deepEqual(await faults(tab, "a rule without files"), []);
  await card.getByLabel("Automatic runs of Recipes").selectOption("automatic");
  await agree(tab, "Enable");
  await card.getByRole("link", { name: "Rules/Recipes.md" }).waitFor();
  await mkdir(path.join(daemon.vault, "Post"));
  await daemon.write("Post/Plum cake.md", "---\ntags: [recipe]\n---\nPlums.\n");
  await until("recipe", () => daemon.read("Recipes/Plum cake.md").catch(() => ""), (text) => text.includes("Plums"));
  assert.match(await daemon.command("organize", "why", "Plum cake"), /Recipes, automatically[^]*tags are recipe/);
  // Once: it stays where the person puts it.
  await daemon.command("move", "Plum cake", "Post/Plum cake.md");
  await daemon.write("Post/Apple pie.md", "---\ntags: [recipe]\n---\nApples.\n");
  await until("recipe", () => daemon.read("Recipes/Apple pie.md").catch(() => ""), (text) => text.includes("Apples"));
  await daemon.read("Post/Plum cake.md");
  assert.match(await daemon.command("organize", "why", "Plum cake"), /has taken this one/);
  await stage.close(tab);
  await stage.strike();
}
