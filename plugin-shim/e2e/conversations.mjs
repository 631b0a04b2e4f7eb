// Many conversations: found, opened, renamed, exported, forked.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { faults } from "./axe.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

/** A message is edited; the following items stay as a branch that can be displayed. */
export async function a_message_is_edited_and_forks(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  stage.model.next((turn) => turn.text("Pears it is."), (turn) => turn.text("Also in spring."), (turn) => turn.text("Apples it is."));
  await say(tab, "I like pears");
  await tab.locator(".vs-list").getByText("Pears it is.").waitFor();
  await done(tab);
  await say(tab, "When to plant?");
  await tab.locator(".vs-list").getByText("Also in spring.").waitFor();
  await done(tab);
  const first = tab.locator(".vs-user").first();
  await first.hover();
  await first.getByRole("button", { name: "Edit the message" }).click();
  assert.equal(await tab.locator(".vs-input").inputValue(), "I like pears");
  await tab.locator(".vs-editing").waitFor();
  await say(tab, "I like apples");
  await tab.locator(".vs-list").getByText("Apples it is.").waitFor();
  await done(tab);
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["I like apples"]));
  const button = tab.getByRole("button", { name: "Branches of this conversation" });
  await button.waitFor();
  await button.click();
  await tab.locator(".vs-menu").getByRole("menuitemradio").first().click();
  await tab.locator(".vs-list").getByText("Also in spring.").waitFor();
  await tab.locator(".vs-banner").getByText("An earlier branch").waitFor();
  assert.equal(await tab.locator(".vs-input").isDisabled(), true);
  await tab.locator(".vs-banner").getByRole("button", { name: "Back" }).click();
  await tab.locator(".vs-list").getByText("Apples it is.").waitFor();
  assert.equal(await tab.locator(".vs-input").isDisabled(), false);

  // Another answer to the same message.
  stage.model.next((turn) => turn.text("Apples, said otherwise."));
  const answer = tab.locator(".vs-agent").last();
  await answer.hover();
  await answer.getByRole("button", { name: "Ask again" }).click();
  await tab.locator(".vs-list").getByText("Apples, said otherwise.").waitFor();
  await done(tab);
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["I like apples"]));
  await stage.close(tab);
  await stage.strike();
}

/** The list: search, open, rename, export to a note, end, delete. */
export async function conversations_are_listed(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  for (const [asked, answer] of [["About tomatoes", "They want sun."], ["About slugs", "They want beer."]]) {
    await tab.getByRole("button", { name: "New conversation", exact: true }).click();
    stage.model.next((turn) => turn.text(answer));
    await say(tab, asked);
    await tab.locator(".vs-list").getByText(answer).waitFor();
    await done(tab);
  }
  await until("words", () => tab.locator(".vs-user-text").allInnerTexts(), (texts) => JSON.stringify(texts) === JSON.stringify(["About slugs"]));
  await tab.locator(".vs-title").click();
  await tab.locator(".vs-session").nth(1).waitFor();
  assert.deepEqual(await tab.locator(".vs-session-period").allInnerTexts(), ["Today"]);
  await picture(tab, "conversations-light");
  await tab.locator(".vs-search").fill("tomatoes");
  await until("one found", () => tab.locator(".vs-session[data-session]").count(), (count) => count === 1);
  await until("marks", () => tab.locator(".vs-session[data-session] mark").allInnerTexts(), (all) => all.length > 0 && all.every((one) => one === "tomatoes"));
  await picture(tab, "conversations-search-light");
  await tab.locator(".vs-search").press("ArrowDown");
  await tab.keyboard.press("Enter");
  await tab.locator(".vs-list").getByText("They want sun.").waitFor();

  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Rename" }).click();
  await tab.locator(".vs-rename").fill("All about tomatoes");
  await tab.locator(".vs-rename").press("Enter");
  await until("title", () => tab.locator(".vs-title-text").innerText(), (text) => text === "All about tomatoes");

  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Export to a note" }).click();
  const notice = await until("notice", () => tab.locator(".page-notice").first().innerText().catch(() => ""), (text) => text.startsWith("Written to "));
  assert.match(await stage.daemon.read(notice.slice("Written to ".length)), /They want sun\./);

  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "End the conversation" }).click();
  await until("end", () => tab.locator(".vs-state").innerText(), (text) => /Ended/.test(text));
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "Delete" }).click();
  await tab.locator(".page-dialog").getByRole("button", { name: "Delete" }).click();
  await tab.locator(".vs-empty").waitFor();
  await until("words", () => tab.locator(".vs-title-text").innerText(), (text) => text === "New conversation");
  await stage.close(tab);
  await stage.strike();
}

/** Another model is chosen and receives the next message. */
export async function a_model_is_chosen(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 600 });
  await tab.locator(".vs-model").waitFor();
  await until("words", () => tab.locator(".vs-model-name").innerText(), (text) => text === "one");
  await tab.locator(".vs-model").click();
  await tab.getByRole("menuitemradio", { name: /two/ }).click();
  await until("model", () => tab.locator(".vs-model-name").innerText(), (text) => text === "two");
  await say(tab, "Hello");
  await tab.locator(".vs-list").getByText("Noted.").waitFor();
  await done(tab);
  assert.equal(stage.model.requests.at(-1).model, "two");
  await stage.close(tab);
  await stage.strike();
}

/** Without a model the empty view shows the setup: a key is checked and stored, and a model chosen. */
export async function a_model_is_set_up(set) {
  const stage = await Stage.set({ ...set, chain: "" });
  const tab = await stage.open({ width: 500 });
  const setup = tab.locator(".vs-setup");
  await setup.getByText("Ready to use").waitFor();
  await picture(tab, "setup-light");
  assert.deepEqual(await faults(tab, "setup"), []);
  await setup.getByLabel("Vendor").selectOption("openai");
  await setup.getByLabel("API key").fill("two words");
  await setup.getByRole("button", { name: "Check and save" }).click();
  await setup.getByRole("alert").getByText(/contains blanks/).waitFor();
  await setup.getByLabel("API key").fill("sk-e2e-canary");
  await setup.getByRole("button", { name: "Check and save" }).click();
  const choice = setup.getByLabel("The key works. Choose a model");
  await choice.selectOption("openai/two");
  assert.ok(!(await tab.content()).includes("sk-e2e-canary"));
  assert.equal(await readFile(path.join(path.dirname(stage.daemon.settings), "keys", "openai"), "utf8"), "sk-e2e-canary\n");
  await setup.getByRole("button", { name: "Use it" }).last().click();
  await tab.locator(".vs-model-name").getByText("two").waitFor();
  await setup.waitFor({ state: "detached" });
  await tab.locator(".vs-empty-hint").waitFor();
  // The setup is also shown after a question that no model could answer.
  await stage.daemon.command("config", "set", "models.chain", "[]");
  await setup.waitFor();
  await say(tab, "Hello");
  await tab.locator(".vs-agent").getByText(/No model is configured/).waitFor();
  await done(tab);
  await setup.getByRole("button", { name: "Use it" }).first().click();
  await setup.waitFor({ state: "detached" });
  assert.ok(!stage.daemon.output.includes("sk-e2e-canary"));
  await stage.close(tab);
  await stage.strike();
}
