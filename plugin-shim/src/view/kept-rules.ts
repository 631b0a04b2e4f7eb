/** How rules are kept in a file of the vault. Pure. */

/** Where rules are kept if the person says no other place: a note that is named after the first of them. */
export function pathOfRules(name: string): string {
  const bare = name.replace(/[\\/:*?"<>|#^[\]\p{Cc}]+/gu, " ").replace(/\s+/g, " ").replace(/^[ .]+|[ .]+$/g, "");
  return `Rules/${bare.slice(0, 80) || "Rules"}.md`;
}

/** What a file holds that keeps rules: a note has them in a block. */
export function noteOfRules(path: string, text: string): string {
  if (!/\.md$/i.test(path)) return `${text.trimEnd()}\n`;
  let fence = "```";
  while (text.includes(fence)) fence += "`";
  return `${fence}rules\n${text.trimEnd()}\n${fence}\n`;
}
