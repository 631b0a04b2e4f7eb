// The page's states are correct everywhere, and accessible.
import assert from "node:assert/strict";
import { Stage, done, picture, say, until } from "./stage.mjs";
import { faults } from "./axe.mjs";
import { gate } from "./model.mjs";

/**
 * An approval names its conversation after a reload and from another conversation, and so do all displays of
 * the state.
 */
export async function an_approval_says_where_it_belongs(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 700 });
  stage.model.next((turn) => turn.text("Hello to you."));
  await say(tab, "Hello first");
  await tab.locator(".vs-list").getByText("Hello to you.").waitFor();
  await done(tab);
  assert.equal(await tab.title(), "Vault Steward");
  await tab.getByRole("button", { name: "New conversation", exact: true }).click();
  stage.model.next((turn) => turn.call("delete", { path: "Garden" }), (turn) => turn.text("Then not."));
  await say(tab, "Tidy up");
  await tab.locator(".vs-approval").waitFor();
  const state = (of, words) => until("state", () => of.locator(".vs-state").innerText(), (text) => text.trim() === words);
  const check = async () => {
    await state(tab, "Waiting for you");
    await until("work", () => tab.locator(".vs-work").innerText(), (text) => text.trim() === "Waiting for your approval");
    await until("title", () => tab.title(), (title) => title === "(1) Waiting for you · Vault Steward");
    assert.equal(await tab.locator(".vs-approval-where").isVisible(), false);
  };
  await check();
  // Its files are named.
  await until("files", () => tab.locator(".vs-files li").count(), (count) => count > 0);
  assert.match(await tab.locator(".vs-approval-files").innerText(), /\d+ files[\s\S]*Compost\.md/);
  await picture(tab, "approval-folder-light");
  await tab.reload();
  await tab.locator(".vs-approval").waitFor();
  await check();
  await tab.locator(".vs-title").click();
  await tab.locator(".vs-session").nth(1).waitFor();
  const dots = await tab.locator(".vs-session .vs-dot").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  assert.deepEqual(dots, ["Waiting for you"]);
  // In another conversation it is labelled as another one's.
  await tab.locator(".vs-session", { hasText: "Hello first" }).locator(".vs-session-open").click();
  await tab.locator(".vs-list").getByText("Hello to you.").waitFor();
  await until("place", () => tab.locator(".vs-approval-where").innerText(), (text) => /in another conversation: Tidy up/.test(text));
  await state(tab, "Done");
  await picture(tab, "approval-elsewhere-light");
  await tab.locator(".vs-approval-where").getByRole("button", { name: "Show" }).click();
  await tab.locator(".vs-list").getByText("Tidy up").waitFor();
  await check();
  // At 400 % zoom it can still be read and answered.
  await tab.setViewportSize({ width: 320, height: 256 });
  const reject = tab.locator(".vs-approval").getByRole("button", { name: "Reject", exact: true });
  await reject.scrollIntoViewIfNeeded();
  const { height } = await tab.locator(".vs-messages").boundingBox();
  assert.ok(height >= 100, `the conversation has ${height} px`);
  await picture(tab, "approval-zoom-light");
  await reject.click();
  await tab.setViewportSize({ width: 700, height: 760 });
  await tab.locator(".vs-call-state").getByText("you refused").waitFor();
  await done(tab);
  await tab.reload();
  await tab.locator(".vs-call-state").getByText("you refused").waitFor();
  await until("title", () => tab.title(), (title) => title === "Vault Steward");
  await stage.close(tab);
  await stage.strike();
}

