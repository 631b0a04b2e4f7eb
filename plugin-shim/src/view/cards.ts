/** Code that the first paint does not need. The page loads this file on first use. */

export { approvalsView } from "./approvals";
export { callDetails } from "./call-details";
export { checkLink, drawFound, foundBeside } from "./found-notes";
export { changesView } from "./changes";
export { conversationList, editTitle } from "./conversations";
export { drawTable } from "./table";
export { highlight } from "./highlight";
export { homeCard } from "./home";
export { jobCard } from "./job-card";
export { chooseMode } from "./mode-menu";
export { liveLine } from "./live";
export { mountMachine } from "./machine-view";
export { namesCard } from "./names-card";
export { noteGraph } from "./note-graph";
export { previewNote } from "./note-preview";
export { proposalsView } from "./proposals";
export { promptsPanel } from "./prompts-panel";
export { setupCard } from "./setup";
export { slashCommands, typedCommand, usePrompt } from "./slash-commands";
export { tabStrip } from "./tabs";
export { timeMachine } from "./time-machine";
export { planCard } from "./plan-card";
