// Headless Chromium with an empty profile and without connections to other machines.
import { existsSync } from "node:fs";
import process from "node:process";
import { chromium } from "playwright-core";
import { LEAD } from "./door.mjs";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function browserPath() {
  return process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
}

export function launch() {
  return chromium.launch({
    executablePath: browserPath(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--force-color-profile=srgb",
      `--host-resolver-rules=${LEAD}`,
    ],
  });
}
