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

const styles = [
  { parts: ["styles/plugin.css", "styles/view.css"], file: "styles.css" },
  { parts: ["styles/page.css", "styles/view.css"], file: "page/view.css" },
];
const copies = [
  { from: "manifest.json", file: "manifest.json" },
  { from: "src/page/index.html", file: "page/index.html" },
];

/**
 * Takes out of marked what the view never uses: the parts that write HTML, since it draws the tokens itself, and the rules and branches of
 * Markdown as it was first (`pedantic`). All hang on each other at the top level, so that esbuild has to keep them. Fails where another
 * version is built otherwise.
 */
const lexerAlone = {
  name: "lexer-alone",
  setup(build) {
    build.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      const from = text.search(/var \w+=class\{options;parser;constructor/);
      const names = /export\{([^}]*)\}/.exec(text)?.[1]?.split(",").filter((name) => / as (Lexer|Tokenizer|getDefaults)$/.test(name)) ?? [];
      // How rules are made of others; where nothing uses what is made, it may go.
      const [, maker = ""] = /function (\w+)\(\w+,\w+=""\)/.exec(text) ?? [];
      const pedantic = [...text.matchAll(/,pedantic:(\w+)\}/g)];
      if (from < 0 || names.length !== 3 || maker === "" || pedantic.length !== 2) {
        throw new Error("marked is not made as it was: see `lexerAlone` in scripts/build.mjs");
      }
      let read = text.slice(0, from);
      for (const [whole, name] of pedantic) {
        read = read.replace(whole, "}").replace(new RegExp(`([,;]|\\bvar )${name}=\\{\\.\\.\\.\\w+,`), `$1${name}={`);
      }
      read = read
        .replaceAll("this.options.pedantic", "false")
        .replaceAll("this.options.gfm", "true")
        .replaceAll("this.options.breaks", "true")
        .replaceAll("this.options.hooks", "null")
        .replace(new RegExp(`(?<![\\w$.]|function )${maker}\\(`, "g"), `/* @__PURE__ */${maker}(`);
      // The view has a method of its own for headings with a line below, and needs neither that of marked nor its rules.
      const [, none] = /(\w+)=\{exec:\(\)=>null\}/.exec(read) ?? [];
      const underlined = /\blheading\(\w+\)\{.*?\}(?=paragraph\()/s;
      if (none === undefined || !underlined.test(read) || [...read.matchAll(/\blheading:\w+/g)].length !== 2) {
        throw new Error("marked's headings are not made as they were: see `lexerAlone` in scripts/build.mjs");
      }
      read = read.replace(underlined, "").replace(/\blheading:\w+/g, `lheading:${none}`);
      // Small rules that only the removed parts use.
      const rule = String.raw`:/(?:[^/\\[]|\\.|\[(?:[^\]\\]|\\.)*\])+/[a-z]*,`;
      const { code: used } = await esbuild.transform(`${read}export{${names.join(",")}};`, { format: "esm", treeShaking: true });
      for (const [, name] of [...read.matchAll(/[{,](\w+):(?=\/)/g)]) {
        if (!used.includes(`.${name}`)) read = read.replace(new RegExp(`(?<=[{,])${name}${rule}`), "");
      }
      return { contents: `${read}export{${names.join(",")}};` };
    });
  },
};

/**
 * In one file nothing is loaded later: the cards are in it from the start, without what would make each module wait for its first use.
 * Obsidian shows notes itself, so the page's preview of one is left out.
 */
const atOnce = {
  name: "at-once",
  setup(build) {
    build.onLoad({ filter: /view[\\/]lazy\.ts$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      const later = 'await import("./cards")';
      if (!text.includes(later)) throw new Error("view/lazy.ts loads no cards: see `atOnce` in scripts/build.mjs");
      return { contents: `import * as cards from "./cards";\n${text.replace(later, "cards")}`, loader: "ts" };
    });
    build.onLoad({ filter: /view[\\/]cards\.ts$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      const preview = 'export { previewNote } from "./note-preview";';
      if (!text.includes(preview)) throw new Error("view/cards.ts has no preview: see `atOnce` in scripts/build.mjs");
      return { contents: text.replace(preview, ""), loader: "ts" };
    });
  },
};

/**
 * Names of properties that are long, stand often in the scripts, and that nothing outside of them reads: neither the wire, nor what is
 * kept, nor the browser or Obsidian. Those of marked's small rules are all of them.
 */
const marked = await readFile(path.join(root, "node_modules/marked/lib/marked.esm.js"), "utf8");
const ownNames = new Set([
  ...[...marked.matchAll(/\brules\.other\.(\w+)/g)].map(([, name]) => name),
  ..."attributes listen onSnapshot isWorking tokenizer lexer getRegex inlineQueue inlineTokens inRawBlock inLink".split(" "),
  ..."linkParenPossible linkEmitted linkInText lastToken infiniteLoopError blockTokens maskedSrc anyPunctuation".split(" "),
  ..."lastPossibleEmStrongCloserIndex lastPossibleDelCloserIndex anyPunctuationOutsideCode reflinkSearch blockSkip".split(" "),
  ..."emStrongLDelim emStrongRDelimAst emStrongRDelimUnd numericCharacterReference numericCharacterReferenceOrAmpersand".split(" "),
]);

const scripts = [
  { entries: { main: "src/main.ts" }, folder: ".", format: "cjs", external: ["obsidian", "electron", "@codemirror/state", "@codemirror/view"], plugins: [atOnce] },
  // `chunk.js` has what both of the others need; `cards.js` and `formulas.js` are loaded when the first
  // card and the first formula are drawn.
  { entries: { view: "src/page/page.ts" }, folder: "page", format: "esm", external: [], plugins: [], splitting: true },
];
await rm(out, { recursive: true, force: true });
await mkdir(path.join(out, "page"), { recursive: true });

const written = [];
for (const { entries, folder, format, external, plugins, splitting } of scripts) {
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
    plugins: [lexerAlone, ...plugins],
    minify: true,
    mangleProps: new RegExp(`^(?:${[...ownNames].join("|")})$`),
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
