/** The result of a query as a sortable table, with its groups as bars above it. */

import { box, clear, element, setText, show } from "./dom";
import { noteName } from "./format";
import type { Group, Row, Table } from "./outputs";
import { drawWords, noteLink } from "./named";
import { textButton } from "./part";

/** The number of rows that are drawn at first; a button shows the others. */
const SHOWN = 20;

/** Draws a table. It has the order of the answer until a heading is clicked. */
export function drawTable(near: Node, table: Table): HTMLElement {
  const made = box(near, "vs-query");
  if (table.groups && table.groups.length > 0) made.append(drawGroups(near, table.groups));
  if (table.rows.length === 0) return made;
  const { columns, rows: all } = withNotes(table);
  const drawn = element(near, "table");
  const head = element(near, "tr");
  const body = element(near, "tbody");
  const more = textButton(near, "", "vs-more");
  let rows = all;
  let isWhole = all.length <= SHOWN;
  const draw = (): void => {
    clear(body);
    for (const row of isWhole ? rows : rows.slice(0, SHOWN)) body.append(drawRow(near, row, columns));
    show(more, !isWhole);
    setText(more, `Show ${rows.length - SHOWN} more rows`);
  };
  more.addEventListener("click", () => {
    isWhole = true;
    draw();
  });
  columns.forEach((column, at) => {
    const heading = element(near, "th", { attributes: { scope: "col", "aria-sort": "none" } });
    const sort = textButton(near, column.title, "vs-sort");
    sort.addEventListener("click", () => {
      const isUp = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of head.children) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      rows = sorted(all, at, isUp);
      draw();
    });
    heading.append(sort);
    head.append(heading);
  });
  draw();
  drawn.append(element(near, "thead", {}, head), body);
  const label = table.total > table.rows.length ? `${table.rows.length} of ${table.total} results` : `${table.total} results`;
  const scrolled = element(near, "div", {
    class: "vs-table",
    attributes: { role: "group", tabindex: 0, "aria-label": label },
  }, drawn);
  made.append(scrolled, more);
  if (table.total > table.rows.length) made.append(element(near, "div", { class: "vs-aside", text: label }));
  return made;
}

/** Fields that identify the note: their cells link to it. */
const NOTE = ["file", "file.file", "file.name", "file.basename", "file.path"];

/** The table with a column for the notes, if it has none. */
function withNotes({ columns, rows }: Table): Pick<Table, "columns" | "rows"> {
  if (columns.some(({ key }) => NOTE.includes(key))) return { columns, rows };
  return {
    columns: [{ key: "file.name", title: "note" }, ...columns],
    rows: rows.map(({ path, cells, texts }) => {
      const name = noteName(path);
      return { path, cells: [name, ...cells], texts: [name, ...texts] };
    }),
  };
}

function drawRow(near: Node, row: Row, columns: Table["columns"]): HTMLElement {
  const made = element(near, "tr");
  row.texts.forEach((text, at) => {
    const drawn = element(near, "td", { attributes: { dir: "auto" } });
    if (NOTE.includes(columns[at]?.key ?? "")) drawn.append(noteLink(near, row.path, text));
    else drawWords(drawn, text);
    if (typeof row.cells[at] === "number") drawn.classList.add("is-number");
    made.append(drawn);
  });
  return made;
}

/** Groups with their numbers of rows. */
function drawGroups(near: Node, groups: Group[]): HTMLElement {
  const most = Math.max(...groups.map((group) => group.count), 1);
  const made = element(near, "dl", { class: "vs-bars" });
  for (const { text, count } of groups) {
    const bar = element(near, "span", { class: "vs-bar", attributes: { "aria-hidden": "true" } });
    bar.style.setProperty("--vs-share", String(count / most));
    const name = element(near, "dt", { attributes: { dir: "auto" } });
    drawWords(name, text === "" ? "none" : text);
    made.append(name, element(near, "dd", {}, bar, element(near, "span", { text: String(count) })));
  }
  return made;
}

/** Sorts rows by one column: numbers by value, texts in natural order, empty cells last. */
function sorted(rows: Row[], at: number, isUp: boolean): Row[] {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  return [...rows].sort((one, other) => {
    const [a = "", b = ""] = [one.texts[at], other.texts[at]];
    if (a === "" || b === "") return Number(a === "") - Number(b === "");
    const [size, otherSize] = [one.cells[at], other.cells[at]];
    const byValue = typeof size === "number" && typeof otherSize === "number" ? size - otherSize : collator.compare(a, b);
    return isUp ? byValue : -byValue;
  });
}
