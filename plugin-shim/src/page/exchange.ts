/**
 * The page's credentials: the one-time code behind `#`, and the token that the daemon gives for it.
 *
 * The token stays valid over restarts of the daemon, so it is held only in this page's memory. The tab stores
 * a derived value for reloads, which is valid until the daemon ends: another program that serves a page at
 * this address later finds nothing useful.
 */

import type { ExchangeAnswer, ExchangeBody } from "../protocol";
import { keyOf, sign } from "../proof";

/** The key in the tab's session storage, which other tabs cannot read. */
const KEPT = "vault-steward-token";

/** The code in an address: `http://127.0.0.1:27180/#code=…`. */
export function codeIn(hash: string): string | null {
  const code = new URLSearchParams(hash.replace(/^[^#]*#/, "")).get("code");
  return code === null || code === "" ? null : code;
}

/** The token: for the code in the address, which is removed from it at once, or the tab's stored value. */
export async function tokenFor(window: Window): Promise<string | null> {
  const code = codeIn(window.location.hash);
  if (code === null) return window.sessionStorage.getItem(KEPT);
  // First, so that neither the history nor a copied address contains the code.
  window.history.replaceState(null, "", window.location.pathname);
  return exchange(window, code);
}

/** The token for a code; null if the daemon does not accept the code. */
export async function exchange(window: Window, code: string | null): Promise<string | null> {
  const body: ExchangeBody = { code: code ?? "" };
  const answer = await window.fetch("/v1/exchange", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
  });
  if (!answer.ok) return null;
  const { token } = (await answer.json()) as ExchangeAnswer;
  return token;
}

/** Stores a value that admits this tab again until the daemon ends. */
export async function keep(window: Window, token: string, epoch: string): Promise<void> {
  const { name, key } = await keyOf(token);
  window.sessionStorage.setItem(KEPT, `${name}-run.${await sign(key, `run:${epoch}`)}`);
}
