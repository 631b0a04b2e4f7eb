// Plans and jobs: reviewed, partly applied, undone.
import assert from "node:assert/strict";
import { appendFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { faults } from "./axe.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

/**
 * Notes on vegetables go to their own folder, an old note to the trash; one of them stays, since its path is
 * taken.
 */
const ITEMS = [
  { path: "Garden/Plants/Tomato.md", to: "Kitchen/Vegetables/Tomato.md", tag: ["kitchen"] },
  { path: "Garden/Plants/Broad bean.md", to: "Kitchen/Vegetables/Broad beans.md", set: { status: "filed" } },
  { path: "Garden/Compost.md", to: "Garden/Notes.md" },
  { path: "Old poem.md", trash: true },
];

/**
 * A plan is in a card; its selected items are applied, links are updated, and the job is undone as a whole.
 */
export async function a_plan_is_looked_at_applied_and_undone(set) {
  const stage = await Stage.set(set);
  await stage.daemon.command("mode", "ask");
  const tab = await stage.open();
  const before = await stage.daemon.read("Journal/2026/2026-11-08.md");
  stage.model.next((turn) => turn.call("plan_changes", { items: ITEMS }), (turn) => turn.text("Here is what I would do."));
  await say(tab, "Tidy the vegetables");
  await tab.locator(".vs-list").getByText("Here is what I would do.").waitFor();
  await done(tab);
  const card = tab.locator(".vs-card");
  await card.getByText("Plan 1 for 4 files").waitFor();
  const names = await card.locator(".vs-plan-folder").allInnerTexts();
  assert.ok(names.includes("Garden/Plants → Kitchen/Vegetables") && names.includes("Vault folder: to the trash"), names.join("\n"));
  assert.equal(await card.locator(".vs-risk.is-high").first().innerText(), "1 high risk");
  const apply = card.getByRole("button", { name: /^Apply \d/ });
  const all = await apply.innerText();
  await picture(tab, "plan-light");

  // By keyboard alone, from the checkbox to the button.
  await card.getByRole("checkbox", { name: "Old poem.md", exact: true }).focus();
  await tab.keyboard.press("Space");
  await until("count", () => apply.innerText(), (text) => text === `Apply ${Number(all.split(" ")[1]) - 1}`);
  await apply.focus();
  await tab.keyboard.press("Enter");
  await tab.locator(".page-dialog").getByRole("button", { name: "Apply" }).click();
  await card.getByText(/^Done: \d items$/).waitFor();
  assert.match(await stage.daemon.read("Kitchen/Vegetables/Tomato.md"), /kitchen/);
  assert.match(await stage.daemon.read("Kitchen/Vegetables/Broad beans.md"), /status: filed/);
  await stage.daemon.read("Old poem.md");
  await picture(tab, "job-done-light");

  // It is still there after a reload of the conversation.
  await stage.close(tab);
  const narrow = await stage.open({ width: 300, dark: true });
  const again = narrow.locator(".vs-card");
  await again.getByText(/^Done: \d items$/).waitFor();
  assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= 300));
  await picture(narrow, "job-done-narrow-dark");
  await again.getByRole("button", { name: "Undo this job" }).click();
  await narrow.locator(".page-dialog").getByRole("button", { name: "Undo" }).click();
  await again.getByText(/^Undone: \d items$/).waitFor();
  assert.equal(await stage.daemon.read("Journal/2026/2026-11-08.md"), before);
  await assert.rejects(stage.daemon.read("Kitchen/Vegetables/Tomato.md"));
  await stage.close(narrow);
  await stage.strike();
}

