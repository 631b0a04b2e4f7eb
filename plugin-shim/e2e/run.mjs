// End-to-end tests in headless Chromium with the real daemon: `STEWARD_PROGRAM=… npm run e2e`. Arguments
// select tests by name.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import * as esbuild from "esbuild";
import { browserPath, launch } from "./browser.mjs";
import { strikeAll } from "./stage.mjs";
import { tests, timed } from "./tests.mjs";

const root = path.resolve(import.meta.dirname, "..");
const program = process.env.STEWARD_PROGRAM;
const page = path.join(root, "dist", "page");
const missing = [
  [!program || !existsSync(program), "set STEWARD_PROGRAM to the built program: target/debug/steward"],
  [!browserPath(), "install Chromium (Debian: apt-get install chromium), or set CHROMIUM to its path"],
  [!existsSync(path.join(page, "view.js")), "build the page first: npm run build"],
].filter(([isMissing]) => isMissing);
if (missing.length > 0) {
  for (const [, what] of missing) console.error(what);
  process.exit(1);
}

const harness = await mkdtemp(path.join(os.tmpdir(), "steward-harness-"));
/** The timeout of a test in milliseconds: its own waits have shorter ones. */
const LONGEST = 300_000;

function inTime(running) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`it takes more than ${LONGEST / 1000} s`)), LONGEST);
  });
  return Promise.race([running, late]).finally(() => clearTimeout(timer));
}

const wanted = process.argv.slice(2);
const set = { program: path.resolve(program), harness, sample: path.resolve(root, "..", "fixtures", "vault") };
await esbuild.build({
  entryPoints: { harness: path.join(root, "e2e", "harness.ts"), app: path.join(root, "e2e", "obsidian", "app.ts") },
  outdir: harness,
  bundle: true,
  format: "iife",
  target: "es2022",
  logLevel: "warning",
});
await cp(path.join(page, "view.css"), path.join(harness, "harness.css"));
/** The page's process ended: Chromium's fault unless it happens again. */
const CRASH = /\b(Target|Page) crashed\b|browser has been closed/;
/** The maximum number of attempts of a test after a crash of the page. */
const STARTS = 2;

/** The number of parallel tests, each in its own browser: most of the time they wait. */
const LANES = Math.min(2, os.availableParallelism());

const begun = Date.now();
let failed = 0;

/** Runs one test, and returns its failure. */
async function tried(lane, name, test) {
  try {
    await inTime(test({ ...set, browser: lane.browser }));
    return null;
  } catch (error) {
    await strikeAll(name, lane.browser);
    // The next test must not get this browser's remains, such as a running trace.
    await lane.browser.close().catch(() => undefined);
    lane.browser = await launch();
    return String(error.stack ?? error);
  }
}

/** Runs tests of the queue until it is empty. */
async function run(queue) {
  const lane = { browser: await launch() };
  for (let next; (next = queue.shift()) !== undefined; ) {
    const [name, test] = next;
    for (let starts = 1; ; starts++) {
      const start = Date.now();
      const fault = await tried(lane, name, test);
      const again = fault !== null && CRASH.test(fault) && starts < STARTS;
      const word = fault === null ? "ok     " : again ? "crashed" : "FAILED ";
      console.log(`${word} ${name} (${Date.now() - start} ms)`);
      if (fault !== null) console.error(fault);
      if (again) continue;
      if (fault !== null) failed += 1;
      break;
    }
  }
  await lane.browser.close();
}

const chosen = Object.entries(tests).filter(([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const together = chosen.filter(([name]) => !timed.has(name));
await Promise.all(Array.from({ length: LANES }, () => run(together)));
await run(chosen.filter(([name]) => timed.has(name)));
await rm(harness, { recursive: true, force: true });
console.log(`${failed === 0 ? "all well" : `${failed} failed`} in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
process.exit(failed === 0 ? 0 : 1);
