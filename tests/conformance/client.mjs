// What the conformance suite runs as a client: the program itself, used as a person does. The address of the suite's
// server comes last; STEWARD names the program.
import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const url = process.argv.at(-1);
// Scenarios run beside each other, and each has settings and a vault of its own.
const home = mkdtempSync(join(tmpdir(), "conformance-"));
const vault = join(home, "vault");
mkdirSync(join(vault, ".obsidian"), { recursive: true });

const options = { cwd: vault, env: { PATH: process.env.PATH, HOME: home } };
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

const steward = (args, input = "") =>
  execFileSync(process.env.STEWARD, ["--json", ...args], {
    ...options,
    input,
    encoding: "utf8",
    stdio: ["pipe", "pipe", "inherit"],
  });

/** Signs in; the suite's authorisation server asks nobody, so that a request does what a browser does. */
const login = async () => {
  const args = ["--json", "servers", "login", "suite", "--no-browser", "--timeout", "20"];
  const child = spawn(process.env.STEWARD, args, { ...options, stdio: ["ignore", "inherit", "pipe"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  for await (const line of createInterface({ input: child.stderr })) {
    console.error(line);
    if (line.startsWith("http")) await (await fetch(line)).text();
  }
  const code = await ended;
  if (code !== 0) throw new Error(`no sign-in: ${code}`);
};

/** Does it, and signs in where that is what a person is told; twice at most. */
const signedIn = async (work) => {
  for (let tries = 0; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      if (tries === 2 || !`${error.stdout}`.includes("steward servers login")) throw error;
      await login();
    }
  }
};

/** A value that fits a schema. */
const fitting = (schema) => {
  const properties = Object.entries(schema.properties ?? {});
  const wanted = properties.filter(([name]) => schema.required?.includes(name));
  switch (schema.type) {
    case "object":
      return Object.fromEntries(wanted.map(([name, inner]) => [name, fitting(inner)]));
    case "array":
      return [];
    case "number":
    case "integer":
      return 3;
    case "boolean":
      return true;
    default:
      return "text";
  }
};

try {
  // Used where the authorisation server takes such ones, as the suite expects.
  const id = context.client_id ?? "https://conformance-test.local/client-metadata.json";
  const secret = context.client_secret ? ["--client-secret"] : [];
  const add = ["servers", "add", "suite", "--url", url, "--client-id", id, ...secret];
  steward(add, context.client_secret);
  const { tools } = JSON.parse(
    await signedIn(() => steward(["servers", "allow", "suite", "--yes"])),
  );
  const calls =
    context.toolCalls ??
    tools.map((tool) => ({ name: tool.own, arguments: fitting(tool.inputSchema) }));
  for (const { name, arguments: input } of calls) {
    const { name: called } = tools.find((tool) => tool.own === name);
    // One tool gets the schema of another one, to be compared with what the server said.
    const rich = tools.find((tool) => tool.inputSchema.$defs);
    if (name === "json_schema_echo" && rich) input.schema = rich.inputSchema;
    try {
      await signedIn(() => steward(["call", called, JSON.stringify(input), "--yes"]));
    } catch (error) {
      // The suite judges what was sent.
      console.error(error.stdout);
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
