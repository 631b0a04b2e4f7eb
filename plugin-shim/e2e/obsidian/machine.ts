// The page's access to the machine: requests to the test's own server.

/** A file or a folder of the vault. */
export interface Found {
  path: string;
  isFolder: boolean;
  size: number;
  mtime: number;
  ctime: number;
}

export interface Boot {
  base: string;
  files: Found[];
  /** The content of the system's secret storage. */
  secrets: Record<string, string>;
}

// Captured before a test counts or wraps it: the stand-in's own requests are not the plugin's.
const fetch = window.fetch.bind(window);

/** Sends a command; `house.mjs` describes the answers. */
export async function ask(op: string, given: object = {}): Promise<unknown> {
  const answer = await fetch("/do", { method: "POST", body: JSON.stringify({ op, ...given }) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

export function boot(): Promise<Boot> {
  return ask("boot") as Promise<Boot>;
}

/** Subscribes to changes on the disk, from the time at which this resolves. */
export function watch(heard: (one: Found & { kind: "created" | "modified" | "deleted" }) => void): Promise<void> {
  const source = new EventSource("/changes");
  source.onmessage = ({ data }: MessageEvent<string>) => heard(JSON.parse(data) as Parameters<typeof heard>[0]);
  return new Promise((resolve) => {
    source.onopen = () => resolve();
  });
}
