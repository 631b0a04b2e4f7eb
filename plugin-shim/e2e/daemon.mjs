// The real daemon on a copy of the sample vault, in separate folders.
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The timeout of the daemon's start in milliseconds. */
const PATIENCE = 30_000;

/**
 * Looks for local models at a port without a listener, and checks a vendor's key with the test's own server.
 */
function nothingElse({ port }, hasOllama) {
  const nobody = [...(hasOllama ? [] : ["ollama"]), "lmstudio", "llamacpp", "vllm"].map((name) => `[models.providers.${name}]\nbase_url = "http://127.0.0.1:9/v1"\n`);
  return `${nobody.join("")}[models.providers.openai]\nbase_url = "http://127.0.0.1:${port}/v1"\n`;
}

export class Daemon {
  #child;
  output = "";

  /** Prepares a vault, settings and a state folder; starts nothing. */
  static async prepare({ program, sample, model, smarthole, port, hears = smarthole !== undefined, chain = '"scripted/one", "scripted/two"', hasOllama = false, folder = "vault" }) {
    const daemon = new Daemon();
    // In memory if possible: these tests are about the view, not the disk.
    const base = existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();
    daemon.home = await mkdtemp(path.join(base, "steward-e2e-"));
    daemon.program = program;
    // Otherwise Ollama is expected at a port without a listener.
    daemon.ollama = `127.0.0.1:${hasOllama ? model.port : 9}`;
    daemon.vault = path.join(daemon.home, folder);
    await cp(sample, daemon.vault, { recursive: true });
    // The usual folder: a confined daemon cannot change settings elsewhere.
    const settings = path.join(daemon.home, "config", "vault-steward");
    await mkdir(settings, { recursive: true });
    // In the PATH of a shell, under the usual name.
    await mkdir(path.join(daemon.home, "bin"));
    await symlink(program, path.join(daemon.home, "bin", "steward"));
    daemon.settings = path.join(settings, "config.toml");
    await writeFile(
      daemon.settings,
      `${port === undefined ? "" : `[server]\nport = ${port}\n`}[models]
chain = [${chain}]
retries = 0
[models.providers.scripted]
wire = "chat"
base_url = "http://127.0.0.1:${model.port}/v1"
key = "optional"
${chain === "" ? nothingElse(model, hasOllama) : ""}[models.facts."one"]
window = 4000000
price = { input = 1.0, output = 4.0 }
[conversation]
titles_by_model = false
[agent]
rounds = 200
calls = 20000
[smarthole]
enabled = ${hears}
port = ${smarthole ?? 9}
`,
    );
    return daemon;
  }

  get #environment() {
    return {
      ...process.env,
      HOME: this.home,
      PATH: `${path.join(this.home, "bin")}:${process.env.PATH}`,
      XDG_STATE_HOME: path.join(this.home, "state"),
      XDG_CONFIG_HOME: path.join(this.home, "config"),
      STEWARD_CONFIG: this.settings,
      NO_COLOR: "1",
      OLLAMA_HOST: this.ollama,
    };
  }

  /** The output of a command of the program. */
  async command(...args) {
    const { stdout } = await run(this.program, [...args, "--vault", this.vault], { env: this.#environment });
    return stdout.trim();
  }

  /** The output of a shell for a typed command, run in the person's home. */
  async typed(command) {
    const { stdout } = await run("sh", ["-c", command], { env: this.#environment, cwd: this.home });
    return stdout.trim();
  }

  /** Starts the daemon, on its previous port if it had one; or with a typed command. */
  async start(typed) {
    const options = { env: this.#environment, cwd: this.home, stdio: ["ignore", "pipe", "pipe"] };
    const args = ["serve", "--vault", this.vault, "--port", String(this.port ?? 0)];
    this.#child = typed ? spawn("sh", ["-c", `exec ${typed}`], options) : spawn(this.program, args, options);
    const child = this.#child;
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the daemon is not ready:\n${this.output}`)), PATIENCE);
      const heard = (chunk) => {
        this.output += chunk;
        const ready = /ws:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(this.output.slice(this.output.lastIndexOf("ready:")));
        if (!ready) return;
        clearTimeout(timer);
        this.port = Number(ready[1]);
        resolve();
      };
      child.stdout.on("data", heard);
      child.stderr.on("data", heard);
      child.once("exit", (code) => {
        clearTimeout(timer);
        reject(new Error(`the daemon ended with ${code}:\n${this.output}`));
      });
    });
    this.token = await this.command("token");
  }

  /** Stops the daemon: as a user would, or by force. */
  async stop(signal = "SIGTERM") {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    this.output = "";
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  /** Holds the process where it is, until it is killed. */
  freeze() {
    this.#child.kill("SIGSTOP");
  }

  thaw() {
    this.#child.kill("SIGCONT");
  }

  /** Sends a message by HTTP and waits for the answer, as a script does. */
  post(text) {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    const options = { host: "127.0.0.1", port: this.port, path: "/v1/sessions/current/messages", method: "POST", headers };
    return new Promise((resolve, reject) => {
      const request = http.request(options, async (response) => {
        let body = "";
        for await (const chunk of response) body += chunk;
        if (response.statusCode === 200) resolve(JSON.parse(body));
        else reject(new Error(body));
      });
      request.on("error", reject).end(JSON.stringify({ text }));
    });
  }

  read(file) {
    return readFile(path.join(this.vault, file), "utf8");
  }

  write(file, text) {
    return writeFile(path.join(this.vault, file), text);
  }

  async remove() {
    await this.stop("SIGKILL");
    await rm(this.home, { recursive: true, force: true });
  }
}
