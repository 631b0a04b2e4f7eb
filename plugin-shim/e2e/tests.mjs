// All end-to-end tests, by name.
import * as attached from "./attached.mjs";
import * as changes from "./changes.mjs";
import * as conversations from "./conversations.mjs";
import * as day from "./day.mjs";
import * as elsewhere from "./elsewhere.mjs";
import * as history from "./history.mjs";
import * as home from "./home.mjs";
import * as journey from "./journey.mjs";
import * as large from "./large.mjs";
import * as organize from "./organize.mjs";
import * as plan from "./plan.mjs";
import * as proposing from "./proposing.mjs";
import * as prompts from "./prompts.mjs";
import * as readme from "./readme.mjs";
import * as reading from "./reading.mjs";
import * as talking from "./talking.mjs";
import * as trouble from "./trouble.mjs";
import * as truth from "./truth.mjs";
import * as turns from "./turns.mjs";

/** Tests that measure time: they run alone on the machine. */
export const timed = new Set(Object.keys({ ...large, ...turns }));

export const tests = { ...talking, ...attached, ...changes, ...reading, ...organize, ...conversations, ...trouble, ...truth, ...day, ...elsewhere, ...history, ...home, ...plan, ...proposing, ...prompts, ...readme, ...journey, ...large, ...turns };
