// The rules of Obsidian's own review, complete for the plugin's code.
import { defineConfig, globalIgnores } from "eslint/config";
import obsidianmd from "eslint-plugin-obsidianmd";

export default defineConfig([
  globalIgnores(["dist", "node_modules", "src/protocol.ts", "e2e/screenshots"]),
  ...obsidianmd.configs.recommended,
  {
    files: ["**/*.ts", "**/*.mts"],
    languageOptions: {
      parserOptions: {
        project: ["./tsconfig.test.json"],
        tsconfigRootDir: import.meta.dirname,
      },
    },
  },
  {
    // The chat view also runs in a browser, which has neither Obsidian's helpers nor its globals.
    files: ["src/view/**/*.ts", "src/page/**/*.ts"],
    rules: {
      "obsidianmd/prefer-create-el": "off",
      "obsidianmd/prefer-instanceof": "off",
    },
  },
  {
    // The stand-in for Obsidian implements the API that a plugin may use.
    files: ["e2e/obsidian/**"],
    rules: {
      "@typescript-eslint/no-implied-eval": "off",
      "obsidianmd/hardcoded-config-path": "off",
      "obsidianmd/no-global-this": "off",
      "obsidianmd/prefer-file-manager-trash-file": "off",
      "obsidianmd/prefer-instanceof": "off",
    },
  },
  {
    // Code that runs in Node: the tests and the tools.
    files: ["test/**", "e2e/**", "scripts/**", "*.mjs", "*.mts", "src/**/*.test.ts"],
    rules: {
      "import/no-nodejs-modules": "off",
      "obsidianmd/no-nodejs-modules": "off",
      "obsidianmd/prefer-create-el": "off",
      "obsidianmd/prefer-window-timers": "off",
      "no-console": "off",
      "obsidianmd/rule-custom-message": "off",
      "no-restricted-globals": "off",
      "no-undef": "off",
    },
  },
]);
