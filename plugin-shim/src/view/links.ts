/** Where a link of an answer may lead. */

export type Link =
  /** Into the vault: what stood in `[[…]]`, with its heading or block. */
  | { kind: "note"; linkpath: string }
  /** Out of it; `host` is what a person is shown. */
  | { kind: "web"; url: string; host: string }
  /** Nowhere: what it said is shown, and nothing can be clicked. */
  | { kind: "inert" };

/** What a scheme looks like, after what browsers leave out of an address. */
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;

/** What the destination of a Markdown link means. */
export function linkOf(destination: string): Link {
  // Browsers drop tabs, line ends and leading control characters before they look for a scheme.
  const text = cleaned(destination);
  if (text === "") return { kind: "inert" };
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (scheme === "http" || scheme === "https") return web(text);
  if (scheme === "mailto") return { kind: "web", url: text, host: text.slice("mailto:".length) };
  if (scheme !== undefined) return { kind: "inert" };
  // `//host` means the web to a browser, and nothing to a vault.
  if (text.startsWith("//") || text.startsWith("\\")) return { kind: "inert" };
  return { kind: "note", linkpath: decoded(text) };
}

/** What `[[target]]` means. */
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
  // A name before the host is there to deceive.
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
