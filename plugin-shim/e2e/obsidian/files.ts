// The vault: Obsidian's files and folders, over the real disk. Changes by other programs are noticed a moment
// later, as in Obsidian.

import { Events } from "./component";
import { ask, type Found } from "./machine";

export abstract class TAbstractFile {
  parent: TFolder | null = null;

  constructor(
    public vault: Vault,
    public path: string,
  ) {}

  get name(): string {
    return this.path.slice(this.path.lastIndexOf("/") + 1);
  }
}

export class TFile extends TAbstractFile {
  stat = { ctime: 0, mtime: 0, size: 0 };

  get extension(): string {
    const at = this.name.lastIndexOf(".");
    return at < 0 ? "" : this.name.slice(at + 1);
  }

  get basename(): string {
    const { extension } = this;
    return extension === "" ? this.name : this.name.slice(0, -extension.length - 1);
  }
}

export class TFolder extends TAbstractFile {
  children: TAbstractFile[] = [];

  isRoot(): boolean {
    return this.path === "/";
  }
}

/** The disk below the vault's folder. */
export class FileSystemAdapter {
  constructor(private readonly base: string) {}

  getName(): string {
    return this.base.slice(this.base.lastIndexOf("/") + 1);
  }

  getBasePath(): string {
    return this.base;
  }

  async exists(path: string): Promise<boolean> {
    return (await ask("exists", { file: path })) === true;
  }

  async read(path: string): Promise<string> {
    const { text } = (await ask("read", { file: path })) as { text: string | null };
    if (text === null) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
    return text;
  }

  async write(path: string, text: string): Promise<void> {
    await ask("write", { file: path, text });
  }
}

export class Vault extends Events {
  readonly adapter: FileSystemAdapter;
  readonly configDir = ".obsidian";
  readonly #files = new Map<string, TAbstractFile>();
  readonly #root: TFolder;
  #moving: string[] = [];

  constructor(base: string, found: Found[]) {
    super();
    this.adapter = new FileSystemAdapter(base);
    this.#root = new TFolder(this, "/");
    this.#files.set("/", this.#root);
    for (const one of found) if (isSeen(one.path)) this.#add(one);
  }

  getName(): string {
    return this.adapter.getName();
  }

  getRoot(): TFolder {
    return this.#root;
  }

  getAbstractFileByPath(path: string): TAbstractFile | null {
    return this.#files.get(path) ?? null;
  }

  getFileByPath(path: string): TFile | null {
    const file = this.#files.get(path);
    return file instanceof TFile ? file : null;
  }

  getFiles(): TFile[] {
    return [...this.#files.values()].filter((file) => file instanceof TFile);
  }

  getMarkdownFiles(): TFile[] {
    return this.getFiles().filter(({ extension }) => extension === "md");
  }

  read(file: TFile): Promise<string> {
    return this.adapter.read(file.path);
  }

  cachedRead(file: TFile): Promise<string> {
    return this.read(file);
  }

  async rename(file: TAbstractFile, to: string): Promise<void> {
    if (await this.adapter.exists(to)) throw new Error("Destination file already exists!");
    // A move by Obsidian itself is neither a deletion nor a new file for it.
    this.#moving = [file.path, to];
    try {
      await ask("rename", { file: file.path, to });
      this.#moved(file, to);
    } finally {
      this.#moving = [];
    }
  }

  async trash(file: TAbstractFile, system: boolean): Promise<void> {
    await ask("trash", { file: file.path, system });
    this._gone(file.path);
  }

  async delete(file: TAbstractFile): Promise<void> {
    await ask("remove", { file: file.path });
    this._gone(file.path);
  }

  /** Compares the known files with the disk. */
  _noticed(one: Found & { kind: "created" | "modified" | "deleted" }): void {
    if (!isSeen(one.path) || this.#moving.some((path) => one.path === path || one.path.startsWith(`${path}/`))) return;
    const known = this.#files.get(one.path);
    if (one.kind === "deleted") return this._gone(one.path);
    if (known === undefined) {
      this.trigger("create", this.#add(one));
    } else if (known instanceof TFile && (known.stat.mtime !== one.mtime || known.stat.size !== one.size)) {
      known.stat = one;
      this.trigger("modify", known);
    }
  }

  #moved(file: TAbstractFile, to: string): void {
    const from = file.path;
    const below = [...this.#files.values()].filter(({ path }) => path === from || path.startsWith(`${from}/`));
    for (const one of below) {
      const before = one.path;
      this.#files.delete(before);
      this.#leave(one);
      one.path = to + before.slice(from.length);
      this.#files.set(one.path, one);
      this.#join(one);
      this.trigger("rename", one, before);
    }
  }

  _gone(path: string): void {
    const file = this.#files.get(path);
    if (file === undefined) return;
    this.#files.delete(path);
    this.#leave(file);
    this.trigger("delete", file);
  }

  #add(one: Found): TAbstractFile {
    const made = one.isFolder ? new TFolder(this, one.path) : new TFile(this, one.path);
    if (made instanceof TFile) made.stat = one;
    this.#files.set(one.path, made);
    this.#join(made);
    return made;
  }

  #join(file: TAbstractFile): void {
    const above = this.#files.get(file.path.slice(0, Math.max(0, file.path.lastIndexOf("/"))) || "/");
    if (!(above instanceof TFolder)) return;
    file.parent = above;
    above.children.push(file);
  }

  #leave(file: TAbstractFile): void {
    const { parent } = file;
    if (parent !== null) parent.children = parent.children.filter((one) => one !== file);
    file.parent = null;
  }
}