/** A failure is labelled as one, and without the daemon nothing appears to run; the content stays. */
export async function what_failed_or_broke_off_is_called_so(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open();
  stage.model.next((turn) => turn.fail());
  await say(tab, "Hello");
  await tab.locator(".vs-end.is-error").waitFor();
  const state = (words) => until("state", () => tab.locator(".vs-state").innerText(), (text) => text.trim() === words);
  await state("Failed");
  await until("title", () => tab.title(), (title) => title === "Failed · Vault Steward");
  assert.equal(await tab.locator(".vs-state .is-done").count(), 0);
  const never = gate();
  stage.model.next(async (turn) => {
    turn.text("The first half of it");
    await never.opened;
  });
  await say(tab, "Tell me a story");
  await tab.locator(".vs-list").getByText("The first half of it").waitFor();
  await stage.daemon.stop("SIGKILL");
  never.open();
  await tab.locator(".vs-panel.is-line").waitFor();
  await until("word of it", () => tab.locator(".vs-work").innerText(), (text) => /Interrupted/.test(text));
  const moving = await tab.evaluate(() => document.getAnimations().filter((one) => one.playState === "running" && one.animationName).length);
  assert.equal(moving, 0);
  await picture(tab, "gone-light");
  await stage.daemon.start();
  await tab.locator(".vs-panel").waitFor({ state: "hidden" });
  await done(tab);
  await tab.locator(".vs-agent").getByText("The first half of it").waitFor();
  await tab.locator(".vs-agent").getByText("The answer was cut off here.").waitFor();
  await state("Stopped");
  // Escape stops an answer.
  const long = gate();
  stage.model.next(async (turn) => {
    turn.text("It goes on and on");
    await long.opened;
  });
  await say(tab, "Another");
  await tab.locator(".vs-list").getByText("It goes on and on").waitFor();
  await tab.locator(".vs-input").press("Escape");
  await tab.locator(".vs-end").getByText("Stopped").waitFor();
  long.open();
  await stage.close(tab);
  await stage.strike();
}

/** axe-core finds nothing serious or critical, in the light and the dark theme. */
export async function everybody_can_read_it(set) {
  const stage = await Stage.set(set);
  const tab = await stage.open({ width: 600, height: 900 });
  const found = [...(await faults(tab, "empty"))];
  stage.model.next(
    (turn) => turn.call("edit_file", { path: "Garden/Compost.md", old_text: "Turn at Christmas.", new_text: "Turn at New Year." }),
    (turn) => turn.text("See [[Inbox]] and [there](https://example.org), ==soon==.\n\n- [x] fleece\n- [ ] pegs\n\n> [!tip] Note\n> words\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls\n```\n"),
  );
  await say(tab, "Look at [[Inbox]]");
  await tab.locator(".vs-agent pre").waitFor();
  await done(tab);
  await tab.locator(".vs-changes").getByRole("button", { name: /^Diff of/ }).click();
  await tab.locator(".vs-call summary").first().click();
  found.push(...(await faults(tab, "answer")));
  await tab.locator(".vs-input").fill("/");
  await tab.locator(".vs-completion").first().waitFor();
  found.push(...(await faults(tab, "commands")));
  await tab.locator(".vs-input").fill("");
  await tab.locator(".vs-agent").getByRole("link", { name: "Inbox" }).click();
  await tab.locator(".page-note .vs-markdown p").first().waitFor();
  found.push(...(await faults(tab, "note")));
  await tab.keyboard.press("Escape");
  await tab.getByRole("button", { name: "Undo all of these changes" }).click();
  await tab.getByText("Undone: 1 change").waitFor();
  found.push(...(await faults(tab, "undone")));
  stage.model.next((turn) => turn.call("delete", { path: "Garden" }), (turn) => turn.text("Then not."));
  await say(tab, "Tidy up");
  await tab.locator(".vs-files").waitFor();
  found.push(...(await faults(tab, "approval")));
  await tab.locator(".vs-approval").getByRole("button", { name: "Reject", exact: true }).click();
  await done(tab);
  stage.model.next((turn) => turn.call("send_message", { text: "Which bed?", is_question: true }));
  await say(tab, "Plan it");
  await tab.locator(".vs-agent.is-waiting").waitFor();
  found.push(...(await faults(tab, "question")));
  stage.model.next((turn) => turn.fail());
  await say(tab, "Bed 1");
  await tab.locator(".vs-end.is-error").waitFor();
  found.push(...(await faults(tab, "failed")));
  await tab.getByRole("button", { name: "More", exact: true }).click();
  await tab.locator(".vs-menu").waitFor();
  found.push(...(await faults(tab, "menu")));
  await tab.keyboard.press("Escape");
  await tab.locator(".vs-title").click();
  await tab.locator(".vs-session").first().waitFor();
  found.push(...(await faults(tab, "list")));
  await tab.keyboard.press("Escape");
  await stage.daemon.stop("SIGKILL");
  await tab.locator(".vs-panel.is-line").waitFor();
  found.push(...(await faults(tab, "gone")));
  assert.deepEqual([...new Set(found)], []);
  await stage.close(tab);
  await stage.strike();
}
