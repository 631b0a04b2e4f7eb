// The machine that the stand-in runs on, as the page reaches it: by requests to the test.

/** A file or a folder of the vault. */
export interface Found {
  path: string;
  isFolder: boolean;
  size: number;
  mtime: number;
  ctime: number;
}

export interface Boot {
  /** The vault's folder. */
  base: string;
  files: Found[];
  /** What the system's store of secrets holds. */
  secrets: Record<string, string>;
}

// Before anything counts or wraps it: what the stand-in itself asks is no plugin's doing.
const fetch = window.fetch.bind(window);

/** Has something done; the answer is as `house.mjs` says. */
export async function ask(op: string, given: object = {}): Promise<unknown> {
  const answer = await fetch("/do", { method: "POST", body: JSON.stringify({ op, ...given }) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

export function boot(): Promise<Boot> {
  return ask("boot") as Promise<Boot>;
}

/** Hears what is otherwise on the disk, from when this resolves on. */
export function watch(heard: (one: Found & { kind: "created" | "modified" | "deleted" }) => void): Promise<void> {
  const source = new EventSource("/changes");
  source.onmessage = ({ data }: MessageEvent<string>) => heard(JSON.parse(data) as Parameters<typeof heard>[0]);
  return new Promise((resolve) => {
    source.onopen = () => resolve();
  });
}
