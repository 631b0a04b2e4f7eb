// Proofs of who knows the token, without showing it: the daemon's, that it is the one that made the
// token and not whoever took its port over, and this client's.

/** What a token is called, and what it signs with. */
export interface Key {
  name: string;
  key: string;
}

/** A random text for the daemon to sign. */
export function makeNonce(): string {
  return toHex(window.crypto.getRandomValues(new Uint8Array(32)));
}

/** HMAC-SHA-256 of a text with the characters of the key, in hex. */
export async function sign(key: string, text: string): Promise<string> {
  const { subtle } = window.crypto;
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const made = await subtle.importKey("raw", encoder.encode(key), algorithm, false, ["sign"]);
  return toHex(new Uint8Array(await subtle.sign("HMAC", made, encoder.encode(text))));
}

/** The key that a token is. That of a page has its name in it: `NAME.KEY`. */
export async function keyOf(token: string): Promise<Key> {
  const [name = "", key] = token.split(".");
  if (key !== undefined) return { name, key };
  return { name: (await sign(token, "vault-steward name")).slice(0, 32), key: token };
}

/**
 * A proof that the key is known, good for one purpose, for the daemon at `host` as it was called
 * (`127.0.0.1:27180`), and for these nonces: whoever passes it on to another daemon has nothing.
 */
export function proof(
  key: string,
  purpose: "challenge" | "ticket" | "initialize",
  host: string,
  nonces: string,
): Promise<string> {
  return sign(key, `vault-steward ${purpose} ${host} ${nonces}`);
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
