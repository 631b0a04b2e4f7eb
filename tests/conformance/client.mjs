// What the conformance suite runs as a client: the program itself, used as a person does. The address of the suite's
// server comes last; STEWARD names the program.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const url = process.argv.at(-1);
// Scenarios run beside each other, and each has settings and a vault of its own.
const home = mkdtempSync(join(tmpdir(), "conformance-"));
const vault = join(home, "vault");
mkdirSync(join(vault, ".obsidian"), { recursive: true });

const steward = (...args) =>
  execFileSync(process.env.STEWARD, ["--json", ...args], {
    cwd: vault,
    encoding: "utf8",
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ["ignore", "pipe", "inherit"],
  });

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
  steward("servers", "add", "suite", "--url", url);
  const { tools } = JSON.parse(steward("servers", "allow", "suite", "--yes"));
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
  const calls =
    context.toolCalls ??
    tools.map((tool) => ({ name: tool.own, arguments: fitting(tool.inputSchema) }));
  for (const { name, arguments: input } of calls) {
    const { name: called } = tools.find((tool) => tool.own === name);
    // One tool gets the schema of another one, to be compared with what the server said.
    const rich = tools.find((tool) => tool.inputSchema.$defs);
    if (name === "json_schema_echo" && rich) input.schema = rich.inputSchema;
    try {
      steward("call", called, JSON.stringify(input), "--yes");
    } catch (error) {
      // The suite judges what was sent.
      console.error(error.stdout);
    }
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
