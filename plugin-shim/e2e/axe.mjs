// Runs axe-core on a page.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const AXE = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The serious and critical findings of axe-core, in the light and the dark theme. */
export async function faults(tab, state) {
  const found = [];
  for (const colorScheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await tab.evaluate(AXE);
    const { violations } = await tab.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, impact, nodes } of violations) {
      if (impact !== "serious" && impact !== "critical") continue;
      for (const { target, any } of nodes) found.push(`${state} ${colorScheme}: ${id} at ${target.join(" ")}: ${any[0]?.message ?? ""}`);
    }
  }
  await tab.emulateMedia({ colorScheme: "light", reducedMotion: null });
  return found;
}
