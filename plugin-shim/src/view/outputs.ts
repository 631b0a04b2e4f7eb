/** Tool outputs that are drawn as cards. */

/** A note: the value of each column, and its text. */
export interface Row {
  path: string;
  cells: unknown[];
  texts: string[];
}

export interface Group {
  text: string;
  count: number;
}

/** The output of a query. */
export interface Table {
  columns: { key: string; title: string }[];
  rows: Row[];
  groups?: Group[] | null;
  total: number;
}

/** Whether the output is the table of a query. */
export function isTable(output: unknown): output is Table {
  const { columns, rows } = (output ?? {}) as Partial<Table>;
  return Array.isArray(columns) && Array.isArray(rows);
}

/** The change that a call proposed in the mode Plan. */
export interface Proposed {
  proposed: true;
  title: string;
  changes: { action: string; path: string; from?: string | null; diff: string }[];
}

/** Whether a call only proposed its change. */
export function isProposed(output: unknown): output is Proposed {
  return (output as Partial<Proposed> | null | undefined)?.proposed === true;
}

/** The output of `suggest_names`. */
export interface Names {
  files: { path: string; fits: boolean; suggestions: { name: string; to: string; reason: string; taken_by?: string | null }[] }[];
}

/** Whether the output contains suggested names. */
export function isNames(output: unknown): output is Names {
  const { files } = (output ?? {}) as Partial<Names>;
  return Array.isArray(files) && files.every((file) => Array.isArray(file?.suggestions));
}

/** A note that a search found. */
export interface FoundNote {
  path: string;
  title: string;
  /** `title`, `words`, `meaning`. */
  why: string[];
  /** The best passages. */
  chunks: { headings: string[]; snippet: string; link: string }[];
}

/** The output of `search_notes`. */
export interface FoundNotes {
  notes: FoundNote[];
  total: number;
}

/** Whether the output contains found notes. */
export function isFound(output: unknown): output is FoundNotes {
  const { notes } = (output ?? {}) as Partial<FoundNotes>;
  return Array.isArray(notes) && notes.length > 0 && notes.every((note) => Array.isArray(note?.chunks) && Array.isArray(note.why));
}
