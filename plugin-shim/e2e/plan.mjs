// Tabs, the mode as a chip, the line of current activity, and the mode in which changes are only proposed.
import assert from "node:assert/strict";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { faults } from "./axe.mjs";
import { gate } from "./model.mjs";
import { Stage, done, picture, say, until } from "./stage.mjs";

const NOTE = "Garden/Compost.md";

async function choose(tab, name) {
  await tab.locator(".vs-mode").click();
  await tab.getByRole("menuitemradio", { name }).click();
  await until("mode", () => tab.locator(".vs-mode").innerText(), (text) => text === name);
}

/**
 * In the mode Plan nothing changes until one button applies all proposals as shown; one undo reverts them.
 */
export async function proposals_are_judged_and_applied_together(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 800 });
  await until("mode", () => tab.locator(".vs-mode").innerText(), (text) => text === "Auto");
  await tab.locator(".vs-mode").click();
  await picture(tab, "mode-menu-light");
  assert.deepEqual(await faults(tab, "modes"), []);
  await tab.keyboard.press("Escape");
  await choose(tab, "Plan");
  const before = await stage.daemon.read(NOTE);
  stage.model.next(
    (turn) => turn.call("read_file", { path: NOTE }),
    (turn) => {
      turn.call("edit_file", { path: NOTE, old_text: "Turn at Christmas.", new_text: "Turn at Easter." });
      turn.call("move", { source: "Garden/Plot 27.md", destination: "Garden/Beds/Plot 27.md" });
    },
    (turn) => turn.text("I would turn it at Easter and move the plot."),
  );
  await say(tab, "Tidy the garden");
  await tab.locator(".vs-list").getByText("I would turn it at Easter").waitFor();
  await done(tab);
  const card = tab.locator(".vs-proposal");
  await card.getByText(/proposed changes/).waitFor();
  assert.equal(await tab.locator(".vs-call-state").getByText("proposed").count(), 2);
  assert.equal(await stage.daemon.read(NOTE), before);
  await card.locator("summary").first().click();
  await until("words", () => card.locator(".vs-diff").first().innerText(), (text) => /Turn at Easter/.test(text));
  await picture(tab, "proposals-light");
  assert.deepEqual(await faults(tab, "proposals"), []);
  await tab.emulateMedia({ colorScheme: "dark" });
  await picture(tab, "proposals-dark");
  assert.deepEqual(await faults(tab, "proposals, dark"), []);
  await tab.emulateMedia({ colorScheme: "light" });
  // They are still there after a reload of the page.
  await tab.reload();
  await card.getByRole("button", { name: "Apply all" }).click();
  await card.waitFor({ state: "detached" });
  assert.match(await stage.daemon.read(NOTE), /Turn at Easter/);
  await stage.daemon.read("Garden/Beds/Plot 27.md");
  await tab.locator(".vs-changes").waitFor();
  await tab.locator(".vs-changes").getByRole("button", { name: "Undo all of these changes" }).click();
  await tab.locator(".vs-changes").getByText(/^Undone/).waitFor();
  assert.equal(await stage.daemon.read(NOTE), before);
  // The model is informed.
  stage.model.next((turn) => turn.text("Fine."));
  await say(tab, "Thanks");
  await tab.locator(".vs-list").getByText("Fine.").waitFor();
  assert.match(JSON.stringify(stage.model.requests.at(-1)), /The user has applied the proposals/);
  await stage.close(tab);
  await stage.strike();
}

/** If a note has changed since, none of the proposals is applied, and the reason is shown. */
export async function proposals_that_no_longer_fit_change_nothing(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  await choose(tab, "Plan");
  stage.model.next(
    (turn) => turn.call("read_file", { path: NOTE }),
    (turn) => {
      turn.call("write_file", { path: "Garden/New.md", content: "new" });
      turn.call("edit_file", { path: NOTE, old_text: "Turn at Christmas.", new_text: "Turn at Easter." });
    },
    (turn) => turn.text("That is what I would do."),
  );
  await say(tab, "Plan the year");
  await done(tab);
  const card = tab.locator(".vs-proposal");
  await card.waitFor();
  const changed = (await stage.daemon.read(NOTE)).replace("Turn at Christmas.", "Turn at Christmas. Mine.");
  await stage.daemon.write(NOTE, changed);
  await card.getByRole("button", { name: "Apply all" }).click();
  await tab.locator(".page-notice").getByText(/nothing was applied/i).waitFor();
  assert.equal(await stage.daemon.read(NOTE), changed);
  await assert.rejects(stage.daemon.read("Garden/New.md"));
  await stage.close(tab);
  await stage.strike();
}

/** While the agent works, a line shows its action, the note and the duration. */
export async function a_line_says_what_goes_on(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  const on = gate();
  stage.model.next(
    (turn) => turn.call("read_file", { path: NOTE }),
    async (turn) => {
      turn.text("The heap ");
      await on.opened;
      turn.text("is fine.");
    },
  );
  await say(tab, "How is the compost?");
  const line = tab.locator(".vs-work");
  await until("words", () => line.innerText(), (text) => /^Writing… · [1-9]\d* s · [\d.]+k? tokens$/.test(text.trim()));
  await picture(tab, "live-light");
  on.open();
  await done(tab);
  await stage.close(tab);
  await stage.strike();
}

/**
 * Each tab has its own conversation, mode and draft; a click in the list opens the tab of the conversation.
 */
