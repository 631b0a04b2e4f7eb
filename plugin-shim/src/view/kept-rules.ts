/** The format of rules in a file of the vault. Pure. */

/** The default file of rules: a note named after the first of them. */
export function pathOfRules(name: string): string {
  const bare = name.replace(/[\\/:*?"<>|#^[\]\p{Cc}]+/gu, " ").replace(/\s+/g, " ").replace(/^[ .]+|[ .]+$/g, "");
  return `Rules/${bare.slice(0, 80) || "Rules"}.md`;
}

/** The content of a rule file: a note contains them in a code block. */
export function noteOfRules(path: string, text: string): string {
  if (!/\.md$/i.test(path)) return `${text.trimEnd()}\n`;
  let fence = "```";
  while (text.includes(fence)) fence += "`";
  return `${fence}rules\n${text.trimEnd()}\n${fence}\n`;
}
