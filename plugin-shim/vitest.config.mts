import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // The package `obsidian` has types alone; the mocks stand in for what Obsidian has at run time.
    alias: { obsidian: "obsidian-test-mocks/obsidian" },
  },
  test: {
    environment: "jsdom",
    include: ["test/**/*.test.ts", "src/**/*.test.ts"],
    setupFiles: ["obsidian-test-mocks/vitest-setup", "./test/setup.ts"],
    restoreMocks: true,
  },
});
