/** Plans and jobs in the outputs of tools, and the card of each call. Pure. */

import { objectOf } from "./agreed";
import type { CallEntry, Entry } from "./timeline";
import { counted, folderOf } from "./format";
import type { JobProgress } from "../protocol";

/** The change of a file, from `show_plan`. */
export interface PlanItem {
  item: number;
  path: string;
  to?: string | null;
  set?: Record<string, unknown>;
  remove?: string[];
  tag?: string[];
  untag?: string[];
  append?: string;
  prepend?: string;
  create?: boolean;
  trash?: boolean;
  rules?: string[];
  risk: "low" | "medium" | "high";
  problems?: PlanProblem[];
}

export interface PlanProblem {
  message: string;
  /** Whether the job omits the item. */
  blocks: boolean;
}

/** The result of evaluating one rule for a note. */
export interface Asked {
  rule: string;
  took: boolean;
  /** The earlier rule that stopped the evaluation. */
  stopped_by?: string | null;
  /** The conditions that decided, with the values that they read. */
  parts?: string[];
}

/** A job, from events, the list of jobs and the outputs of tools. */
export interface Job {
  job: number;
  plan: number;
  state: string;
  done: number;
  total: number;
  identity?: string;
  /** The number of undone items. */
  undone?: number;
  summary?: string;
  /** The reason of an early end. */
  failure?: string | null;
  /** Whether the journal still has the data to undo it. */
  texts_kept?: boolean;
  /** Of a running job that is applied in one piece. */
  progress?: JobProgress | null;
}

/** The subject of a card: two calls for one plan, or for one job, share a card, at the later call. */
export type CardOf = { kind: "plan"; plan: number } | { kind: "job"; job: number };

/** The card of a call, from its output; after a reload of the conversation, from its arguments and its text. */
export function cardOf(entry: Entry): CardOf | null {
  if (entry.kind !== "call") return null;
  const given = objectOf(entry.input);
  const output = objectOf(entry.output);
  switch (entry.tool) {
    case "plan_changes":
    case "show_plan":
      if (entry.status !== "completed") return null;
      return planCard(numberOf(output["plan"]) ?? numberOf(given["plan"]) ?? inText(entry, /^plan (\d+): /m));
    case "apply_plan": {
      // A job that ended early is a failed call, but still a job.
      if (entry.status !== "completed" && entry.status !== "failed") return null;
      const failed = objectOf(output["data"]);
      const job = numberOf(output["job"]) ?? numberOf(failed["job"]) ?? numberOf(given["job"]);
      return jobCard(job ?? inText(entry, /\bjob (\d+) (?:of plan|ended after) /));
    }
    case "rollback_job":
      return entry.status === "completed" ? jobCard(numberOf(given["job"])) : null;
    default:
      return null;
  }
}

/** The key of a card's subject. */
export function cardKey(card: CardOf): string {
  return card.kind === "plan" ? `plan:${card.plan}` : `job:${card.job}`;
}

function planCard(plan: number | undefined): CardOf | null {
  return plan === undefined ? null : { kind: "plan", plan };
}

function jobCard(job: number | undefined): CardOf | null {
  return job === undefined ? null : { kind: "job", job };
}

function inText(entry: CallEntry, pattern: RegExp): number | undefined {
  const found = pattern.exec(entry.result)?.[1];
  return found === undefined ? undefined : Number(found);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) ? value : undefined;
}

/** Whether an item can be applied. */
export function isApplicable(item: PlanItem): boolean {
  return !(item.problems ?? []).some((problem) => problem.blocks);
}

/** The word under which an item is counted. `leave` has none, since it cannot be applied. */
export type Action = "move" | "rename" | "change" | "create" | "trash" | "leave";

const ACTIONS: Action[] = ["move", "rename", "change", "create", "trash", "leave"];

function actionOf(item: PlanItem): Action {
  if (!isApplicable(item)) return "leave";
  if (item.trash) return "trash";
  if (item.create) return "create";
  if (!item.to) return "change";
  return folderOf(item.to) === folderOf(item.path) ? "rename" : "move";
}

/** `move 12, trash 1`, for the items that can be applied. */
export function actionCounts(items: PlanItem[]): string {
  const counts = new Map<Action, number>();
  for (const item of items.filter(isApplicable)) counts.set(actionOf(item), (counts.get(actionOf(item)) ?? 0) + 1);
  return ACTIONS.filter((action) => counts.has(action)).map((action) => `${action} ${counts.get(action)}`).join(", ");
}

