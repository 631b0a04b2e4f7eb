/**
 * What the page comes in with: the one-time code behind `#`, and the token that the daemon gives for it.
 *
 * The token holds over restarts of the daemon, so it stays in this page's memory alone. What the tab
 * keeps, for when the page is loaded again, is made of it and holds until the daemon ends: another
 * program that serves a page here afterwards finds nothing of use.
 */

import type { ExchangeAnswer, ExchangeBody } from "../protocol";
import { keyOf, sign } from "../proof";

/** Where the tab keeps it while it is open; another tab does not see it. */
const KEPT = "vault-steward-token";

/** The code in an address: `http://127.0.0.1:27180/#code=…`. */
export function codeIn(hash: string): string | null {
  const code = new URLSearchParams(hash.replace(/^[^#]*#/, "")).get("code");
  return code === null || code === "" ? null : code;
}

/** The token: for the code in the address, which is taken out of it at once, or the tab's own. */
export async function tokenFor(window: Window): Promise<string | null> {
  const code = codeIn(window.location.hash);
  if (code === null) return window.sessionStorage.getItem(KEPT);
  // Before anything else: neither the history nor a copied address is to have it.
  window.history.replaceState(null, "", window.location.pathname);
  return exchange(window, code);
}

/** The token for a code; null where it is not taken. */
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

/** Keeps for the tab what lets it in again while this run of the daemon lasts. */
export async function keep(window: Window, token: string, epoch: string): Promise<void> {
  const { name, key } = await keyOf(token);
  window.sessionStorage.setItem(KEPT, `${name}-run.${await sign(key, `run:${epoch}`)}`);
}
