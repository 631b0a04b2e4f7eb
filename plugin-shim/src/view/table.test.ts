import { describe, expect, it } from "vitest";
import { isTable, type Table } from "./outputs";
import { drawTable } from "./table";

type Made = [name: string, value: string | number | null, text?: string];

function table(rows: Made[]): Table {
  const made = rows.map(([name, value, text = `${value ?? ""}`]) => ({
    path: `Folder/${name}.md`,
    cells: [name, value],
    texts: [name, text],
  }));
  const columns = [{ key: "file.name", title: "file name" }, { key: "price", title: "price" }];
  return { columns, rows: made, total: made.length };
}

const names = (drawn: HTMLElement): (string | null)[] =>
  [...drawn.querySelectorAll("tbody tr")].map((row) => row.querySelector("td")?.textContent ?? null);

const heading = (drawn: HTMLElement, at: number): HTMLElement => drawn.querySelectorAll<HTMLElement>("th button")[at]!;

describe("the table of a query", () => {
  it("is distinguished from other outputs", () => {
    expect(isTable({ columns: [], rows: [] })).toBe(true);
    expect([isTable(null), isTable({ rows: 1 }), isTable("text")]).toEqual([false, false, false]);
  });

  it("is sorted by the clicked heading: numbers by value, empty cells last in both directions", () => {
    const drawn = drawTable(document.body, table([["b", 10], ["a", 9], ["none", null], ["c", 100]]));
    expect(names(drawn)).toEqual(["b", "a", "none", "c"]);
    heading(drawn, 1).click();
    expect(names(drawn)).toEqual(["a", "b", "c", "none"]);
    heading(drawn, 1).click();
    expect(names(drawn)).toEqual(["c", "b", "a", "none"]);
    expect([...drawn.querySelectorAll("th")].map((one) => one.getAttribute("aria-sort"))).toEqual(["none", "descending"]);
    heading(drawn, 0).click();
    expect(names(drawn)).toEqual(["a", "b", "c", "none"]);
  });

  it("links each note, and the notes that a cell names", () => {
    const drawn = drawTable(document.body, table([["a", "x", "see [[Other note|other]]"]]));
    const links = [...drawn.querySelectorAll(".vs-link")].map((link) => link.getAttribute("data-linkpath"));
    expect(links).toEqual(["Folder/a.md", "Other note"]);
  });

  it("names each note if no column does", () => {
    const { columns, rows, total } = table([["a", 7]]);
    const bare = rows.map(({ path, cells, texts }) => ({ path, cells: cells.slice(1), texts: texts.slice(1) }));
    const drawn = drawTable(document.body, { columns: columns.slice(1), rows: bare, total });
    expect([...drawn.querySelectorAll("th")].map((one) => one.textContent)).toEqual(["note", "price"]);
    expect([...drawn.querySelectorAll("td")].map((one) => one.textContent)).toEqual(["a", "7"]);
    expect(drawn.querySelector(".vs-link")?.getAttribute("data-linkpath")).toBe("Folder/a.md");
  });

  it("takes no HTML from a cell", () => {
    const drawn = drawTable(document.body, table([["a", "<img src=x onerror=alert(1)>"]]));
    expect(drawn.querySelector("img")).toBeNull();
  });

  it("shows the first rows, and the rest on demand", () => {
    const drawn = drawTable(document.body, table(Array.from({ length: 30 }, (_, at) => [`n${at}`, at])));
    expect(names(drawn)).toHaveLength(20);
    drawn.querySelector<HTMLElement>(".vs-more")!.click();
    expect(names(drawn)).toHaveLength(30);
  });

  it("shows the number of all rows, and draws groups by size", () => {
    const some = { ...table([["a", 1]]), total: 7, groups: [{ text: "done", count: 2 }, { text: "", count: 5 }] };
    const drawn = drawTable(document.body, some);
    expect(drawn.querySelector(".vs-aside")?.textContent).toBe("1 of 7 results");
    const bars = [...drawn.querySelectorAll<HTMLElement>(".vs-bar")].map((bar) => bar.style.getPropertyValue("--vs-share"));
    expect(bars).toEqual(["0.4", "1"]);
    expect([...drawn.querySelectorAll("dt")].map((one) => one.textContent)).toEqual(["done", "none"]);
  });
});
