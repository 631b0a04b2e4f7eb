// What Obsidian's Mermaid returns for a diagram, as far as tests need it: boxes with the lines of its source.

/** A diagram as SVG. Rejects what does not begin as one. */
export function renderDiagram(id: string, source: string): Promise<{ svg: string }> {
  const lines = source.split("\n").filter((line) => !line.startsWith("%%"));
  if (!/^(?:graph|flowchart|sequenceDiagram)\b/.test(lines[0] ?? "")) return Promise.reject(new Error("No diagram type detected"));
  const fill = source.includes('"theme": "dark"') ? "#dddddd" : "#333333";
  const text = (line: string, at: number): string =>
    `<text x="10" y="${30 * at - 10}" fill="${fill}">${line.trim().replace(/&/g, "&amp;").replace(/</g, "&lt;")}</text><rect x="2" y="${30 * at - 28}" width="296" height="26" fill="none" stroke="${fill}"/>`;
  // As if its own check had missed something.
  const missed = source.includes("hostile") ? '<script>window.parent.hurt = true</script><image href="http://127.0.0.1:9/x.png" onload="window.parent.hurt = true"/>' : "";
  const drawn = lines.slice(1).map((line, at) => text(line, at + 1)).join("");
  return Promise.resolve({ svg: `<svg id="${id}" width="100%" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 ${30 * (lines.length - 1)}">${missed}${drawn}</svg>` });
}