/** A large plan shows ten items of each folder; a dropped plan can no longer be applied. */
export async function a_large_plan_is_dropped(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ dark: true });
  const items = Array.from({ length: 24 }, (_, at) => `Clippings ${at % 2}/Clipping ${at}.md`).map((path) => ({ path, to: `Archive/${path}` }));
  stage.model.next(
    (turn) => {
      for (const { path } of items) turn.call("write_file", { path, content: "x\n" });
    },
    (turn) => turn.call("plan_changes", { items }),
    (turn) => turn.text("Shall I?"),
  );
  await say(tab, "Archive the clippings");
  const card = tab.locator(".vs-card");
  await card.getByRole("button", { name: "Apply 24 changes of plan 1" }).waitFor();
  await done(tab);
  assert.equal(await card.locator(".vs-row").count(), 20);
  await card.getByRole("button", { name: "Show 2 more of Clippings 0 → Archive/Clippings 0" }).click();
  assert.equal(await card.locator(".vs-row").count(), 22);
  await picture(tab, "plan-large-dark");
  await card.getByRole("button", { name: "Drop plan 1" }).click();
  await card.getByText("Dropped. Nothing was changed.").waitFor();
  assert.equal(await card.getByRole("button").count(), 0);
  await stage.daemon.read("Clippings 0/Clipping 0.md");
  await stage.close(tab);
  await stage.strike();
}

/**
 * When the agent applies a plan, the approval shows an outline of all of it, and the job is at the agent's
 * call.
 */
export async function the_agent_applies_a_plan_when_it_may(set) {
  const stage = await Stage.set(set);
  await stage.daemon.command("mode", "ask");
  const tab = await stage.open();
  const rules = `version: 1
rules:
  - name: Books that were read
    in: [Reading/Books]
    when: status == "done" || rating > 0
    do: [{ tag: [read] }, { move: Archive/Books }]
  - name: Other books
    in: [Reading/Books]
    do: [{ tag: [unread] }]
`;
  stage.model.next(
    (turn) => turn.call("plan_changes", { rules }),
    (turn, request) => {
      const identity = /identity ([0-9a-f]{64})/.exec(JSON.stringify(request.messages))?.[1];
      turn.call("apply_plan", { plan: 1, identity });
    },
    (turn) => turn.text("The books are filed."),
  );
  await say(tab, "File my books");
  const question = tab.locator(".vs-approval");
  await question.waitFor();
  const outline = await question.locator(".vs-outline").innerText();
  assert.match(outline, /Reading\/Books/);
  const plan = tab.getByRole("group", { name: "Plan 1" });
  await plan.locator("summary", { hasText: "Why" }).first().click();
  await plan.locator(".vs-plan-why").getByText(/Books that were read: (yes|no)/).first().waitFor();
  await picture(tab, "plan-asked-light");
  await question.getByRole("button", { name: "Allow once" }).click();
  await tab.locator(".vs-list").getByText("The books are filed.").waitFor();
  await done(tab);
  const job = tab.getByRole("group", { name: "Job 1" });
  await job.getByText(/^Done: \d items$/).waitFor();
  await plan.getByText(/^Done: \d items$/).waitFor();
  await picture(tab, "job-agent-light");
  await job.getByRole("button", { name: "Undo this job" }).click();
  await tab.locator(".page-dialog").getByRole("button", { name: "Undo" }).click();
  await job.getByText(/^Undone: \d items$/).waitFor();
  await plan.getByText(/^Undone: \d items$/).waitFor();
  await stage.close(tab);
  await stage.strike();
}

