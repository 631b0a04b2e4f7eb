/** A job: its progress, its errors, and its undo button. */

import { append, box, clear, element, setText, show } from "./dom";
import { canUndo, type Job, jobWords, shareOf } from "./plans";
import { errorData, messageOf, structured } from "./agreed";
import type { Card } from "./lazy";
import { iconOf, type Parts, setWords, textButton } from "./part";
import { counted } from "./format";
import type { ToolsCallResult } from "../protocol";
import { errorText } from "../call-error";

/** The number of files that a list of reasons names at first. */
const NAMED = 10;

/** The state of a job with its buttons. */
export function jobState(parts: Parts): { root: HTMLElement; update(job: Job): void } {
  const { jobs } = parts;
  const root = box(parts.root, "vs-job");
  const words = element(root, "span", { class: "vs-job-words", attributes: { role: "status" } });
  const progress = element(root, "div", { class: "vs-progress", attributes: { role: "progressbar", "aria-label": "Progress" } });
  const why = element(root, "div", { class: "vs-aside", attributes: { dir: "auto" } });
  const buttons = box(root, "vs-job-buttons");
  const resultBox = resultView(root);
  append(root, box(root, "vs-job-line", box(root, "vs-job-text", words, why), buttons), progress, resultBox.root);
  let job: Job;
  let isBusy = false;
  let isUndoing = false;

  const button = (text: string, label: string, class_: string, press: () => void): HTMLButtonElement => {
    const made = textButton(buttons, text, class_);
    made.setAttribute("aria-label", label);
    made.addEventListener("click", press);
    buttons.append(made);
    return made;
  };
  const stop = button("Stop", "Stop before the next part", "", () => {
    stop.disabled = true;
    jobs.stop(job.job).catch((error: unknown) => {
      stop.disabled = false;
      resultBox.fail(errorText(error));
    });
  });
  const resume = button("Resume", "Resume: apply what is left", "mod-cta", () => {
    const { plan, identity = "", total, done } = job;
    void act(() => jobs.apply({ plan, identity, job: job.job }, total - done));
  });
  const undo = button("Undo", "Undo this job", "", () => {
    isUndoing = true;
    void act(() => jobs.undo(job.job)).finally(() => {
      isUndoing = false;
      draw();
    });
  });
  const leave = button("Leave", "Leave it as it is", "", () => jobs.leave(job.job));

  const act = async (call: () => Promise<ToolsCallResult | null>): Promise<void> => {
    isBusy = true;
    resultBox.clear();
    draw();
    try {
      const result = await call();
      if (result) resultBox.show(result);
    } catch (error) {
      resultBox.fail(errorText(error));
    } finally {
      isBusy = false;
      draw();
    }
  };

  const draw = (): void => {
    const { state, done, total, failure, texts_kept = true, progress: now } = job;
    const isLost = state === "running" && !jobs.isConnected;
    const isRunning = state === "running" && !isLost;
    setText(words, isLost ? `The connection was lost after ${done} of ${counted(total, "item")}` : isUndoing ? "Undoing…" : jobWords(job));
    show(progress, isRunning);
    const share = shareOf(job);
    progress.setAttribute("aria-valuenow", String(Math.round(share * 100)));
    progress.style.setProperty("--vs-share", String(share));
    const lost = done > 0 && !texts_kept && state !== "undone" ? "The journal no longer has all texts, so it cannot be undone." : "";
    // Outside the status text: screen readers announce every change of that.
    const count = now ? `${now.done} of ${counted(now.total, "file")}` : "";
    const reason = isRunning ? count : state === "completed" || !failure ? "" : failure;
    setWords(why, [reason, lost].filter((part) => part !== "").join(" "));
    show(why, why.textContent !== "");
    const isOpen = state === "interrupted" && !jobs.isLeft(job.job);
    if (!isRunning) stop.disabled = false;
    // One piece has no next part.
    show(stop, isRunning && !now);
    show(resume, isOpen && job.identity !== undefined);
    show(undo, canUndo(job));
    show(leave, isOpen);
    for (const one of [resume, undo, leave]) one.disabled = isBusy || !jobs.isConnected;
  };
  return {
    root,
    update(next) {
      job = next;
      draw();
    },
  };
}

/** The card of a job whose plan is not shown. */
export function jobCard(parts: Parts, job: number): Card {
  const root = element(parts.root, "section", { class: "vs-card", attributes: { role: "group", "aria-label": `Job ${job}` } });
  const title = element(root, "span", { class: "vs-card-title", attributes: { dir: "auto" } });
  const state = jobState(parts);
  root.append(box(root, "vs-card-head", iconOf(parts, "folder"), title), state.root);
  const draw = (): void => {
    const known = parts.jobs.get(job);
    show(root, known !== undefined);
    if (!known) return;
    setText(title, `Job ${job}${known.summary ? `: ${known.summary}` : ""}`);
    state.update(known);
  };
  const end = parts.jobs.on(draw);
  draw();
  return { root, end };
}

/** The parts of an answer that a person must know: the error, and the omitted files with reasons. */
export function resultView(near: Node): {
  root: HTMLElement;
  clear(): void;
  show(result: ToolsCallResult): void;
  fail(text: string, ...more: Node[]): void;
} {
  const root = element(near, "div", { class: "vs-card-problem", attributes: { role: "alert" } });
  show(root, false);
  const fail = (text: string, ...more: Node[]): void => {
    clear(root);
    const words = element(root, "div", { attributes: { dir: "auto" } });
    setWords(words, text);
    append(root, words, ...more);
    show(root, true);
  };
  return {
    root,
    fail,
    clear() {
      clear(root);
      show(root, false);
    },
    show(result) {
      if (result.isError) {
        fail(messageOf(result));
        return;
      }
      const { skipped, blocked, notes = [], edited = [] } = structured(result) as Partial<Record<"skipped" | "blocked", Reason[]> & Record<"notes" | "edited", string[]>>;
      const left = [...(skipped ?? []), ...(blocked ?? [])];
      const lines = [...notes];
      if (edited.length > 0) lines.push(`${counted(edited.length, "note")} edited since, and changed as planned.`);
      if (left.length > 0) lines.push(`${counted(left.length, "file")} left as it was:`);
      if (lines.length > 0) fail(lines.join("\n"), ...(left.length > 0 ? [reasons(root, left)] : []));
    },
  };
}

/** An omitted file and its reason. */
interface Reason {
  path: string;
  reason: string;
}

/** The files of a plan that no longer match the vault, from the error's data. */
export function staleOf(result: ToolsCallResult): Reason[] {
  const { stale } = errorData(result) as { stale?: Reason[] };
  return Array.isArray(stale) ? stale : [];
}

/** A list of files with reasons. */
export function reasons(near: Node, files: Reason[]): HTMLElement {
  const list = element(near, "ul", { class: "vs-reasons" });
  for (const { path, reason } of files.slice(0, NAMED)) {
    const line = element(list, "li", { attributes: { dir: "auto" } });
    setWords(line, `${path}: ${reason}`);
    list.append(line);
  }
  if (files.length > NAMED) list.append(element(list, "li", { text: `and ${files.length - NAMED} more` }));
  return list;
}
