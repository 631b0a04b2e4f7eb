/** The rules of a plan: their meaning, the matching and nearly matching files, and whether they run automatically. */

import { append, box, clear, element, show } from "./dom";
import { callAgreed, codeOf, messageOf } from "./agreed";
import { counted, noteName, sentence, visible } from "./format";
import type { DescribedRule, RuleExample, RulesDescribeResult } from "../protocol";
import { type Parts, setWords, textButton } from "./part";
import { noteLink } from "./named";
import { noteOfRules, pathOfRules } from "./kept-rules";
import { resultView } from "./job-card";
import { CallError, errorText } from "../call-error";

/** The state of a rule, in the labels of its dropdown. */
const STATES = [["off", "Automatic: off"], ["ask", "Automatic: ask first"], ["automatic", "Automatic: on"]] as const;

/** The rules of a plan; empty and hidden for a plan without rules. */
export function rulesOf(parts: Parts, plan: number): { root: HTMLElement; load(): Promise<void> } {
  const { connection, host } = parts;
  const root = element(parts.root, "div", { class: "vs-plan-rules", attributes: { role: "group", "aria-label": `Rules of plan ${plan}` } });
  const resultBox = resultView(root);
  let shown: RulesDescribeResult = { rules: [], warnings: [] };
  /** The file in which the person saved the rules. */
  let keptAt: string | undefined;
  let file: HTMLInputElement | null = null;
  let isBusy = false;
  let asked = 0;

  const draw = (): void => {
    clear(root);
    const { rules, warnings, text } = shown;
    show(root, rules.length > 0);
    if (rules.length === 0) return;
    for (const rule of rules) root.append(drawRule(rule));
    for (const warning of warnings) {
      const [first = "", ...rest] = warning.split("\n");
      const words = element(root, rest.length > 0 ? "summary" : "div", { attributes: { dir: "auto" } });
      // The summary omits the position, which the details show.
      setWords(words, sentence(first.replace(/^\S+:\d+:\d+: \w+: /, "")));
      const details = element(root, "details", { class: "vs-plan-more" }, words);
      details.append(element(root, "pre", { text: visible(rest.join("\n")), attributes: { tabindex: 0 } }));
      root.append(rest.length > 0 ? details : box(root, "vs-plan-below", words));
    }
    if (text !== undefined) {
      const summary = element(root, "summary", { text: "The rules as text" });
      root.append(element(root, "details", { class: "vs-plan-more" }, summary, element(root, "pre", { text: visible(text), attributes: { tabindex: 0 } })));
    }
    root.append(drawFoot(text), resultBox.root);
  };

  const drawRule = (rule: DescribedRule): HTMLElement => {
    const { name, does, takes, fits, examples, near } = rule;
    const title = element(root, "span", { class: "vs-plan-folder", text: visible(name), attributes: { dir: "auto" } });
    const head = box(root, "vs-row-line", title);
    if (rule.runs) head.append(drawState(rule));
    const meaning = element(root, "div", { class: "vs-rule-does", attributes: { dir: "auto" } });
    setWords(meaning, sentence(does));
    const made = element(root, "div", { class: "vs-plan-group", attributes: { role: "group", "aria-label": visible(`Rule ${name}`) } }, head, meaning);
    const more = fits > takes ? `; ${counted(fits, "file fits", "files fit")} its condition` : "";
    append(made, drawFiles(takes === 0 ? `Takes no file now${more}` : `Takes ${counted(takes, "file")}${more}`, examples), near.length > 0 && drawFiles("Nearly takes", near));
    return made;
  };

  /** Files, some of them with the deciding conditions. */
  const drawFiles = (words: string, files: RuleExample[]): HTMLElement => {
    if (files.length === 0) return element(root, "div", { class: "vs-plan-below", text: words });
    const list = element(root, "ul", { class: "vs-plan-why" });
    for (const { path, parts: decided } of files) {
      const name = element(list, "a", { class: "internal-link vs-link", text: visible(noteName(path)), attributes: { role: "link", tabindex: 0, dir: "auto", title: visible(path), "data-path": path } });
      const line = element(list, "li", {}, name);
      for (const part of decided) line.append(element(line, "div", { class: "vs-plan-part", text: visible(part) }));
      list.append(line);
    }
    const names = files.slice(0, 3).map(({ path }) => noteName(path));
    const summary = element(root, "summary", { text: visible(`${words}: ${names.join(", ")}${files.length > names.length ? "…" : ""}`), attributes: { dir: "auto" } });
    return element(root, "details", { class: "vs-plan-more" }, summary, list);
  };

  const drawState = (rule: DescribedRule): HTMLElement => {
    const list = element(root, "select", { class: "dropdown vs-names", attributes: { "aria-label": visible(`Automatic runs of ${rule.name}`) } });
    const now = rule.state ?? "off";
    for (const [value, text] of STATES) list.append(element(list, "option", { text, attributes: { value, selected: value === now } }));
    // A rule that was disabled, or whose file has changed.
    if (!STATES.some(([value]) => value === now)) list.append(element(list, "option", { text: sentence(now), attributes: { value: now, selected: true, disabled: true } }));
    list.disabled = isBusy;
    list.addEventListener("change", () => void act(() => stand(rule, list.value)));
    return list;
  };

  /** Saves the rules to a file, and offers to rewrite them. */
  const drawFoot = (text: string | undefined): HTMLElement => {
    const correct = textButton(root, "Correct…");
    correct.addEventListener("click", () => parts.compose(`Change the rules of plan ${plan}: `));
    const kept = keptAt ?? shown.rules.find(({ source }) => source !== undefined)?.source;
    if (kept !== undefined || text === undefined) {
      const where = kept === undefined ? null : element(root, "span", { attributes: { dir: "auto" } }, "Kept in ", noteLink(root, kept, kept));
      return box(root, "vs-answers", correct, where);
    }
    const before = file?.value;
    const field = element(root, "input", { class: "vs-why-not", attributes: { type: "text", dir: "auto" } });
    field.value = before ?? pathOfRules(shown.rules[0]?.name ?? "");
    file = field;
    const label = element(root, "label", { class: "vs-plan-keep", text: "Keep the rules in" }, field);
    const keep = textButton(root, "Keep");
    keep.setAttribute("aria-label", "Keep the rules in a file");
    keep.addEventListener("click", () => void act(async () => void (await write(text, false))));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing) keep.click();
    });
    for (const one of [keep, correct]) one.disabled = isBusy;
    return box(root, "vs-answers", label, keep, correct);
  };

  const act = async (does: () => Promise<void>): Promise<void> => {
    const label = root.ownerDocument.activeElement?.getAttribute("aria-label");
    isBusy = true;
    resultBox.clear();
    draw();
    try {
      await does();
    } catch (error) {
      resultBox.fail(errorText(error));
    } finally {
      isBusy = false;
      draw();
      // The used control was redrawn; it gets the focus back.
      const { activeElement, body } = root.ownerDocument;
      const used = [...root.querySelectorAll<HTMLElement>("[aria-label]")].find((one) => one.getAttribute("aria-label") === label);
      if (activeElement === body) used?.focus();
    }
  };

  /** Writes the rules to their file. Null after a failure, which is reported. */
  const write = async (text: string, mayBeThere: boolean): Promise<string | null> => {
    const path = file?.value.trim() ?? "";
    const given = { path, content: noteOfRules(path, text), if_exists: "fail" };
    const result = await callAgreed(parts, "write_file", given, { question: `Write the rules into ${path}?`, action: "Keep" });
    if (!result) return null;
    // They are enabled by the hash of their meaning, whichever program wrote the file.
    if (result.isError && !(mayBeThere && codeOf(result) === "already_exists")) {
      resultBox.fail(messageOf(result));
      return null;
    }
    return (keptAt = path);
  };

  /** Enables or disables the automatic runs of a rule. */
  const stand = async ({ name, hash, source }: DescribedRule, state: string): Promise<void> => {
    if (state === "off") {
      await connection.call("_vault/rules/disable", { name });
      return load();
    }
    const kept = source ?? keptAt ?? (shown.text === undefined ? null : await write(shown.text, true));
    if (kept === null) return;
    const given = { file: kept, names: [name], ask: state === "ask" };
    const { rules } = await connection.call("_vault/rules/enable", { ...given, dryRun: true });
    const [rule] = rules;
    if (!rule || rule.hash !== hash) return resultBox.fail(`${kept} does not contain this rule.`);
    const how = state === "ask" ? "Its changes wait for your approval." : rule.actions.includes("trash") ? "It asks before the trash." : "It does not ask.";
    const text = `Run ${name} automatically from now on? ${sentence(rule.does)} It may touch ${rule.folders.join(", ")}. ${how}`;
    if (!(await host.confirm(text, "Enable"))) return;
    await connection.call("_vault/rules/enable", { ...given, agreed: [hash] });
    parts.announce(`${name} runs automatically`);
    return load();
  };

  const load = async (): Promise<void> => {
    const own = ++asked;
    try {
      const found = await connection.call("_vault/rules/describe", { plan });
      if (own !== asked) return;
      shown = found;
      draw();
    } catch (error) {
      // The plan's own card reports that it was deleted.
      if (own !== asked || !(error instanceof CallError) || ["not_found", "disconnected"].includes(error.kind)) return;
      resultBox.fail(errorText(error));
      root.append(resultBox.root);
      show(root, true);
    }
  };
  show(root, false);
  return { root, load };
}