/** A job in one piece shows what it does and how far it is; a plan says why a name got a number. */
export async function a_job_in_one_piece_shows_how_far_it_is(set) {
  const NOTES = 800;
  const stage = await Stage.set(set);
  const { daemon } = stage;
  await daemon.stop();
  await mkdir(path.join(daemon.vault, "In"));
  for (let at = 0; at < NOTES; at++) await daemon.write(`In/n${at}.md`, `[[n${(at + 1) % NOTES}]]\n`);
  await mkdir(path.join(daemon.vault, "Else"));
  await daemon.write("Else/n0.md", "another\n");
  await daemon.start();
  for (const [width, dark] of [[360, true], [1400, false]]) {
    const tab = await stage.open({ width, dark });
    await tab.getByRole("button", { name: "New conversation", exact: true }).click();
    const rules = `rules:\n  - name: Out\n    in: [In, Else]\n    do: [{ tag: [moved] }, { move: Out ${width} }]\n`;
    stage.model.next((turn) => turn.call("plan_changes", { rules }), (turn) => turn.text("Planned."));
    await say(tab, "Move them out");
    await tab.locator(".vs-list").getByText("Planned.").waitFor({ timeout: 60_000 });
    await done(tab);
    const card = tab.locator(".vs-card");
    await card.getByText(`it gets another name: Else/n0.md also goes to Out ${width}/n0.md`).waitFor({ timeout: 60_000 });
    await picture(tab, `plan-numbered-${width}`);
    // Every state that is shown, however short.
    await card.evaluate((root) => {
      window.__said = [];
      const look = () => {
        const words = root.querySelector(".vs-job-words")?.textContent ?? "";
        const count = root.querySelector(".vs-job-text .vs-aside")?.textContent ?? "";
        const at = Number(root.querySelector(".vs-progress")?.getAttribute("aria-valuenow"));
        window.__said.push({ words, count, at });
      };
      new MutationObserver(look).observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    await card.getByRole("button", { name: `Apply ${NOTES + 1} changes of plan` }).click({ timeout: 60_000 });
    await tab.locator(".page-dialog").getByRole("button", { name: "Apply" }).click();
    await card.getByText(/^(Storing texts|Writing new|Putting files)/).waitFor({ timeout: 60_000 });
    daemon.freeze();
    await picture(tab, `job-one-piece-${width}`);
    assert.deepEqual(await faults(tab, `job in one piece ${width}`), []);
    assert.ok(await tab.evaluate((width) => document.documentElement.scrollWidth <= width, width));
    daemon.thaw();
    await card.getByText(`Done: ${NOTES + 1} items`).waitFor({ timeout: 60_000 });
    const said = await tab.evaluate(() => window.__said.filter(({ count }) => / of [\d,.]+ files$/.test(count)));
    const shares = said.map(({ at }) => at);
    assert.deepEqual(shares, [...shares].sort((one, other) => one - other), "it never goes back");
    assert.ok(new Set(said.map(({ words }) => words)).size >= 2 && new Set(shares).size > 5, JSON.stringify(said.slice(0, 20)));
    await card.getByRole("button", { name: "Undo this job" }).click();
    await tab.locator(".page-dialog").getByRole("button", { name: "Undo" }).click();
    await card.getByText(`Undone: ${NOTES + 1} items`).waitFor({ timeout: 60_000 });
    await stage.close(tab);
  }
  await stage.strike();
}

/** A job whose daemon is killed between two batches is interrupted, resumed and undone. */
export async function a_killed_job_is_resumed_and_undone(set) {
  const NOTES = 200;
  const stage = await Stage.set(set);
  const { daemon } = stage;
  await daemon.stop();
  await appendFile(daemon.settings, "[organize]\natomic_items = 5\n");
  await mkdir(path.join(daemon.vault, "In"));
  const text = (at) => `[[n${(at + 1) % NOTES}]]\n`;
  for (let at = 0; at < NOTES; at++) await daemon.write(`In/n${at}.md`, text(at));
  await daemon.start();
  const tab = await stage.open();
  const rules = "rules:\n  - name: Out\n    in: [In]\n    do: [{ tag: [moved] }, { move: Out/Deep }]\n";
  stage.model.next((turn) => turn.call("plan_changes", { rules }), (turn) => turn.text("Planned."));
  await say(tab, "Move them out");
  await tab.locator(".vs-list").getByText("Planned.").waitFor();
  await done(tab);
  const card = tab.locator(".vs-card");
  const agree = (name) => tab.locator(".page-dialog").getByRole("button", { name }).click();
  await card.getByRole("button", { name: `Apply ${NOTES} changes of plan 1` }).click();
  await agree("Apply");
  await card.getByText(/^Running: [1-9]\d* of 200 items$/).waitFor();
  // Looking takes longer than the rest of the job.
  daemon.freeze();
  assert.equal(await card.getByRole("button", { name: "Stop before the next part" }).count(), 1);
  await picture(tab, "job-running-light");
  await daemon.stop("SIGKILL");
  await daemon.start();
  const words = card.getByText(/^Interrupted after [1-9]\d* of 200 items$/);
  await words.waitFor({ timeout: 30_000 });
  await picture(tab, "job-interrupted-light");
  await card.getByRole("button", { name: "Resume: apply what is left" }).click();
  await agree("Apply");
  await card.getByText(`Done: ${NOTES} items`).waitFor({ timeout: 60_000 });
  assert.match(await daemon.read("Out/Deep/n7.md"), /moved/);
  await card.getByRole("button", { name: "Undo this job" }).click();
  await agree("Undo");
  await card.getByText(`Undone: ${NOTES} items`).waitFor({ timeout: 60_000 });
  for (let at = 0; at < NOTES; at++) assert.equal(await daemon.read(`In/n${at}.md`), text(at));
  await stage.close(tab);
  await stage.strike();
}

/** Suggested names are chosen in a card, become a plan, and are applied there; links are updated. */
export async function suggested_names_become_a_plan(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ dark: true });
  const notes = ["draft one", "untitled 3"];
  stage.model.next(
    (turn) => {
      for (const [at, name] of notes.entries()) turn.call("write_file", { path: `Drafts/${name}.md`, content: `# A shelf for jars ${at}\n\ntext\n` });
      turn.call("write_file", { path: "Drafts index.md", content: "See [[untitled 3]].\n" });
    },
    (turn) => turn.call("suggest_names", { paths: ["Drafts"], convention: "{Title Words}" }),
    (turn) => turn.text("Some ideas."),
  );
  await say(tab, "Name my drafts");
  await tab.locator(".vs-list").getByText("Some ideas.").waitFor();
  await done(tab);
  const card = tab.getByRole("group", { name: "Suggested names" });
  await picture(tab, "names-dark");
  // The model is asked after a yes, and its names come first.
  stage.model.next((turn) => turn.text(JSON.stringify({ 1: "oak jar shelf zero", 2: "oak jar shelf one" })));
  await card.getByRole("button", { name: "Suggest with the model" }).click();
  const dialog = tab.getByRole("dialog", { name: "Suggest" });
  await dialog.getByText("The model gets the beginning of 2 files, to suggest names.").waitFor();
  await dialog.getByRole("button", { name: "Suggest" }).click();
  await until("names", () => card.getByLabel("New name of untitled 3").locator("option").first().innerText(), (text) => text === "Oak Jar Shelf One.md");
  const chosen = await card.getByLabel("New name of untitled 3").locator("option").first().innerText();
  assert.match(chosen, /\.md$/);
  await card.getByRole("checkbox", { name: "Rename draft one" }).uncheck();
  await card.getByRole("button", { name: "Plan 1 rename" }).click();
  const plan = card.getByRole("group", { name: "Plan 1" });
  await plan.getByRole("button", { name: "Apply 1 change of plan 1" }).click();
  await plan.getByText("Done: 1 item").waitFor();
  await picture(tab, "names-planned-dark");
  assert.match(await stage.daemon.read(`Drafts/${chosen}`), /A shelf for jars 1/);
  assert.match(await stage.daemon.read("Drafts index.md"), new RegExp(chosen.replace(/\.md$/, "")));
  await stage.close(tab);
  await stage.strike();
}

