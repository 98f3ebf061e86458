import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/one-build.ts",
    testTimeout: 60_000,
    // Unpacking, building, and models of hundreds of megabytes, on two busy cores.
    hookTimeout: 180_000,
    // Two cores: more workers only compete.
    maxWorkers: 2,
  },
});