export async function tabs_keep_what_is_theirs(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 600 });
  const input = tab.locator(".vs-input");
  const tabs = tab.locator(".vs-tabs .vs-tab");
  stage.model.next((turn) => turn.text("Hello to you."));
  await say(tab, "The first");
  await tab.locator(".vs-list").getByText("Hello to you.").waitFor();
  await done(tab);
  await choose(tab, "Plan");
  await input.fill("half a thought");
  assert.equal(await tabs.count(), 0, "one conversation needs no tabs");
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "New tab" }).click();
  await until("tabs", () => tabs.count(), (count) => count === 2);
  assert.equal(await input.inputValue(), "");
  await until("mode", () => tab.locator(".vs-mode").innerText(), (text) => text === "Auto");
  const on = gate();
  stage.model.next(async (turn) => {
    turn.text("Wait…");
    await on.opened;
  });
  await say(tab, "The second");
  await tab.locator(".vs-list").getByText("Wait…").waitFor();
  await picture(tab, "tabs-light");
  assert.deepEqual(await faults(tab, "tabs"), []);
  await tabs.nth(0).click();
  await tab.locator(".vs-list").getByText("Hello to you.").waitFor();
  assert.equal(await input.inputValue(), "half a thought");
  await until("mode", () => tab.locator(".vs-mode").innerText(), (text) => text === "Plan");
  // The other tab shows its conversation's activity.
  await tab.locator(".vs-tabs li").nth(1).locator(".vs-dot.is-working").waitFor();
  on.open();
  await tab.locator(".vs-tabs .vs-dot.is-working").waitFor({ state: "detached" });
  await tab.locator(".vs-title").click();
  await tab.locator(".vs-session-open").getByText("The second").click();
  await until("shown", () => tabs.nth(1).getAttribute("aria-current"), (current) => current === "true");
  await tab.emulateMedia({ colorScheme: "dark" });
  await picture(tab, "tabs-dark");
  assert.deepEqual(await faults(tab, "tabs, dark"), []);
  await tab.getByRole("button", { name: /^Close the tab The second/ }).click();
  await tab.locator(".vs-tabs").waitFor({ state: "hidden" });
  assert.equal(await input.inputValue(), "half a thought");
  await stage.close(tab);
  await stage.strike();
}

/** Each tab has its model and its agent; an agent of the settings is there as soon as it is written. */
export async function tabs_have_a_model_and_an_agent_of_their_own(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 600 });
  const model = tab.locator(".vs-model");
  const name = tab.locator(".vs-model-name");
  const tabs = tab.locator(".vs-tabs .vs-tab");
  const pick = async (item) => {
    await model.click();
    await tab.getByRole("menuitemradio", { name: item }).click();
  };
  const asked = async (text) => {
    const before = stage.model.requests.length;
    await say(tab, text);
    await until("request", () => stage.model.requests.length, (count) => count > before);
    await done(tab);
    return stage.model.requests.at(-1);
  };
  assert.equal(await name.innerText(), "one");
  await pick(/^two/);
  await until("model", () => name.innerText(), (text) => text === "two");
  assert.equal((await asked("The first")).model, "two");

  const agent = '\n[agents.reader]\ndescription = "Answers and changes nothing."\nprompt = "Quote the notes."\nmode = "read-only"\ntools = ["read_file"]\n';
  await appendFile(stage.daemon.settings, agent);
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.getByRole("menuitem", { name: "New tab" }).click();
  await until("tabs", () => tabs.count(), (count) => count === 2);
  assert.equal(await name.innerText(), "one", "another conversation has the first of the chain");
  await until("agent", async () => {
    await model.click();
    const count = await tab.getByRole("menuitemradio", { name: /^reader/ }).count();
    if (count === 0) await tab.keyboard.press("Escape");
    return count;
  });
  await picture(tab, "agents-light");
  assert.deepEqual(await faults(tab, "agents"), []);
  await tab.getByRole("menuitemradio", { name: /^reader/ }).click();
  await until("agent", () => name.innerText(), (text) => text === "reader · one");
  await until("mode", () => tab.locator(".vs-mode").innerText(), (text) => text === "Read only");
  const request = await asked("The second");
  assert.equal(request.model, "one");
  assert.match(request.messages[0].content, /Quote the notes\.$/);
  assert.deepEqual(request.tools.map((tool) => tool.function.name), ["end_conversation", "read_file", "send_message"]);

  await tabs.nth(0).click();
  await until("model", () => name.innerText(), (text) => text === "two");
  await until("mode", () => tab.locator(".vs-mode").innerText(), (text) => text === "Auto");
  // What holds everywhere is chosen by a step of its own.
  await model.click();
  await tab.getByRole("menuitem", { name: "Ask two first everywhere" }).click();
  await until("chain", () => stage.daemon.command("config", "get", "models.chain"), (text) => /two.*one/s.test(text));
  // An agent that is gone answers nothing, and another can be chosen.
  await tabs.nth(1).click();
  const settings = await readFile(stage.daemon.settings, "utf8");
  await writeFile(stage.daemon.settings, settings.replace(agent.slice(1), ""));
  await until("agents", async () => !/reader/.test(await stage.daemon.command("config", "list")));
  await say(tab, "Still there?");
  await tab.locator(".vs-list").getByText(/the settings have no agent `?reader/).waitFor();
  await pick(/^steward/);
  await until("agent", () => name.innerText(), (text) => text === "two");
  assert.equal((await asked("And now?")).tools.length > 10, true);
  await stage.close(tab);
  await stage.strike();
}
