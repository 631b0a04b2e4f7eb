/** What the first paint does not need. The page loads this file when it draws the first of it. */

export { approvalsView } from "./approvals";
export { callDetails } from "./call-details";
export { changesView } from "./changes";
export { conversationList, editTitle } from "./conversations";
export { drawTable } from "./table";
export { highlight } from "./highlight";
export { homeCard } from "./home";
export { jobCard } from "./job-card";
export { mountMachine } from "./machine-view";
export { namesCard } from "./names-card";
export { noteGraph } from "./note-graph";
export { previewNote } from "./note-preview";
export { setupCard } from "./setup";
export { timeMachine } from "./time-machine";
export { planCard } from "./plan-card";