/**
 * A rule that a model drafted is shown with its meaning, corrected, saved in a note, and enabled and disabled
 * only by the person.
 */
export async function a_drafted_rule_is_understood_corrected_kept_and_enabled(set) {
  const stage = await Stage.set(set);
  const { daemon, model } = stage;
  await mkdir(path.join(daemon.vault, "Inbox"));
  await daemon.write("Inbox/Call with Ada.md", "---\ndone: true\ntags: [meeting]\n---\n");
  await daemon.write("Inbox/Talk.md", "---\ndone: false\ntags: [meeting]\n---\n");
  const tab = await stage.open();
  const rules = (folder) => `version: 1
rules:
  - name: Old meetings
    in: [Inbox]
    when: file.hasTag("meeting") && done
    do: [{ tag: [archived] }, { move: ${folder} }]
    run: change
`;
  model.next((turn) => turn.call("plan_changes", { rules: rules("Archive") }), (turn) => turn.text("A first draft."));
  await say(tab, "Old meetings into the archive, by themselves");
  await tab.locator(".vs-list").getByText("A first draft.").waitFor();
  await done(tab);
  const first = tab.getByRole("group", { name: "Rules of plan 1" });
  const rule = first.getByRole("group", { name: "Rule Old meetings" });
  await rule.getByText(/has the tag #meeting/).waitFor();
  await rule.locator("summary", { hasText: "Takes 1 file: Call with Ada" }).click();
  await rule.getByText(/file\.hasTag\("meeting"\) {2}true/).waitFor();
  await rule.locator("summary", { hasText: "Nearly takes: Talk" }).click();
  await rule.getByText(/done {2}false/).waitFor();
  await picture(tab, "rule-light");
  assert.deepEqual(await faults(tab, "rule"), []);

  // The person describes the correction in the conversation.
  await first.getByRole("button", { name: "Correct…" }).click();
  assert.equal(await tab.locator(".vs-input").inputValue(), "Change the rules of plan 1: ");
  model.next((turn) => turn.call("plan_changes", { rules: rules("Meetings/Old"), plan: 1 }), (turn) => turn.text("Corrected."));
  await tab.locator(".vs-input").press("End");
  await tab.keyboard.type("into Meetings/Old");
  await tab.keyboard.press("Enter");
  await tab.locator(".vs-list").getByText("Corrected.").waitFor();
  await done(tab);
  const card = tab.getByRole("group", { name: "Rules of plan 1" });
  await card.getByText(/Meetings\/Old/).first().waitFor();
  assert.ok(model.requests.some((request) => JSON.stringify(request.messages).includes("Change the rules of plan 1: into Meetings/Old")));

  // Saved under its name, it can be enabled; the confirmation names the folders that it may touch.
  const file = card.getByLabel("Keep the rules in", { exact: true });
  assert.equal(await file.inputValue(), "Rules/Old meetings.md");
  await card.getByRole("button", { name: "Keep the rules in a file" }).click();
  await card.getByText("Kept in Rules/Old meetings.md").waitFor();
  assert.match(await daemon.read("Rules/Old meetings.md"), /^```rules\nversion: 1\n[^]*```\n$/);
  const state = card.getByLabel("Automatic runs of Old meetings");
  assert.equal(await state.inputValue(), "off");
  const listed = async () => JSON.parse(await daemon.command("organize", "rules", "list", "--json")).rules;
  await state.selectOption("automatic");
  const dialog = tab.locator(".page-dialog");
  await dialog.getByText(/It may touch Inbox, Meetings\/Old/).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await until("off again", () => state.inputValue(), (value) => value === "off");
  assert.deepEqual(await listed(), [], "nothing is enabled that the person did not agree to");
  await state.selectOption("ask");
  await dialog.getByRole("button", { name: "Enable" }).click();
  await until("an enabled rule", listed, ([one]) => one?.state === "ask");
  await picture(tab, "rule-enabled-light");
  await stage.close(tab);

  // The card as it is later, in the dark theme and a narrow view.
  const narrow = await stage.open({ width: 300, dark: true });
  const again = narrow.getByRole("group", { name: "Rules of plan 1" }).last();
  const later = again.getByLabel("Automatic runs of Old meetings");
  await until("asking", () => later.inputValue(), (value) => value === "ask");
  await again.getByText("Kept in Rules/Old meetings.md").waitFor();
  assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= 300));
  await picture(narrow, "rule-enabled-narrow-dark");
  await later.selectOption("off");
  await until("a disabled rule", listed, (rules) => rules.length === 0);
  await stage.close(narrow);
  await stage.strike();
}