export class MetadataCache extends Events {
  constructor(private readonly vault: Vault) {
    super();
  }

  /** Resolves a link: by its complete path, then by the end of a path, shortest first. */
  getFirstLinkpathDest(linkpath: string, source: string): TFile | null {
    const wanted = linkpath.toLowerCase().replace(/^\//, "");
    if (wanted === "") return this.vault.getFileByPath(source);
    const is = (path: string): boolean => path === wanted || path === `${wanted}.md`;
    const lower = (file: TFile): string => file.path.toLowerCase();
    const files = this.vault.getFiles().sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
    return (
      files.find((file) => is(lower(file))) ??
      files.find((file) => lower(file).endsWith(`/${wanted}`) || lower(file).endsWith(`/${wanted}.md`)) ??
      null
    );
  }
}

export class FileManager {
  constructor(
    private readonly vault: Vault,
    private readonly links: MetadataCache,
    /** Asks the person whether to update links; resolves after a click. */
    private readonly askAboutLinks: () => Promise<boolean>,
  ) {}

  async renameFile(file: TAbstractFile, to: string): Promise<void> {
    const leading = await this.#leadingTo(file);
    const follow = (await this.#setting("alwaysUpdateLinks")) === true || leading.size === 0 || (await this.askAboutLinks());
    await this.vault.rename(file, to);
    if (!follow || !(file instanceof TFile)) return;
    for (const [path, links] of leading) {
      let text = await this.vault.adapter.read(path);
      for (const link of links) text = text.replaceAll(`[[${link}`, () => `[[${this.#shortest(file)}`);
      await this.vault.adapter.write(path, text);
    }
  }

  async trashFile(file: TAbstractFile): Promise<void> {
    const option = (await this.#setting("trashOption")) ?? "system";
    if (option === "none") await this.vault.delete(file);
    else await this.vault.trash(file, option === "system");
  }

  /** The wikilinks to a file, grouped by the note that contains them. */
  async #leadingTo(file: TAbstractFile): Promise<Map<string, Set<string>>> {
    const found = new Map<string, Set<string>>();
    for (const note of this.vault.getMarkdownFiles()) {
      const text = await this.vault.read(note);
      for (const [, link] of text.matchAll(/\[\[([^[\]|#\n]+)/g)) {
        if (link === undefined || this.links.getFirstLinkpathDest(link, note.path) !== file) continue;
        found.set(note.path, (found.get(note.path) ?? new Set()).add(link));
      }
    }
    return found;
  }

  #shortest(file: TFile): string {
    const isUnique = this.vault.getFiles().filter(({ name }) => name === file.name).length === 1;
    const path = isUnique ? file.name : file.path;
    return path.replace(/\.md$/, "");
  }

  async #setting(name: string): Promise<unknown> {
    try {
      return (JSON.parse(await this.vault.adapter.read(".obsidian/app.json")) as Record<string, unknown>)[name];
    } catch {
      return undefined;
    }
  }
}

/** Normalizes a path as Obsidian does. */
export function normalizePath(path: string): string {
  const plain = path.replace(/[\u00a0\u202f]/g, " ").replace(/[\\/]+/g, "/").replace(/^\/|\/$/g, "");
  return plain.normalize("NFC") || "/";
}

function isSeen(path: string): boolean {
  return !path.split("/").some((part) => part.startsWith("."));
}
