// The daemon's proof that it is the one that made the token, and not whoever took its port over.

/** A random text for the daemon to sign. */
export function makeNonce(): string {
  return toHex(window.crypto.getRandomValues(new Uint8Array(32)));
}

/** Whether `proof` is the HMAC-SHA-256 of the nonce with the token as key, in hex. */
export async function proves(token: string, nonce: string, proof: string): Promise<boolean> {
  const bytes = fromHex(proof);
  if (bytes === null) return false;
  const encoder = new TextEncoder();
  const key = await window.crypto.subtle.importKey(
    "raw",
    encoder.encode(token),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["verify"],
  );
  return window.crypto.subtle.verify("HMAC", key, bytes, encoder.encode(nonce));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^(?:[0-9a-f]{2})+$/.test(text)) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, at) =>
    Number.parseInt(text.slice(2 * at, 2 * at + 2), 16),
  );
}
