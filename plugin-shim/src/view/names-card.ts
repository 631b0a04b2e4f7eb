/** Suggested names for files: the person chooses one for each, and makes a plan of the selected files. */

import { box, clear, element, setText, show } from "./dom";
import { resultView } from "./job-card";
import type { Card } from "./lazy";
import type { Names } from "./outputs";
import { counted, noteName, visible } from "./format";
import { iconOf, type Parts, textButton } from "./part";
import { planCard } from "./plan-card";
import { errorText } from "../call-error";
import { structured } from "./agreed";

/** The number of files that are shown at first. */
const SHOWN = 20;
/** The number of files that the model is asked about at once; the daemon takes no more. */
const MOST_ASKED = 100;
/** Milliseconds that the model may take. */
const LONGEST = 600_000;

export function namesCard(parts: Parts, { files: first }: Names, convention?: string): Card {
  const root = element(parts.root, "section", { class: "vs-card", attributes: { role: "group", "aria-label": "Suggested names" } });
  const title = element(root, "span", { class: "vs-card-title" });
  const facts = box(root, "vs-plan-facts");
  const list = element(root, "ul", { class: "vs-rows vs-plan-group" });
  const more = textButton(root, "", "vs-more");
  const ask = textButton(root, "Suggest with the model");
  const make = textButton(root, "", "mod-cta");
  const resultBox = resultView(root);
  let files = first;
  /** The new path of each selected file. */
  const chosen = new Map<string, string>();
  let plan: Card | null = null;
  let number: number | undefined;

  const draw = (): void => {
    setText(make, `Plan ${counted(chosen.size, "rename")}`);
    make.disabled = chosen.size === 0;
  };
  const drawFiles = (): void => {
    const open = files.filter(({ suggestions }) => suggestions.length > 0);
    const fit = files.filter(({ fits }) => fits).length;
    setText(title, `New names for ${open.length} of ${counted(files.length, "file")}`);
    setText(facts, fit > 0 ? `${fit} fit as they are` : "");
    clear(list);
    chosen.clear();
    open.forEach(drawFile);
    setText(more, `Show ${open.length - SHOWN} more`);
    show(more, open.length > SHOWN);
    show(make, open.length > 0);
    draw();
  };
  const drawFile = ({ path, suggestions }: Names["files"][number]): void => {
    const label = visible(noteName(path));
    const tick = element(root, "input", { class: "vs-plan-tick", attributes: { type: "checkbox", "aria-label": `Rename ${label}` } });
    const name = element(root, "a", { class: "internal-link vs-link", text: label, attributes: { role: "link", tabindex: 0, dir: "auto", title: visible(path), "data-path": path } });
    const select = element(root, "select", { class: "dropdown vs-names", attributes: { "aria-label": `New name of ${label}` } });
    for (const { name: to, taken_by } of suggestions) select.append(element(select, "option", { text: visible(taken_by ? `${to} (taken)` : to) }));
    const reason = box(root, "vs-plan-below");
    const choose = (): void => {
      const one = suggestions[select.selectedIndex] ?? suggestions[0];
      if (tick.checked && one) chosen.set(path, one.to);
      else chosen.delete(path);
      select.title = visible(one?.name ?? "");
      setText(reason, visible(`${one?.reason ?? ""}${one?.taken_by ? `; taken by ${one.taken_by}` : ""}`));
      draw();
    };
    tick.checked = !suggestions[0]?.taken_by;
    tick.addEventListener("change", choose);
    select.addEventListener("change", choose);
    choose();
    const line = box(root, "vs-row-line", tick, element(root, "span", { class: "vs-plan-names" }, name, " → ", select));
    const row = element(root, "li", { class: "vs-row" }, line, reason);
    show(row, list.childElementCount < SHOWN);
    list.append(row);
  };
  more.addEventListener("click", () => {
    for (const row of list.children) show(row as HTMLElement, true);
    show(more, false);
  });
  /** Asks the model for the subjects of the files whose names do not fit. */
  const askModel = async (): Promise<void> => {
    const paths = files.filter(({ fits }) => !fits).map(({ path }) => path).slice(0, MOST_ASKED);
    if (!(await parts.host.confirm(`The model gets the beginning of ${counted(paths.length, "file")}, to suggest names.`, "Suggest"))) return;
    ask.disabled = true;
    setText(ask, "Asking the model…");
    resultBox.clear();
    try {
      const { names, model = "" } = await parts.connection.call("_vault/names/suggest", { paths, ...(convention === undefined ? {} : { convention }) }, { timeoutMs: LONGEST });
      const named = new Map((names as unknown as Names).files.map((file) => [file.path, file]));
      files = files.map((file) => named.get(file.path) ?? file);
      drawFiles();
      parts.announce(`${model} suggested names`);
      show(ask, false);
    } catch (error) {
      resultBox.fail(errorText(error));
    }
    ask.disabled = false;
    setText(ask, "Suggest with the model");
  };
  ask.addEventListener("click", () => void askModel());
  make.addEventListener("click", () => {
    make.disabled = true;
    resultBox.clear();
    const items = [...chosen].map(([path, to]) => ({ path, to }));
    parts.chat.tool("plan_changes", { items, ...(number === undefined ? {} : { plan: number }) }).then(
      (result) => {
        draw();
        if (result.isError) return resultBox.show(result);
        const made = structured(result)["plan"] as number;
        // The existing card of the same plan updates itself.
        if (made === number) return;
        number = made;
        plan?.end();
        plan?.root.remove();
        plan = planCard(parts, made);
        root.append(plan.root);
      },
      (error: unknown) => {
        draw();
        resultBox.fail(errorText(error));
      },
    );
  });
  root.append(box(root, "vs-card-head", iconOf(parts, "pencil"), title), facts, list, more, resultBox.root, box(root, "vs-answers", ask, make));
  show(ask, files.some(({ fits }) => !fits));
  drawFiles();
  return { root, end: () => plan?.end() };
}
