// Compares manifest.json and its related files with the directory's rules.
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { problems } from "./rules.mjs";

const root = path.resolve(import.meta.dirname, "..");
const read = (file) => readFile(path.join(root, file), "utf8");
const json = async (file) => JSON.parse(await read(file));

const found = problems({
  manifest: await json("manifest.json"),
  versions: await json("versions.json"),
  packageVersion: (await json("package.json")).version,
  programVersion: /^version = "(.*)"$/m.exec(await read("../Cargo.toml"))?.[1] ?? "",
  readme: await read("README.md"),
});
for (const problem of found) console.error(problem);
process.exitCode = found.length === 0 ? 0 : 1;
