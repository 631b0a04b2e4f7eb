// The display of answers, changes and notes.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { faults } from "./axe.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

/** The card of a deleted folder names its files; a permanent deletion is labelled as one. */
export async function a_deleted_folder_names_its_files(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 600 });
  stage.model.next((turn) => turn.call("delete", { path: "Garden", permanent: true }), (turn) => turn.text("That I may not."));
  await say(tab, "Delete the garden for good");
  await tab.locator(".vs-list").getByText("That I may not.").waitFor();
  await done(tab);
  assert.equal(await tab.locator(".vs-call-title").innerText(), "Delete a file or folder for good: Garden");
  assert.equal(await tab.locator(".vs-call-state").innerText(), "not allowed");
  stage.model.next((turn) => turn.call("delete", { path: "Garden" }), (turn) => turn.text("It is gone."));
  await say(tab, "To the trash, then");
  await tab.locator(".vs-approval").getByRole("button", { name: "Allow once" }).click();
  await tab.locator(".vs-list").getByText("It is gone.").waitFor();
  await done(tab);
  const card = tab.locator(".vs-changes");
  await until("title", () => card.locator(".vs-card-title").innerText(), (text) => /^1 change, \d+ files in deleted folders$/.test(text));
  await card.getByRole("button", { name: /files in Garden$/ }).click();
  await card.locator(".vs-files").getByText("Compost.md").waitFor();
  await picture(tab, "deleted-folder-light");
  await stage.close(tab);
  await stage.strike();
}

const ANSWER = `See [[Compost]].

> [!warning] Frost
> Tonight.

\`\`\`rust
fn main() { let a = "text"; } // done
\`\`\`
`;

/**
 * Without Obsidian a link shows the note in the page; code has colours, callouts have icons, the meter has a
 * bar.
 */
export async function a_note_is_read_in_the_page(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 900 });
  stage.model.next((turn) => turn.text(ANSWER));
  await say(tab, "What is up?");
  await tab.locator(".vs-agent pre").waitFor();
  await done(tab);
  await until("colours", () => tab.locator("pre [class^=vs-code-]").allInnerTexts(), (all) => all.join(" ") === 'fn let "text" // done');
  await tab.locator(".callout-icon svg").waitFor();
  await tab.locator(".vs-meter").waitFor();
  await picture(tab, "reading-light");
  await tab.locator(".vs-agent").getByRole("link", { name: "Compost" }).click();
  const note = tab.locator("dialog.page-note");
  await note.getByRole("heading", { name: "Compost", level: 2 }).waitFor();
  await until("text", () => note.locator(".vs-markdown").innerText(), (text) => /Turn/.test(text));
  await picture(tab, "note-preview-light");
  // Its own links work, and closing it returns the focus to the page.
  await note.getByRole("link", { name: "slugs" }).click();
  await until("next note", () => note.locator("h2").allInnerTexts(), (all) => all.join() === "Slugs");
  await tab.keyboard.press("Escape");
  await note.waitFor({ state: "detached" });
  await stage.close(tab);
  await stage.strike();
}

/**
 * Links of an older answer and of its cards open a note where it is by now. Of a deleted one it is said when, and the
 * time machine shows what happened to it.
 */
