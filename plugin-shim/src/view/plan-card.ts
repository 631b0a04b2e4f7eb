/** A plan: the change of each file with its reason and a checkbox, and the buttons that apply or drop the plan. */

import { type Applied } from "./jobs";
import { jobState, reasons, resultView, staleOf } from "./job-card";
import { rulesOf } from "./rule-card";
import type { Card } from "./lazy";
import { actionCounts, type Asked, editsOf, type Group, groupsOf, groupTitle, isApplicable, type Job, jobWords, type PlanItem, riskCounts } from "./plans";
import { append, box, clear, element, setText, show } from "./dom";
import { counted, noteName, sentence, visible } from "./format";
import { iconOf, type Parts, setWords, textButton } from "./part";
import { codeOf, messageOf, structured } from "./agreed";
import { errorText } from "../call-error";

/** The number of items in a group, and of groups, that are drawn at first. */
const SHOWN = 10;
const GROUPS = 20;
/** Of a plan with more items than this, in several groups, fewer of each are drawn at first. */
const LARGE = 100;
const FEW = 3;

/** A plan in the output of `show_plan`, in several parts. */
interface Shown {
  identity: string;
  items: PlanItem[];
  total: number;
  /** Rules that failed for some files. */
  faults: { rule: string; files: number; path: string; message: string }[];
  /** Files whose links are updated. */
  relinked: number;
}