/** The number of applicable items of each risk, highest first. */
export function riskCounts(items: PlanItem[]): [PlanItem["risk"], number][] {
  const risks: PlanItem["risk"][] = ["high", "medium", "low"];
  const able = items.filter(isApplicable);
  const counts = risks.map((risk): [PlanItem["risk"], number] => [risk, able.filter((item) => item.risk === risk).length]);
  return counts.filter(([, count]) => count > 0);
}

/** Items with the same change, the same folder and the same new folder. */
export interface Group {
  action: Action;
  /** The folder before, or the folder of an item that stays; empty for the vault's root. */
  from: string;
  /** The folder afterwards, if it differs. */
  to: string | null;
  items: PlanItem[];
}

/** Items grouped by the folders before and after, ordered by folder. */
export function groupsOf(items: PlanItem[]): Group[] {
  const groups = new Map<string, Group>();
  for (const item of items) {
    const action = actionOf(item);
    const from = folderOf(item.path);
    const to = action === "move" ? folderOf(item.to ?? "") : null;
    const key = JSON.stringify([from, to, action]);
    const group = groups.get(key) ?? { action, from, to, items: [] };
    group.items.push(item);
    groups.set(key, group);
  }
  const collator = new Intl.Collator(undefined, { numeric: true });
  const order = (one: Group, other: Group): number =>
    collator.compare(one.from, other.from) ||
    ACTIONS.indexOf(one.action) - ACTIONS.indexOf(other.action) ||
    collator.compare(one.to ?? "", other.to ?? "");
  return [...groups.values()].sort(order);
}

/** `Inbox → Archive/2025`, `Inbox: to the trash`. */
export function groupTitle({ action, from, to }: Group): string {
  const named = (folder: string): string => (folder === "" ? "Vault folder" : folder);
  if (to !== null) return `${named(from)} → ${named(to)}`;
  const words = { move: "moved", rename: "renamed", change: "changed", create: "created", trash: "to the trash", leave: "cannot be changed" };
  return `${named(from)}: ${words[action]}`;
}

/** The maximum length of a displayed value. */
const MOST = 80;

/** The change of an item's properties and tags. */
export function editsOf(item: PlanItem): string[] {
  const set = Object.entries(item.set ?? {}).map(([key, value]) => `set ${key} to ${short(value)}`);
  return [
    ...set,
    ...(item.remove ?? []).map((key) => `remove ${key}`),
    ...(item.tag ?? []).map((tag) => `add #${tag}`),
    ...(item.untag ?? []).map((tag) => `remove #${tag}`),
  ];
}

function short(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}

/** The phases, in order, of a job that is applied as one piece. */
const PHASES: Record<string, string> = { storing: "Storing texts in the journal", writing: "Writing new texts", placing: "Putting files in place" };

/** How much of a running job is done, from 0 to 1. */
export function shareOf({ done, total, progress }: Job): number {
  if (!progress) return done / Math.max(total, 1);
  const phases = Object.keys(PHASES);
  return (Math.max(phases.indexOf(progress.phase), 0) + progress.done / Math.max(progress.total, 1)) / phases.length;
}

/** The state of a job in a few words. */
export function jobWords({ state, done, total, undone = 0, progress }: Job): string {
  const all = counted(total, "item");
  switch (state) {
    case "running":
      return progress ? (PHASES[progress.phase] ?? progress.phase) : `Running: ${done} of ${all}`;
    case "completed":
      return `Done: ${all}`;
    case "failed":
      return done === 0 ? "Failed: nothing was changed" : `Failed after ${done} of ${all}`;
    case "interrupted":
      return `Interrupted after ${done} of ${all}`;
    case "cancelled":
      return done === 0 ? "Stopped: nothing was changed" : `Stopped after ${done} of ${all}`;
    case "undoing":
      return "Undoing…";
    case "undone":
      return `Undone: ${counted(undone === 0 ? done : undone, "item")}`;
    case "partly_undone":
      return undone === 0 ? "Partly undone" : `Partly undone: ${undone} of ${counted(done, "item")}`;
    default:
      return state.replace(/_/g, " ");
  }
}

/** Whether a part of a job is applied and can be undone. */
export function canUndo({ state, done, texts_kept = true }: Job): boolean {
  return done > 0 && texts_kept && !["running", "undoing", "undone"].includes(state);
}