export async function an_old_link_finds_its_note(set) {
  const stage = await Stage.set(set);
  const { daemon } = stage;
  for (const [width, dark] of [[360, false], [1400, true]]) {
    const at = String(width);
    const old = `Plans ${at}/Beds.md`;
    await mkdir(path.join(daemon.vault, `Plans ${at}`));
    await daemon.write(`Plans ${at}/Doomed ${at}.md`, "It goes.\n");
    const tab = await stage.open({ width, dark });
    await tab.getByRole("button", { name: "New conversation", exact: true }).click();
    stage.model.next(
      (turn) => turn.call("write_file", { path: old, content: "# Beds\n\nDig them over.\n" }),
      (turn) => turn.call("search_notes", { query: `how the beds of the plans ${at} are dug over in the garden, and when` }),
      (turn) => turn.text(`See [[Plans ${at}/Beds|the beds]] and [[Doomed ${at}]].`),
    );
    await say(tab, "What about the beds?");
    const answer = tab.locator(".vs-agent");
    await answer.getByText("the beds").waitFor();
    await done(tab);
    const title = tab.locator(".vs-call-title", { hasText: "Search notes" });
    const fits = () => title.evaluate((one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight + 1);
    await until("the whole title", fits, (is) => is);
    assert.match(await title.innerText(), /garden, and when/);
    await daemon.command("move", old, `Plans ${at}/Raised beds.md`);
    await daemon.command("move", `Plans ${at}`, `Kept ${at}`);
    await daemon.command("delete", `Kept ${at}/Doomed ${at}.md`);
    const note = tab.locator("dialog.page-note");
    for (const link of [answer.getByRole("link", { name: "the beds" }), tab.locator(".vs-changes [data-path]").first()]) {
      await link.click();
      await note.getByRole("heading", { name: "Raised beds", level: 2 }).waitFor();
      await tab.keyboard.press("Escape");
      await note.waitFor({ state: "detached" });
    }
    await answer.getByRole("link", { name: `Doomed ${at}` }).click();
    const asks = tab.locator(".page-dialog");
    await asks.getByText(/^Doomed \d+ was deleted on /).waitFor();
    await picture(tab, `link-deleted-${at}`);
    await asks.getByRole("button", { name: "Show in the time machine" }).click();
    const machine = tab.locator(".vs-machine");
    await machine.getByRole("option", { name: /Doomed/ }).first().waitFor();
    await picture(tab, `link-history-${at}`);
    await stage.close(tab);
  }
  await stage.strike();
}

/**
 * Search results are a list with reasons; the links of an answer are checked; the list of conversations finds
 * notes.
 */
export async function notes_are_found(set) {
  for (const dark of [false, true]) {
    const stage = await Stage.set(set);
    const tab = await stage.open({ width: 600, dark });
    const theme = dark ? "dark" : "light";
    stage.model.next(
      (turn) => turn.call("search_notes", { query: "compost slugs" }),
      (turn) => turn.text("See [[Compost]], [[Compost#^spread|the last step]], [[Compost#Sowing|sowing]] and [[No such note]]."),
    );
    await say(tab, "What do I know about compost?");
    await tab.locator(".vs-agent").getByText("No such note").waitFor();
    await done(tab);
    const list = tab.locator(".vs-found");
    const first = list.locator(".vs-found-note").first();
    await first.getByRole("link", { name: "Compost", exact: true }).first().waitFor();
    assert.deepEqual(await first.locator(".vs-why").allInnerTexts().then((all) => all.includes("name")), true);
    await until("unresolved", () => tab.locator(".vs-agent .is-unresolved").allInnerTexts(), (all) => all.join() === "sowing,No such note");
    await picture(tab, `found-${theme}`);
    assert.deepEqual(await faults(tab, `found ${theme}`), []);
    // Drawn again when the conversation is opened later.
    await tab.getByRole("button", { name: "New conversation", exact: true }).click();
    await list.waitFor({ state: "detached" });
    await tab.locator(".vs-title").click();
    await tab.locator(".vs-search").fill("compost");
    const note = tab.locator(".vs-beside").getByRole("button", { name: /Compost/ }).first();
    await note.waitFor();
    await picture(tab, `found-beside-${theme}`);
    assert.deepEqual(await faults(tab, `found beside ${theme}`), []);
    await tab.locator(".vs-session[data-session]").first().getByRole("button").first().click();
    await first.getByRole("link", { name: "Compost", exact: true }).first().waitFor();
    await tab.locator(".vs-title").click();
    await tab.locator(".vs-search").fill("compost");
    await note.click();
    const shown = tab.locator("dialog.page-note");
    await shown.getByRole("heading", { name: "Compost", level: 2 }).waitFor();
    await tab.keyboard.press("Escape");
    // A link to a place in a note opens it there.
    await tab.locator(".vs-agent").getByRole("link", { name: "the last step" }).click();
    await shown.getByText("Lines 29 to 31 of 31").waitFor();
    await tab.keyboard.press("Escape");
    await stage.close(tab);
    await stage.strike();
  }
}
