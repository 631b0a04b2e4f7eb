/** The one-time code behind `#`, and the token that the daemon gives for it. */

import type { ExchangeAnswer, ExchangeBody } from "../protocol";

/** Where the token stays while the tab is open; another tab does not see it. */
const KEY = "vault-steward-token";

/** The code in an address: `http://127.0.0.1:27180/#code=…`. */
export function codeIn(hash: string): string | null {
  const code = new URLSearchParams(hash.replace(/^#/, "")).get("code");
  return code === null || code === "" ? null : code;
}

/** The token: for the code in the address, which is taken out of it at once, or the tab's own. */
export async function tokenFor(window: Window): Promise<string | null> {
  const code = codeIn(window.location.hash);
  if (code === null) return window.sessionStorage.getItem(KEY);
  // Before anything else: neither the history nor a copied address is to have it.
  window.history.replaceState(null, "", window.location.pathname);
  const body: ExchangeBody = { code };
  const answer = await window.fetch("/v1/exchange", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
  });
  if (!answer.ok) return null;
  const { token } = (await answer.json()) as ExchangeAnswer;
  window.sessionStorage.setItem(KEY, token);
  return token;
}

/** Forgets a token that is of no use any more. */
export function forgetToken(window: Window): void {
  window.sessionStorage.removeItem(KEY);
}
