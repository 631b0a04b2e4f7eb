/** Plans and jobs as the tools tell of them, and which card a call has. Pure. */

import type { CallEntry, Entry } from "./timeline";
import { counted, folderOf } from "./format";

/** What would happen to a file, as `show_plan` tells it. */
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
  /** Whether the item is left out of the job. */
  blocks: boolean;
}

/** What came of asking one rule about a note. */
export interface Asked {
  rule: string;
  took: boolean;
  /** The rule before it that stopped, where it was not asked. */
  stopped_by?: string | null;
  /** The parts of its condition that decided, with the values they read. */
  parts?: string[];
}

/** A job, by the events, the list of jobs and the answers of tools. */
export interface Job {
  job: number;
  plan: number;
  state: string;
  done: number;
  total: number;
  identity?: string;
  /** Items that were taken back. */
  undone?: number;
  summary?: string;
  /** Why it ended early. */
  failure?: string | null;
  /** Whether the journal still has what it takes to undo it. */
  texts_kept?: boolean;
}

/** What a card is of: two calls of one plan, or of one job, have one card, at the later call. */
export type CardOf = { kind: "plan"; plan: number } | { kind: "job"; job: number };

/** The card of a call, by its answer; after the conversation was loaded anew, by its arguments and its text. */
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
      // One that ended early fails, and is a job too.
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

/** Names what a card is of. */
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

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** Whether an item can be applied. */
export function isApplicable(item: PlanItem): boolean {
  return !(item.problems ?? []).some((problem) => problem.blocks);
}

/** What is done to an item, in the one word by which it is counted; `leave` is nothing, since it cannot be done. */
export type Action = "move" | "rename" | "change" | "create" | "trash" | "leave";

const ACTIONS: Action[] = ["move", "rename", "change", "create", "trash", "leave"];

export function actionOf(item: PlanItem): Action {
  if (!isApplicable(item)) return "leave";
  if (item.trash) return "trash";
  if (item.create) return "create";
  if (!item.to) return "change";
  return folderOf(item.to) === folderOf(item.path) ? "rename" : "move";
}

/** `move 12, trash 1`, of the items that can be applied. */
export function actionCounts(items: PlanItem[]): string {
  const counts = new Map<Action, number>();
  for (const item of items.filter(isApplicable)) counts.set(actionOf(item), (counts.get(actionOf(item)) ?? 0) + 1);
  return ACTIONS.filter((action) => counts.has(action)).map((action) => `${action} ${counts.get(action)}`).join(", ");
}

/** How many of the items that can be applied are of each risk, the highest first. */
export function riskCounts(items: PlanItem[]): [PlanItem["risk"], number][] {
  const risks: PlanItem["risk"][] = ["high", "medium", "low"];
  const able = items.filter(isApplicable);
  const counts = risks.map((risk): [PlanItem["risk"], number] => [risk, able.filter((item) => item.risk === risk).length]);
  return counts.filter(([, count]) => count > 0);
}

/** Items of one folder to which the same is done, into the same folder. */
export interface Group {
  action: Action;
  /** The folder before, or the one in which it happens; empty for the vault's own. */
  from: string;
  /** The folder afterwards, where it is another. */
  to: string | null;
  items: PlanItem[];
}

/** Items by the folders before and after, in the order of the folders. */
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

/** Characters of a value that are shown. */
const MOST = 80;

/** What is done to an item's properties and tags. */
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

/** Where a job stands, in a few words. */
export function jobWords({ state, done, total, undone = 0 }: Job): string {
  const all = counted(total, "item");
  switch (state) {
    case "running":
      return `Running: ${done} of ${all}`;
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

/** Whether something of a job stands in the vault and can be taken back. */
export function canUndo({ state, done, texts_kept = true }: Job): boolean {
  return done > 0 && texts_kept && !["running", "undoing", "undone"].includes(state);
}
