/** The destinations of links in an answer. */

export type Link =
  /** A destination in the vault: the text of `[[…]]`, including its heading or block. */
  | { kind: "note"; linkpath: string }
  /** An external address; `host` is displayed to the person. */
  | { kind: "web"; url: string; host: string }
  /** No valid destination: the text is shown without a link. */
  | { kind: "inert" };

/** A scheme, after the removal of characters that browsers ignore in an address. */
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

/** The destination of a Markdown link. */
export function linkOf(destination: string): Link {
  // Browsers remove tabs, line ends and leading control characters before they look for a scheme.
  const text = cleaned(destination);
  if (text === "") return { kind: "inert" };
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme === "http" || scheme === "https") return web(text);
  if (scheme === "mailto") return { kind: "web", url: text, host: text.slice("mailto:".length) };
  if (scheme !== undefined) return { kind: "inert" };
  // `//host` is a web address for a browser, and meaningless in a vault.
  if (text.startsWith("//") || text.startsWith("\\")) return { kind: "inert" };
  return { kind: "note", linkpath: decoded(text) };
}

/** The destination of `[[target]]`. */
export function wikiLink(target: string): Link {
  const text = cleaned(target);
  return text === "" ? { kind: "inert" } : { kind: "note", linkpath: text };
}

function cleaned(text: string): string {
  let kept = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x20 && code !== 0x7f) kept += character;
  }
  return kept.trim();
}

function web(text: string): Link {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { kind: "inert" };
  }
  // A user name before the host is meant to deceive.
  if (url.username !== "" || url.password !== "") return { kind: "inert" };
  return { kind: "web", url: url.href, host: url.host };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