/** The card of a plan in its current state. */
export function planCard(parts: Parts, plan: number): Card {
  const { connection, jobs } = parts;
  const root = element(parts.root, "section", { class: "vs-card", attributes: { role: "group", "aria-label": `Plan ${plan}` } });
  const title = element(root, "span", { class: "vs-card-title" });
  const all = textButton(root, "", "vs-small vs-undo");
  const facts = box(root, "vs-plan-facts");
  const tree = box(root, "vs-plan-tree");
  const more = textButton(root, "", "vs-more");
  const apply = textButton(root, "Apply", "mod-cta");
  const drop = textButton(root, "Drop");
  drop.setAttribute("aria-label", `Drop plan ${plan}`);
  const buttons = box(root, "vs-answers", apply, drop);
  const job = jobState(parts);
  const resultBox = resultView(root);
  const rules = rulesOf(parts, plan);
  let hasManyRules = false;
  append(root, box(root, "vs-card-head", iconOf(parts, "folder"), title, all), rules.root, facts, tree, more, resultBox.root, buttons, job.root);

  let shown: Shown | null = null;
  /** The items that the person has deselected. */
  const unticked = new Set<number>();
  let boxes: HTMLInputElement[] = [];
  /** The elements with each file's name and with its state in the job. */
  const marks = new Map<number, { mark: HTMLElement; name: HTMLElement; item: PlanItem }>();
  /** The result of the job by item number if the job is a part of the plan, and the job's state at the request. */
  let doneOf: Map<number, string> | null = null;
  let askedOf = "";
  let isWhole = false;
  let isBusy = false;
  let isDropped = false;
  let isOver = false;
  let asked = 0;

  const applicable = (): PlanItem[] => (shown?.items ?? []).filter(isApplicable);
  const ticked = (): PlanItem[] => applicable().filter((item) => !unticked.has(item.item));

  /** The plan's current job: then there is nothing to apply. */
  const currentJob = (): ReturnType<typeof jobs.get> => {
    const last = shown ? jobs.ofPlan(plan, shown.identity) : undefined;
    const isNothing = last !== undefined && last.done === 0 && ["failed", "cancelled"].includes(last.state);
    return isNothing ? undefined : last;
  };

  const draw = (): void => {
    if (isOver) return;
    clear(tree);
    clear(facts);
    boxes = [];
    marks.clear();
    if (!shown) return;
    const { items, total, faults, relinked } = shown;
    hasManyRules = new Set(items.flatMap((item) => item.rules ?? [])).size > 1;
    setText(title, `Plan ${plan}${total === 0 ? "" : ` for ${counted(total, "file")}`}`);
    if (total === 0) {
      facts.append(isDropped ? "Dropped. Nothing was changed." : "There is nothing to change now.");
    } else {
      facts.append(element(root, "span", { text: sentence(actionCounts(items)) }));
      for (const [risk, count] of riskCounts(items)) facts.append(drawRisk(root, risk, `${count} ${risk} risk`));
      const blocked = items.length - applicable().length;
      if (blocked > 0) facts.append(element(root, "span", { class: "vs-plan-blocked", text: `${counted(blocked, "file")} cannot be changed` }));
      if (relinked > 0) facts.append(element(root, "span", { text: `Links are updated in ${counted(relinked, "file")}` }));
    }
    for (const { rule, files, path, message } of faults) {
      facts.append(drawProblem(parts, `Rule ${rule} failed for ${counted(files, "file")}, first ${path}: ${message}`, true));
    }
    const groups = groupsOf(items);
    const first = total > LARGE && groups.length > FEW ? FEW : SHOWN;
    for (const group of isWhole ? groups : groups.slice(0, GROUPS)) tree.append(drawGroup(group, first));
    const left = isWhole ? 0 : groups.length - GROUPS;
    setText(more, `Show ${counted(left, "more folder", "more folders")}`);
    show(more, left > 0);
    drawFoot();
  };

  const drawGroup = (group: Group, first: number): HTMLElement => {
    const name = groupTitle(group);
    const mine = group.items.filter(isApplicable);
    const tick = checkbox(`All in ${name}`, mine.length === 0);
    tick.addEventListener("change", () => {
      for (const { item } of mine) tick.checked ? unticked.delete(item) : unticked.add(item);
      drawFoot();
    });
    tick.dataset["items"] = mine.map(({ item }) => item).join(" ");
    const words = element(root, "span", { class: "vs-plan-folder", text: visible(name), attributes: { dir: "auto" } });
    const head = box(root, "vs-row-line", tick, words, element(root, "span", { class: "vs-plan-count", text: String(group.items.length) }));
    const list = element(root, "ul", { class: "vs-rows" });
    const rest = textButton(root, `Show ${group.items.length - first} more`, "vs-more");
    const rows = (items: PlanItem[]): void => list.append(...items.map(drawItem));
    rows(group.items.slice(0, first));
    show(rest, group.items.length > first);
    rest.setAttribute("aria-label", `Show ${group.items.length - first} more of ${name}`);
    rest.addEventListener("click", () => {
      rows(group.items.slice(first));
      rest.remove();
      drawFoot();
    });
    return element(root, "div", { class: "vs-plan-group", attributes: { role: "group", "aria-label": visible(name) } }, head, list, rest);
  };

  const drawItem = (item: PlanItem): HTMLElement => {
    const row = element(root, "li", { class: "vs-row" });
    const tick = checkbox(item.to ? `${item.path} to ${item.to}` : item.path, !isApplicable(item));
    tick.dataset["items"] = isApplicable(item) ? String(item.item) : "";
    tick.addEventListener("change", () => {
      if (tick.checked) unticked.delete(item.item);
      else unticked.add(item.item);
      drawFoot();
    });
    const link = { role: "link", tabindex: 0, "data-path": item.path };
    const name = element(root, item.create ? "span" : "a", {
      class: item.create ? "vs-plan-name" : "vs-plan-name internal-link vs-link",
      text: visible(noteName(item.path)),
      attributes: { dir: "auto", title: visible(item.path), ...(item.create ? {} : link) },
    });
    // The group's heading does not name the destination of an item that cannot be applied.
    const after = item.to ? (isApplicable(item) ? noteName(item.to) : item.to) : "";
    const isRenamed = after !== "" && after !== noteName(item.path);
    const names = element(root, "span", { class: "vs-plan-names" }, name);
    if (isRenamed) {
      const new_ = element(root, "span", { class: "vs-plan-name", text: visible(after), attributes: { dir: "auto", title: visible(item.to ?? "") } });
      append(names, " → ", new_);
    }
    const mark = element(root, "span", { class: "vs-plan-count" });
    if (isApplicable(item)) marks.set(item.item, { mark, name, item });
    const line = box(root, "vs-row-line", tick, names, mark);
    // Moves are of medium risk; only the high risk, the trash, is marked.
    append(line, isApplicable(item) && item.risk === "high" && drawRisk(root, "high", "high risk"));
    if (item.rules && item.rules.length > 0) line.append(drawWhy(item, item.rules));
    row.append(line);
    const below = box(root, "vs-plan-below");
    const edits = editsOf(item);
    if (edits.length > 0) below.append(element(root, "span", { text: visible(edits.join(" · ")), attributes: { dir: "auto" } }));
    const texts = [["top", item.prepend], [item.create ? "content" : "end", item.append]] as const;
    for (const [where, text] of texts) if (text) below.append(drawText(root, where, text));
    append(row, below.childElementCount > 0 && below);
    for (const { message, blocks } of item.problems ?? []) row.append(drawProblem(parts, message, blocks));
    return row;
  };

  /** The rules that selected a file; when opened, all evaluated rules and the deciding conditions. */
  const drawWhy = ({ item, path }: PlanItem, rules: string[]): HTMLElement => {
    // A single rule is named above.
    const summary = element(root, "summary", { text: visible(hasManyRules ? `Why: ${rules.join(", ")}` : "Why"), attributes: { dir: "auto", "aria-label": visible(`Why: ${rules.join(", ")} (${path})`) } });
    const list = element(root, "ol", { class: "vs-plan-why" });
    const details = element(root, "details", { class: "vs-plan-more" }, summary, list);
    details.addEventListener("toggle", () => {
      if (!details.open || list.childElementCount > 0) return;
      parts.chat.tool("show_plan", { plan, why: String(item) }).then(
        (result) => {
          const { why = [] } = structured(result) as { why?: Asked[] };
          clear(list);
          if (why.length > 0) list.append(...why.map((one) => drawAsked(root, one)));
          else list.append(element(root, "li", { text: result.isError ? messageOf(result) : "Planned by hand." }));
        },
        (error: unknown) => list.replaceChildren(element(root, "li", { text: errorText(error) })),
      );
    });
    return details;
  };

  const checkbox = (label: string, disabled: boolean): HTMLInputElement => {
    const made = element(root, "input", { class: "vs-plan-tick", attributes: { type: "checkbox", "aria-label": visible(label) } });
    made.disabled = disabled;
    boxes.push(made);
    return made;
  };

  /** The parts that depend on the checkboxes and on the job. */
  const drawFoot = (): void => {
    if (isOver || !shown) return;
    const last = currentJob();
    const isOpen = last === undefined;
    for (const one of boxes) {
      const items = (one.dataset["items"] ?? "").split(" ").filter((id) => id !== "").map(Number);
      const on = items.filter((id) => !unticked.has(id)).length;
      one.checked = on > 0 && on === items.length;
      one.indeterminate = on > 0 && on < items.length;
      one.disabled = items.length === 0 || isBusy;
      show(one, isOpen);
    }
    for (const [id, { mark, name, item }] of marks) {
      const known = isOpen || !doneOf ? "done" : doneOf.get(id);
      const isMoved = !isOpen && last.state !== "undone" && known === "done" && item.to;
      if (!item.create) name.dataset["path"] = isMoved ? String(item.to) : item.path;
      setText(mark, { done: "", undone: "undone", waiting: "not yet applied" }[known ?? ""] ?? "not applied");
    }
    const count = ticked().length;
    const isLoaded = shown.items.length === shown.total;
    setText(all, count === 0 ? "Tick all" : "Untick all");
    show(all, isOpen && applicable().length > 1);
    setText(apply, isBusy ? "Applying…" : isLoaded ? `Apply ${count}` : "Loading…");
    apply.setAttribute("aria-label", isLoaded && !isBusy ? `Apply ${counted(count, "change")} of plan ${plan}` : apply.textContent);
    apply.disabled = count === 0 || isBusy || !isLoaded || !jobs.isConnected;
    drop.disabled = isBusy || !isLoaded || !jobs.isConnected;
    show(buttons, isOpen && shown.total > 0);
    show(job.root, last !== undefined);
    if (!last) return;
    job.update(last);
    if (last.state !== "running" && isLoaded) void refresh(last);
  };

  /** Loads the files that the job changed if it is a part of the plan. */
  const refresh = async (last: Job): Promise<void> => {
    const name = JSON.stringify([last.job, last.state, last.done, last.undone]);
    const isAll = last.total === applicable().length && ["completed", "undone"].includes(last.state);
    if (name === askedOf) return;
    askedOf = name;
    if (isAll) doneOf = null;
    if (isAll) return drawFoot();
    const found = new Map<number, string>();
    try {
      for (let isEnd = false; !isEnd; ) {
        const { isError, structuredContent } = await parts.chat.tool("list_jobs", { job: last.job, first_result: found.size + 1 });
        if (isError) return;
        const { items = [] } = (structuredContent ?? {}) as { items?: { item: number; state: string }[] };
        for (const { item, state } of items) found.set(item, state);
        isEnd = items.length === 0 || found.size >= last.total;
      }
      if (askedOf !== name) return;
      doneOf = found;
      drawFoot();
    } catch {
      askedOf = "";
    }
  };

  const load = async (): Promise<void> => {
    const own = ++asked;
    try {
      const items: PlanItem[] = [];
      for (let isLast = false; !isLast; ) {
        const result = await parts.chat.tool("show_plan", { plan, first_item: items.length + 1 });
        if (own !== asked || isOver) return;
        if (result.isError) return gone(messageOf(result));
        const part = result.structuredContent as Shown;
        const isSame = part.identity === shown?.identity;
        if (items.length > 0 && !isSame) return await load();
        // The drawn part stays, with its open elements and its focus.
        if (items.length === 0 && isSame && shown?.items.length === part.total) return;
        if (!isSame) resultBox.clear();
        items.push(...part.items);
        isLast = items.length >= part.total || part.items.length === 0;
        if (!isSame) unticked.clear();
        if (!isSame) void rules.load();
        shown = { ...part, items: [...items], total: isLast ? items.length : part.total };
        draw();
      }
    } catch {
      // The next connection loads it.
      connection.missed();
    }
  };

  /** The plan was deleted: it could not be applied. */
  const gone = (why: string): void => {
    shown = null;
    draw();
    setText(title, `Plan ${plan}`);
    for (const one of [all, rules.root, more, buttons, job.root]) show(one, false);
    setWords(facts, sentence(why));
  };

  const act = async (does: () => Promise<void>): Promise<void> => {
    isBusy = true;
    resultBox.clear();
    drawFoot();
    try {
      await does();
    } catch (error) {
      resultBox.fail(errorText(error));
    } finally {
      isBusy = false;
      drawFoot();
    }
  };

  const applyTicked = async (skipStale: boolean): Promise<void> => {
    if (!shown) return;
    const items = ticked();
    const given: Applied = { plan, identity: shown.identity };
    if (items.length < applicable().length) given["items"] = items.map(({ item }) => item);
    if (skipStale) given["skip_stale"] = true;
    const result = await jobs.apply(given, items.length);
    if (!result) return;
    if (codeOf(result) !== "stale_plan") {
      resultBox.show(result);
      const last = currentJob();
      if (last) parts.announce(`Plan ${plan}: ${jobWords(last)}`);
      return;
    }
    const stale = staleOf(result);
    if (stale.length === 0) {
      resultBox.fail(messageOf(result));
      return load();
    }
    const without = textButton(root, "Apply without these", "mod-cta");
    without.addEventListener("click", () => void act(() => applyTicked(true)));
    resultBox.fail(`Nothing was changed: ${counted(stale.length, "file")} changed since the plan was made.`, reasons(root, stale), without);
  };

  const dropAll = async (): Promise<void> => {
    const result = await parts.chat.tool("plan_changes", { plan, take_out: (shown?.items ?? []).map(({ item }) => item) });
    if (result.isError) return resultBox.fail(messageOf(result));
    isDropped = true;
    await load();
    // The event of the change may have loaded the empty plan already.
    draw();
  };

  all.addEventListener("click", () => {
    const isNone = ticked().length === 0;
    for (const { item } of applicable()) isNone ? unticked.delete(item) : unticked.add(item);
    drawFoot();
  });
  more.addEventListener("click", () => {
    isWhole = true;
    draw();
  });
  apply.addEventListener("click", () => void act(() => applyTicked(false)));
  drop.addEventListener("click", () => void act(dropAll));
  const releases = [
    connection.onSnapshot(() => void load()),
    connection.on("_vault/plan", (params) => params.plan === plan && params.identity !== shown?.identity && void load()),
    jobs.on(drawFoot),
  ];
  setText(title, `Plan ${plan}`);
  facts.append("Loading…");
  for (const one of [all, more, buttons, job.root]) show(one, false);
  if (connection.state.kind === "connected") void load();
  return {
    root,
    end() {
      isOver = true;
      releases.forEach((release) => release());
    },
  };
}

