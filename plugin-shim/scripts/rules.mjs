// The community directory's rules for a plugin's description of itself. Pure.

const REQUIRED = ["id", "name", "version", "minAppVersion", "description", "author", "isDesktopOnly"];
const OPTIONAL = ["authorUrl", "fundingUrl"];
const NUMBER = /^\d+\.\d+\.\d+$/;
/** The disclosures that the README must contain, and the words that identify them. */
const DISCLOSURES = {
  "what it connects to": /## .*network/i,
  "files outside the vault": /outside (of )?the vault/i,
  "accounts and payment": /account|payment/i,
};

/**
 * The problems; empty if there are none.
 * @param {{ manifest: Record<string, unknown>, versions: Record<string, string>, packageVersion: string, programVersion: string, readme: string }} about
 * @returns {string[]}
 */
export function problems({ manifest, versions, packageVersion, programVersion, readme }) {
  const found = [];
  const text = (key) => (typeof manifest[key] === "string" ? manifest[key] : "");
  const demand = (holds, problem) => {
    if (!holds) found.push(problem);
  };

  for (const key of REQUIRED) demand(key in manifest, `manifest.json lacks \`${key}\``);
  for (const key of Object.keys(manifest)) {
    demand([...REQUIRED, ...OPTIONAL].includes(key), `manifest.json has \`${key}\`, which nobody reads`);
  }
  demand(/^[a-z]+(-[a-z]+)*$/.test(text("id")), "`id` is made of lower-case letters and hyphens");
  demand(!text("id").includes("obsidian"), "`id` must not contain `obsidian`");
  demand(!text("id").endsWith("plugin"), "`id` must not end with `plugin`");
  demand(!/obsidian|plugin/i.test(text("name")), "`name` must not contain `Obsidian` or `Plugin`");
  demand(NUMBER.test(text("version")), "`version` is three numbers, such as 1.2.3");
  demand(NUMBER.test(text("minAppVersion")), "`minAppVersion` is three numbers, such as 1.2.3");
  const description = text("description");
  demand(description.length <= 250, "`description` has at most 250 characters");
  demand(description.endsWith("."), "`description` ends with a full stop");
  demand(/^[A-Z][a-z]+ /.test(description), "`description` begins with what it does");
  demand(!/^(this|a|an|the)\b/i.test(description), "`description` begins with a verb");
  demand(!/obsidian|plugin/i.test(description), "`description` need not say `Obsidian` or `plugin`");
  demand(typeof manifest.isDesktopOnly === "boolean", "`isDesktopOnly` is true or false");

  const version = text("version");
  demand(packageVersion === version, `package.json has the version ${packageVersion}, manifest.json ${version}`);
  demand(programVersion === version, `the program has the version ${programVersion}, manifest.json ${version}`);
  demand(
    versions[version] === text("minAppVersion"),
    `versions.json has ${versions[version]} for ${version}, manifest.json ${text("minAppVersion")}`,
  );
  for (const [what, words] of Object.entries(DISCLOSURES)) {
    demand(words.test(readme), `README.md says nothing of ${what}`);
  }
  return found;
}
