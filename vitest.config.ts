import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { configDefaults, defineConfig, type TestProjectConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { laterOptimizing } from "./src/cli/load-program.ts";

const tests = readdirSync("test", { recursive: true, encoding: "utf8" })
  .map((name) => join("test", name))
  .filter((name) => name.endsWith(".test.ts"));
/** These put modules in the place of others, for themselves alone. */
const mocking = tests.filter((name) => /\bvi\.mock\(/.test(readFileSync(name, "utf8")));

/** As the command line has its threads (load-program.ts), and with room for what is short-lived: files of the zoo take 0.8 to 0.9 of the processor time. */
const execArgv = process.versions.v8.startsWith(laterOptimizing.v8)
  ? [`--interrupt-budget=${laterOptimizing.budgets.besideOthers}`, "--max-semi-space-size=64"]
  : [];

const limits = {
  execArgv,
  // It ends what hangs: on a machine half as fast, and shared, tests of a dozen processes take a minute.
  testTimeout: 240_000,
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

/** Where nothing is known of earlier runs, small files come last: these are small, and take minutes, in which other workers would wait. */
const long = /\/test\/(reliability\/|.*zoo)/;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => long.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    globalSetup: "test/one-build.ts",
    // For two cores: a worker that waits for a process leaves one idle. 1,218 s instead of 1,345 with two workers.
    maxWorkers: 3,
    projects: projectsWithout([]),
  },
});
