// The work of a plugin inside Obsidian that has every note in memory: splits each into lines and tries
// a regular expression on every line. Started by `examples/compare` with the vault's folder.
//
// Prints `ready` when everything is read; then reads one pattern per line and prints how many milliseconds the
// search took by its own clock, since such a plugin is called within its process, and how many files
// matched.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [, , vault] = process.argv;
const notes = readdirSync(vault, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".md"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !path.slice(vault.length).includes("/."))
    .map((path) => ({ path, text: readFileSync(path, "utf8") }));
console.log("ready");

for await (const pattern of createInterface({ input: process.stdin })) {
    const begun = performance.now();
    const expression = new RegExp(pattern, "i");
    const found = [];
    for (const note of notes) {
        const lines = note.text.split("\n");
        const matches = [];
        for (let number = 0; number < lines.length; number++) {
            if (expression.test(lines[number])) {
                matches.push({ line: number + 1, text: lines[number] });
            }
        }
        if (matches.length > 0) found.push({ path: note.path, matches });
    }
    console.log(`${performance.now() - begun} ${found.length}`);
}
