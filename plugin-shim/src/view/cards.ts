/** What few conversations show. The page loads this file when it draws the first of it. */

export { callDetails } from "./call-details";
export { checkLink, drawFound, foundBeside } from "./found-notes";
export { drawTable } from "./table";
export { highlight } from "./highlight";
export { jobCard } from "./job-card";
export { namesCard } from "./names-card";
export { previewNote } from "./note-preview";
export { setupCard } from "./setup";
export { timeMachine } from "./time-machine";
export { planCard } from "./plan-card";
