// What jsdom lacks and every browser has.
import { webcrypto } from "node:crypto";

if (window.crypto?.subtle === undefined) {
  Object.defineProperty(window, "crypto", { value: webcrypto, configurable: true });
}
