// Builds what the daemon carries into dist/, and says how large it is:
//   main.js, manifest.json, styles.css   the plugin
//   page/                                the same view for a browser, as the daemon serves it
// The result depends on the sources and the locked packages alone, so that CI can compare it byte by
// byte with what is committed.
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { gzipSync } from "node:zlib";
import path from "node:path";
import process from "node:process";
import * as esbuild from "esbuild";
import { MANGLED, refused } from "./internal-names.mjs";

const root = path.resolve(import.meta.dirname, "..");
const out = path.resolve(root, process.argv[2] ?? "dist");
/** What each script may weigh, in bytes, before it counts as too heavy for a thin plugin. */
const LARGEST = 150 * 1024;

const scripts = [
  { entry: "src/main.ts", file: "main.js", format: "cjs", external: ["obsidian", "electron"] },
  { entry: "src/page/page.ts", file: "page/view.js", format: "iife", external: [] },
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
 * Rules of `marked` that nothing here uses: those of its pedantic way, those of underlined headings,
 * for which the view has its own, and those of its writer. Each with what stands in its place.
 */
const UNUSED = [
  [/(\w+=)\{\.\.\.\w+,html:.*?"lheading",\w+\)\.getRegex\(\)\}/s, "$1{}"],
  [/(\w+=)\{\.\.\.\w+,emStrongLDelim:\w+,emStrongRDelimAst:\w+,emStrongRDelimUnd:\w+,link:.*?,reflink:.*?getRegex\(\)\}/s, "$1{}"],
  [/,\w+=\/[^,;]*?\(\?!openQuote\).*?getRegex\(\)(?=,)/s, ""],
  [/,\w+="[^"]*\(\?:\(\?!\\\\\*\)punct\|notPunctSpace\)[^"]*",.*?getRegex\(\)(?=,)/s, ""],
  [/,\w+="[^"]*\(\?:\(\?!_\)punct\|notPunctSpace\)[^"]*",.*?getRegex\(\)(?=,)/s, ""],
  [/([\w$]+)=\/\^\(\?!bull \|blockCode.*?,(\w+)=\w+\(\1\).*?getRegex\(\),(\w+)=\w+\(\1\).*?getRegex\(\)/s, "$2=/(?!)/,$3=/(?!)/"],
  [/lheading\(\w+\)\{(?=let).*?\}(?=paragraph\()/s, ""],
  [/pedanticHrefTitle:.*?(?=unicode)/s, ""],
  [/pedanticHeadingBeginRegex:.*?\)\),/s, ""],
  [/,escapeTest:.*?(?=,caret:)/s, ""],
];

/**
 * What the view settles for `marked` once and for all (`view/markdown.ts`): GitHub's Markdown, each line
 * break one, no hooks. What is left for other settings is taken out, with the rules that only they use.
 */
const SETTLED = [
  [/\{async:!1,.*?walkTokens:null\}/, "{}"],
  [/block:(\w+)\.normal,inline:(\w+)\.normal\};.*?(?=this\.tokenizer\.rules=)/s, "block:$1,inline:$2};"],
  [/,(\w+)=\{normal:\w+,gfm:(\w+),pedantic:\w+\},(\w+)=\{normal:\w+,gfm:\w+,breaks:(\w+),pedantic:\w+\}/, ",$1=$2,$3=$4"],
  [/static get rules\(\).*?inlineTokens\(\w+\)\}(?=lex\()/, ""],
  [/this\.options\.pedantic/g, "!1"],
  [/this\.options\.gfm/g, "!0"],
  [/this\.options\.hooks\?\.emStrongMask\|\|/, ""],
  [/\w+=this\.options\.hooks\?\.emStrongMask\?\.call\(.*?\?\?\w+,/, ""],
  [/if\(this\.options\.silent\)console\.error\(\w+\);else throw/, "throw"],
  [/,codeBlockStyle:"indented"/, ""],
  // The same again under the names that take the place of these.
  [/lheading:\w+,(list:\w+,newline:\w+,)paragraph:\w+,table:\w+,/, "$1"],
  [/\{_backpedal:\w+,/, "{"],
  [/br:\w+,(code:\w+,)del:\w+,delLDelim:\w+,delRDelim:\w+,emStrongLDelim:\w+,emStrongRDelimAst:\w+,/, "$1"],
  [/,text:\w+,url:\w+\}/, "}"],
  // So that what nobody names any more falls away.
  [/=(?=\w+\((?:"|\/|\w+,")[^;]*?getRegex\(\)[,;])/g, "=/* @__PURE__ */"],
];

/**
 * `marked` ends with a function that is the whole package in one, and that esbuild must keep since
 * it is assembled by statements. Nothing here uses it, and without it the writer of HTML falls away.
 */
const readerAlone = {
  name: "marked's reader alone",
  setup(build) {
    build.onLoad({ filter: /[\\/]marked\.esm\.js$/ }, async ({ path: file }) => {
      const text = await readFile(file, "utf8");
      const whole = /var \w+=new \w+;function (\w+)\(\w+,\w+\)\{return \w+\.parse\(.*?(?=export\{)/s.exec(text);
      const names = /export\{(.*)\}/s.exec(text)?.[1]?.split(",") ?? [];
      const kept = names.filter((name) => /^\S+ as (?:Lexer|Tokenizer|getDefaults)$/.test(name.trim()));
      if (whole === null || kept.length !== 3) throw new Error("`marked` is built otherwise than before");
      let reader = text.slice(0, whole.index);
      for (const [unused, instead] of [...UNUSED, ...SETTLED]) {
        const without = reader.replace(unused, instead);
        if (without === reader) throw new Error(`\`marked\` is built otherwise than before: no ${unused}`);
        reader = without;
      }
      return { contents: `${reader}export{${kept.join(",")}};`, loader: "js" };
    });
  },
};

await rm(out, { recursive: true, force: true });
await mkdir(path.join(out, "page"), { recursive: true });

for (const { entry, file, format, external } of scripts) {
  if (!existsSync(path.join(root, entry))) continue;
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile: path.join(out, file),
    bundle: true,
    format,
    external,
    plugins: [readerAlone],
    platform: "browser",
    target: "es2022",
    minify: true,
    mangleProps: MANGLED,
    legalComments: "none",
    charset: "utf8",
    logLevel: "warning",
  });
}
const bundles = scripts.map(({ file }) => path.join(out, file)).filter((file) => existsSync(file));
const notInternal = await refused(root, bundles);
if (notInternal.length > 0) {
  console.error("scripts/internal-names.mjs lists names that are not internal alone:");
  for (const problem of notInternal) console.error(`  ${problem}`);
  process.exit(1);
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

let tooLarge = false;
for (const file of [...scripts, ...styles, ...copies].map(({ file }) => file)) {
  if (!existsSync(path.join(out, file))) continue;
  const bytes = await readFile(path.join(out, file));
  const kilobytes = (size) => `${(size / 1024).toFixed(1)} KB`;
  console.log(
    `${file.padEnd(16)} ${kilobytes(bytes.length).padStart(9)}  (${kilobytes(gzipSync(bytes).length)} compressed)`,
  );
  tooLarge ||= file.endsWith(".js") && bytes.length > LARGEST;
}
if (tooLarge) {
  console.error(`a script is larger than ${LARGEST / 1024} KB`);
  process.exitCode = 1;
}
