// Measures how long an action blocks a page's main thread.
import assert from "node:assert/strict";

/** The maximum time in milliseconds for which the main thread may be blocked. */
export const HELD = 50;

/**
 * The tasks of the page's main thread, with their wall time and CPU time in milliseconds. On a busy machine
 * the wall time includes other programs' work.
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
 * Measures an action: the longest CPU time of a task, the number of long tasks that the page itself observed,
 * and the longest of these by wall time. A task that waited for a processor for at least a tenth of its time
 * is judged by its CPU time alone: no task waits for anything else, so another program had the processor.
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
