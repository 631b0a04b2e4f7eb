import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { INTERNAL, MANGLED, refused } from "../scripts/internal-names.mjs";

const folder = mkdtempSync(path.join(os.tmpdir(), "steward-names-"));
afterAll(() => rmSync(folder, { recursive: true }));

// The typings are read once, which takes seconds on a busy machine.
beforeAll(async () => void (await refused(process.cwd(), [])), 60_000);

function bundle(text: string): string[] {
  const file = path.join(folder, "bundle.js");
  writeFileSync(file, text);
  return [file];
}

it("lists whole names", () => {
  expect(INTERNAL.every((name) => MANGLED.test(name))).toBe(true);
  expect(MANGLED.test("sayListen")).toBe(false);
});

it.each([
  ["appendChild", "", "lib.dom"],
  ["hasOwn", "", "lib.es2022"],
  ["getDisplayText", "", "obsidian.d.ts"],
  ["clientMessageId", "", "protocol.ts"],
  ["aName", "let a = { x: 1 }; a['aName'] = 2", "bundle.js"],
  ["aName", "if ('aName' in {}) 1", "bundle.js"],
  ["aName", "let a = {}; a.aName()", "bundle.js"],
  ["aName", "let { aName: b } = {}", "bundle.js"],
  ["aName", "document.querySelector('[data-a-name]')", "bundle.js"],
])("refuses `%s` in %j, which is not internal alone", async (name, text, where) => {
  const found = await refused(process.cwd(), bundle(text), [name]);
  expect(found.join()).toContain(`\`${name}\` is in`);
  expect(found.join()).toContain(where);
});

it("takes a name that nobody else has", async () => {
  expect(await refused(process.cwd(), bundle("let a = { b: 'another name' }; a.b"), ["aName"])).toEqual([]);
  expect(await refused(process.cwd(), [], ["aName", "aName"])).toEqual(["`aName` is listed twice", "`aName` is listed twice"]);
});
