// Builds the files that the daemon embeds into dist/, and prints their sizes:
//   main.js, manifest.json, styles.css   the plugin
//   page/                                the same view for a browser, which the daemon serves: the scripts of the
//                                        first load, cards.js and formulas.js
// The result depends only on the sources and the locked packages, so that CI can compare it byte by
// byte with the committed files.
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { gzipSync } from "node:zlib";
import path from "node:path";
import process from "node:process";
import * as esbuild from "esbuild";

const root = path.resolve(import.meta.dirname, "..");
const out = path.resolve(root, process.argv[2] ?? "dist");
/** The size limits in bytes of the plugin's script, and of the scripts that the page loads at first. */
const LARGEST = [
  { name: "the plugin", files: ["main.js"], bytes: 260 * 1024 },
  { name: "the page's first load", files: ["page/view.js", "page/chunk.js"], bytes: 180 * 1024 },
];

const scripts = [
  { entries: { main: "src/main.ts" }, folder: ".", format: "cjs", external: ["obsidian", "electron"] },
  // `chunk.js` has the code that both of the others need; `cards.js` and `formulas.js` are loaded when the
  // first card and the first formula are drawn.
  { entries: { view: "src/page/page.ts" }, folder: "page", format: "esm", external: [], splitting: true },
];
const styles = [
  { parts: ["styles/plugin.css", "styles/view.css"], file: "styles.css" },
  { parts: ["styles/page.css", "styles/view.css"], file: "page/view.css" },
];
const copies = [
  { from: "manifest.json", file: "manifest.json" },
  { from: "src/page/index.html", file: "page/index.html" },
];

/**
 * Removes the parts of marked that write HTML: the view draws its tokens itself, and this saves a fifth of
 * the library. They refer to each other at the top level, so esbuild has to keep them. Fails if another
 * version is built differently.
 */
const lexerAlone = {
  name: "lexer-alone",
  setup(build) {
    build.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      const from = text.search(/var \w+=class\{options;parser;constructor/);
      const names = /export\{([^}]*)\}/.exec(text)?.[1]?.split(",").filter((name) => / as (Lexer|Tokenizer|getDefaults)$/.test(name)) ?? [];
      if (from < 0 || names.length !== 3) throw new Error("marked is not made as it was: see `lexerAlone` in scripts/build.mjs");
      return { contents: `${text.slice(0, from)}export{${names.join(",")}};` };
    });
  },
};

await rm(out, { recursive: true, force: true });
await mkdir(path.join(out, "page"), { recursive: true });

const written = [];
for (const { entries, folder, format, external, splitting } of scripts) {
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: path.join(out, folder),
    chunkNames: "[name]",
    splitting,
    metafile: true,
    bundle: true,
    format,
    external,
    platform: "browser",
    target: "es2022",
    plugins: [lexerAlone],
    minify: true,
    legalComments: "none",
    charset: "utf8",
    logLevel: "warning",
  });
  written.push(...Object.keys(metafile.outputs).map((file) => path.relative(out, path.resolve(root, file))));
}
for (const { parts, file } of styles) {
  const texts = await Promise.all(
    parts
      .filter((part) => existsSync(path.join(root, part)))
      .map((part) => readFile(path.join(root, part), "utf8")),
  );
  const { code } = await esbuild.transform(texts.join("\n"), { loader: "css", charset: "utf8" });
  await writeFile(path.join(out, file), code);
}
for (const { from, file } of copies) {
  if (existsSync(path.join(root, from))) await cp(path.join(root, from), path.join(out, file));
}

const sizes = {};
const kilobytes = (size) => `${(size / 1024).toFixed(1)} KB`;
for (const file of [...written, ...[...styles, ...copies].map(({ file }) => file)]) {
  const bytes = await readFile(path.join(out, file));
  sizes[file] = bytes.length;
  console.log(
    `${file.padEnd(16)} ${kilobytes(bytes.length).padStart(9)}  (${kilobytes(gzipSync(bytes).length)} compressed)`,
  );
}
for (const { name, files, bytes } of LARGEST) {
  const size = files.reduce((sum, file) => sum + sizes[file], 0);
  console.log(`${name}: ${kilobytes(size)} of ${kilobytes(bytes)}`);
  if (size <= bytes) continue;
  console.error(`${name} is too large`);
  process.exitCode = 1;
}
