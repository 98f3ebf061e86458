import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/one-build.ts",
    testTimeout: 60_000,
    // Unpacking, building, and models of hundreds of megabytes, on two busy cores.
    hookTimeout: 180_000,
    // For two cores: a worker that waits for a process leaves one idle. 1,218 s instead of 1,345 with two workers.
    maxWorkers: 3,
  },
});
