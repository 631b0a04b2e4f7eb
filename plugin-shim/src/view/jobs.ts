/** The daemon's jobs, kept current by its events. */

import { CallError } from "../call-error";
import type { Chat, CallGiven } from "./chat";
import type { Connection, Unsubscribe } from "../connection";
import type { Host } from "../host";
import { callAgreed } from "./agreed";
import { counted } from "./format";
import type { Job } from "./plans";
import type { Scope } from "./scope";
import type { ToolsCallResult } from "../protocol";

/** The timeout of a job's call in milliseconds: events report its progress meanwhile. */
const LONGEST = 6 * 60 * 60 * 1_000;

/** The options of an applied plan. */
export interface Applied extends CallGiven {
  plan: number;
  identity: string;
}

export class Jobs {
  readonly #jobs = new Map<number, Job>();
  readonly #listeners = new Set<() => void>();
  /** Interrupted jobs that the person has dismissed. */
  readonly #left = new Set<number>();
  #asked = 0;
  #isAsking = false;

  readonly #parts: { chat: Chat; host: Host };
  readonly #connection: Connection;

  constructor(parts: { chat: Chat; host: Host; connection: Connection; scope: Scope }) {
    this.#parts = parts;
    this.#connection = parts.connection;
    const { connection, scope } = parts;
    scope.add(connection.onSnapshot(() => void this.refresh()));
    scope.add(connection.on("_vault/job", ({ job, plan, state, done, total, progress }) => {
      this.#jobs.set(job, { ...this.#jobs.get(job), job, plan, state, done, total, progress });
      this.#emit();
      // A finished job's result is requested then; a pending request is older than this event.
      if (state !== "running" || this.#isAsking) void this.refresh();
    }));
    // Undoing a job's change set sends no event for the job.
    scope.add(connection.on("_vault/changes", ({ changeSet }) => {
      if (changeSet.undoes !== undefined) void this.refresh();
    }));
    scope.add(connection.onState(() => this.#emit()));
    // A refused job does not exist, and no event reports that.
    parts.chat.on(({ timeline, loaded }) => {
      const isOver = (key: string): boolean => {
        const entry = parts.chat.timeline.get(key);
        return entry?.kind === "call" && entry.tool === "apply_plan" && ["completed", "failed"].includes(entry.status);
      };
      if (timeline && !loaded && [...timeline.keys].some(isOver)) void this.refresh();
    });
    scope.add(() => this.#listeners.clear());
    if (connection.state.kind === "connected") void this.refresh();
  }

  /** Newest first. */
  get all(): Job[] {
    return [...this.#jobs.values()].sort((one, other) => other.job - one.job);
  }

  get(job: number): Job | undefined {
    return this.#jobs.get(job);
  }

  /** The last job of a plan. */
  ofPlan(plan: number, identity: string): Job | undefined {
    return this.all.find((job) => job.plan === plan && (job.identity ?? identity) === identity);
  }

  /** Whether the daemon can be asked; if not, a running job may have ended. */
  get isConnected(): boolean {
    return this.#connection.state.kind === "connected";
  }

  /** Calls the listener when a job's state changes, or the connection's. */
  on(listener: () => void): Unsubscribe {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(): void {
    this.#listeners.forEach((listener) => listener());
  }

  /** Requests the jobs. */
  async refresh(): Promise<void> {
    const asked = ++this.#asked;
    this.#isAsking = true;
    try {
      const { isError, structuredContent } = await this.#parts.chat.tool("list_jobs", {});
      const { jobs } = (structuredContent ?? {}) as { jobs?: Job[] };
      if (isError || asked !== this.#asked || !Array.isArray(jobs)) return;
      this.#jobs.clear();
      for (const job of jobs) this.#jobs.set(job.job, job);
      this.#emit();
    } catch {
      this.#connection.missed();
    } finally {
      if (asked === this.#asked) this.#isAsking = false;
    }
  }

  /** Whether the person has dismissed the job. */
  isLeft(job: number): boolean {
    return this.#left.has(job);
  }

  leave(job: number): void {
    this.#left.add(job);
    this.#emit();
  }

  /** Stops a job before its next batch, whichever client started it. Its events report its end. */
  async stop(job: number): Promise<void> {
    await this.#connection.call("_vault/organize/stop", { job });
  }

  /** Applies a plan, or resumes its job. Null if the person refuses, and if the job's state shows the result. */
  async apply(given: Applied, files: number): Promise<ToolsCallResult | null> {
    const asks = { question: `Apply plan ${given.plan} to ${counted(files, "file")}?`, action: "Apply" };
    try {
      return await callAgreed(this.#parts, "apply_plan", given, asks, { timeoutMs: LONGEST });
    } catch (error) {
      return withdrawn(error);
    } finally {
      void this.refresh();
    }
  }

  /** Undoes a job. Null if the person refuses. */
  async undo(job: number): Promise<ToolsCallResult | null> {
    const asks = { question: `Undo job ${job}?`, action: "Undo" };
    try {
      return await callAgreed(this.#parts, "rollback_job", { job }, asks, { timeoutMs: LONGEST });
    } catch (error) {
      return withdrawn(error);
    } finally {
      void this.refresh();
    }
  }
}

/** There is no answer, but the job's state shows its progress: it was stopped, or the connection was lost. */
function withdrawn(error: unknown): null {
  if (error instanceof CallError && ["cancelled", "disconnected"].includes(error.kind)) return null;
  throw error;
}
