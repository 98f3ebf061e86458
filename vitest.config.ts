import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configDefaults, defineConfig, type TestProjectConfiguration } from "vitest/config";

const tests = readdirSync("test", { recursive: true, encoding: "utf8" })
  .map((name) => join("test", name))
  .filter((name) => name.endsWith(".test.ts"));
/** These put modules in the place of others, for themselves alone. */
const mocking = tests.filter((name) => /\bvi\.mock\(/.test(readFileSync(name, "utf8")));

const limits = {
  testTimeout: 60_000,
  // Unpacking, building, and models of hundreds of megabytes, on two busy cores.
  hookTimeout: 180_000,
};

/** All test files but those of the patterns. */
export function projectsWithout(patterns: readonly string[]): TestProjectConfiguration[] {
  const exclude = [...configDefaults.exclude, ...patterns];
  // One file after another in a process that has the modules: to load them takes as long as most tests do.
  const shared = { include: ["test/**/*.test.ts"], exclude: [...exclude, ...mocking], isolate: false };
  return [
    { test: { ...limits, ...shared, name: "shared" } },
    { test: { ...limits, name: "mocking", include: mocking, exclude, sequence: { groupOrder: 1 } } },
  ];
}

export default defineConfig({
  test: {
    globalSetup: "test/one-build.ts",
    // For two cores: a worker that waits for a process leaves one idle. 1,218 s instead of 1,345 with two workers.
    maxWorkers: 3,
    projects: projectsWithout([]),
  },
});