/** The explanation of each risk. */
const RISKS = { high: "High: a file goes to the trash", medium: "Medium: a file gets another path, other properties or other text", low: "Low: a new file" };

function drawRisk(near: Node, risk: PlanItem["risk"], text: string): HTMLElement {
  return element(near, "span", { class: `vs-risk is-${risk}`, text, attributes: { title: RISKS[risk] } });
}

function drawProblem(parts: Parts, message: string, blocks: boolean): HTMLElement {
  const words = element(parts.root, "span", { attributes: { dir: "auto" } });
  setWords(words, sentence(message));
  return box(parts.root, `vs-plan-problem${blocks ? " is-blocking" : ""}`, iconOf(parts, "triangle-alert"), words);
}

/** An added text, behind a line with its length. */
function drawText(near: Node, where: "top" | "end" | "content", text: string): HTMLElement {
  const words = { top: "Adds at the top", end: "Adds at the end", content: "Content" }[where];
  return element(
    near,
    "details",
    { class: "vs-plan-more" },
    element(near, "summary", { text: `${words}: ${counted(text.replace(/\n$/, "").split("\n").length, "line")}` }),
    element(near, "pre", { text: visible(text), attributes: { dir: "auto", tabindex: 0 } }),
  );
}

/** A rule that was evaluated for a file, and the deciding conditions. */
function drawAsked(near: Node, { rule, took, stopped_by, parts = [] }: Asked): HTMLElement {
  const outcome = took ? "yes" : stopped_by ? `not asked: ${stopped_by} comes first` : "no";
  const line = element(near, "li", { text: visible(`${rule}: ${outcome}`), attributes: { dir: "auto" } });
  for (const part of parts) line.append(element(near, "div", { class: "vs-plan-part", text: visible(part) }));
  return line;
}
