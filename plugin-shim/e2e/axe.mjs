// Runs axe-core on a page.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds that is serious or critical, light and dark, within what a selector names. */
export async function faults(tab, state, within = "html") {
  const found = [];
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await tab.evaluate(AXE);
    const { violations } = await tab.evaluate((selector) => window.axe.run(selector, { resultTypes: ["violations"] }), within);
    for (const { id, impact, nodes } of violations) {
      if (impact !== "serious" && impact !== "critical") continue;
      for (const { target, any } of nodes) found.push(`${state} ${colorScheme}: ${id} at ${target.join(" ")}: ${any[0]?.message ?? ""}`);
    }
  }
  await tab.emulateMedia({ colorScheme: "light", reducedMotion: null });
  return found;
}
