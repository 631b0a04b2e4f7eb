// Proofs of knowledge of the token, without revealing it: the daemon's proof that it issued the token, unlike
// another program that has taken over its port, and this client's proof.

/** The name of a token, and its signing key. */
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

/** The key in a token. A page's token also contains its name: `NAME.KEY`. */
export async function keyOf(token: string): Promise<Key> {
  const [name = "", key] = token.split(".");
  if (key !== undefined) return { name, key };
  return { name: (await sign(token, "vault-steward name")).slice(0, 32), key: token };
}

/**
 * A proof of the key for one purpose, for the daemon at `host` as the client addressed it
 * (`127.0.0.1:27180`), and for these nonces. Forwarded to another daemon, it is useless.
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
