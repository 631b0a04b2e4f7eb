// How long a page's main thread is held by what it is asked to do.
import assert from "node:assert/strict";

/** The longest that the main thread may be held, in milliseconds. */
export const HELD = 50;

/**
 * The tasks of the page's main thread: how long each took by the clock, and how long of that it
 * worked, in milliseconds. On a machine that does other things too the first says more than the
 * page's own doing.
 */
function mainTasks(trace) {
  const name = ({ pid, tid }) => `${pid}/${tid}`;
  const mains = trace.filter((one) => one.name === "thread_name" && one.args?.name === "CrRendererMain").map(name);
  const tasks = {};
  for (const one of trace.filter(isTask)) (tasks[name(one)] ??= []).push(one);
  const ours = mains.map((main) => tasks[main] ?? []).sort((one, other) => other.length - one.length)[0];
  assert.ok(ours?.length > 100, "the trace has the page's tasks");
  return ours.map((task) => ({ took: task.dur / 1_000, worked: (task.tdur ?? task.dur) / 1_000 }));
}

function isTask(event) {
  return event.ph === "X" && event.name.endsWith("RunTask");
}

/**
 * Has something done, and tells what it asked of the main thread: the longest that a task worked; how
 * many tasks the page itself heard of as long; and the longest of these by the clock. One that had to
 * wait for a processor for a tenth of its time or more is judged by its work alone: nothing here waits
 * for anything else in the middle of a task, so another program had the processor.
 */
export async function held(set, tab, act) {
  await tab.evaluate(() => window.__tasks.splice(0));
  await set.browser.startTracing(tab, { categories: ["toplevel", "devtools.timeline"] });
  await act();
  const heard = await tab.evaluate(() => window.__tasks.map((task) => task.duration));
  const tasks = mainTasks(JSON.parse(String(await set.browser.stopTracing())).traceEvents);
  const long = tasks.filter(({ took, worked }) => took > HELD && worked > 0.9 * took);
  const most = (times) => Math.max(0, ...times);
  return {
    count: tasks.length,
    worked: most(tasks.map((task) => task.worked)),
    works: tasks.map((task) => task.worked).sort((one, other) => other - one),
    heard: heard.length,
    byClock: heard.length === 0 ? 0 : most(long.map((task) => task.took)),
    anyhow: most(heard),
  };
}

export function words({ count, worked, heard: long, byClock, anyhow }) {
  return `of ${count} tasks the longest worked ${worked.toFixed(0)} ms; ${long} long by the clock, the longest ${anyhow.toFixed(0)} ms, of its own doing ${byClock.toFixed(0)} ms`;
}
