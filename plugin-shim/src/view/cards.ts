/** The cards that few conversations have. The page loads this file when it draws the first of them. */

export { drawTable } from "./table";
export { jobCard } from "./job-card";
export { namesCard } from "./names-card";
export { planCard } from "./plan-card";
