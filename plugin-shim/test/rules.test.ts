import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import manifest from "../manifest.json";
import versions from "../versions.json";
import { problems } from "../scripts/rules.mjs";

const readme = readFileSync("README.md", "utf8");
const good = { manifest, versions, packageVersion: manifest.version, programVersion: manifest.version, readme };

it("finds no problem in the current files", () => {
  expect(problems(good)).toEqual([]);
});

it.each([
  [{ id: "obsidian-steward" }, "`id` must not contain `obsidian`"],
  [{ id: "steward-plugin" }, "`id` must not end with `plugin`"],
  [{ id: "Vault_Steward" }, "lower-case letters and hyphens"],
  [{ name: "Steward for Obsidian" }, "`name` must not contain"],
  [{ description: "Chats with notes" }, "ends with a full stop"],
  [{ description: `Chat ${"on ".repeat(100)}.` }, "at most 250"],
  [{ description: "This lets you chat." }, "begins with a verb"],
  [{ version: "1.0" }, "three numbers"],
  [{ isDesktopOnly: "yes" }, "true or false"],
  [{ hotkeys: [] }, "has `hotkeys`, which nobody reads"],
])("finds %o", (change, problem) => {
  const found = problems({ ...good, manifest: { ...manifest, ...change } });
  expect(found.join("\n")).toContain(problem);
});

it("finds mismatches and missing disclosures", () => {
  const { author, ...without } = manifest;
  expect(author).not.toBe("");
  const found = problems({
    manifest: without,
    versions: { [manifest.version]: "1.0.0" },
    packageVersion: "9.9.9",
    programVersion: "9.9.8",
    readme: "# Vault Steward",
  });
  expect(found).toHaveLength(7);
});
