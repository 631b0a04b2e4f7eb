// Names of properties and methods that both bundles carry in short: those that only code of one
// bundle says to other code of the same. What another program reads or gives is not among them, and
// `refused` says which name may be.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";

/** The project's own. */
const OWN = `
  addSet advice again annotate announce begun cancelAll capabilities chooseModel class clock compose continues
  cutBefore dismiss draft editLast elsewhere endConversation exportNote fetching fold fork fromAnswer giveUp
  goOnWith hasSettled inRawBlock isHeard isNew isOpen isQuestion isWorking kept lasting later learn letGo
  listButton listen missed newConversation onActiveNote onQuestion onSnapshot onState openExternal openNote
  outbox pages painter pieces resolveLink retryAt retryNow said sendAll serving setMode sets standing takeBack
  tell timeoutMs toEnd undoneChanges unmount unsent waitsFor wantedId warmUp withdraw withdrawAll
`;
/** `marked`'s: most are the names it gives its rules. */
const MARKED = `
  anyLine anyPunctuation anyPunctuationOutsideCode autolink beginningSpace blankLine blockSkip blockTokens
  blockquoteBeginRegex blockquoteMarkerWhitespace blockquoteSetextReplace blockquoteSetextReplace2
  blockquoteStart breaks carriageReturn codeRemoveIndent delLDelim delRDelim doubleBlankLine emStrong
  emStrongLDelim emStrongMask emStrongRDelimAst emStrongRDelimUnd endATag endAngleBracket endPreScriptTag
  endingHash endingNewline endingSpaceChar endingSpaceTabChar escaped fencesBeginRegex findPipe getRegex
  headingBeginRegex hrRegex hrefBrackets htmlBeginRegex inLink indentCodeCompensation infiniteLoopError
  inlineQueue inlineText inlineTokens lastPossibleDelCloserIndex lastPossibleEmStrongCloserIndex lastToken
  leadingSpaceTab lexer lheading linkEmitted linkInText linkParenPossible listInterruptsParagraph listIsTask
  listItemRegex listReplaceNesting listReplaceTask listTaskCheckbox loose maskedSrc multipleSpaceGlobal
  nestedBlockMarker nestedContainerMarkers newLineCharGlobal nextBulletRegex nonSpaceChar notSpaceStart
  numericCharacterReference numericCharacterReferenceOrAmpersand outputLinkReplace pedantic percentDecode
  punctuation reflinkSearch slashPipe spaceLine splitPipe startATag startAngleBracket startBlock startInline
  startPreScriptTag startingSpaceChar tabCharGlobal tableAlignCenter tableAlignChars tableAlignLeft
  tableAlignRight tableDelimiter tableRowBlankLine tokenizer unicodeAlphaNumeric
`;

/**
 * All of them.
 * @type {string[]}
 */
export const INTERNAL = `${OWN} ${MARKED}`.trim().split(/\s+/);

/** What esbuild is told to shorten. */
export const MANGLED = new RegExp(`^(?:${INTERNAL.join("|")})$`);

/** What other sides have; it is read once. */
let foreign;

/**
 * What is wrong with the list; nothing where all is well. A name is refused where a platform, Obsidian or
 * the protocol has one like it, and where it is left in a bundle: as a text that might be a key, as a
 * property that was named by such a text, or in the data of an element.
 * @param {string} root The folder of the plugin.
 * @param {string[]} bundles The files that were built.
 * @param {string[]} [listed]
 * @returns {Promise<string[]>}
 */
export async function refused(root, bundles, listed = INTERNAL) {
  /** Where each name, and each text, was found first. */
  const known = new Map(await (foreign ??= typings(root).then((files) => namesOf(root, files))));
  for (const [name, file] of await namesOf(root, bundles)) if (!known.has(name)) known.set(name, file);
  const found = [];
  for (const name of listed) {
    const data = `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const where = known.get(name) ?? [...known].find(([text]) => text.includes(data))?.[1];
    if (where !== undefined) found.push(`\`${name}\` is in ${where}`);
    if (listed.indexOf(name) !== listed.lastIndexOf(name)) found.push(`\`${name}\` is listed twice`);
  }
  return found;
}

async function typings(root) {
  const modules = path.join(root, "node_modules");
  const libraries = path.join(modules, "typescript", "lib");
  const platform = (await readdir(libraries)).filter((name) => /^lib\.(?:dom|es).*\.d\.ts$/.test(name));
  return [
    ...platform.map((name) => path.join(libraries, name)),
    path.join(modules, "obsidian", "obsidian.d.ts"),
    path.join(root, "src", "protocol.ts"),
  ];
}

/** Each name in files, with the first that it is in. */
async function namesOf(root, files) {
  const known = new Map();
  for (const file of files) {
    const parsed = ts.createSourceFile(file, await readFile(file, "utf8"), ts.ScriptTarget.Latest);
    for (const name of names(parsed)) if (!known.has(name)) known.set(name, path.relative(root, file));
  }
  return known;
}

/** The names that a file declares or reads of an object, and its texts. */
function names(file) {
  const found = [];
  const look = (node) => {
    if (ts.isStringLiteralLike(node)) found.push(node.text);
    else if (ts.isIdentifier(node.name ?? node)) found.push((node.name ?? node).text);
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}
