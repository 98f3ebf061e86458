/** @file A few fixes, killed at drawn moments. A thousand: npm run kills (bench/results/kills.md). */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Random } from "../../src/verify/random.ts";
import { temporaryFolder } from "../cli/models.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { killCases, killOnce, prepare, signals } from "./kill-run.ts";

/** Of each case; of those that verify, one. */
const kills = 4;

let cli: BuiltCli;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli[Symbol.dispose]());

it.each(killCases.map((each) => [each.name, each] as const))(
  "a fix that is killed %s loses nothing, and the next run clears up",
  async (name, each) => {
    using folder = temporaryFolder();
    const random = new Random(name);
    const own = (part: string) => {
      mkdirSync(path.join(folder.path, part, "tmp"), { recursive: true });
      return path.join(folder.path, part);
    };
    const expected = await prepare(cli, each, own("whole"));
    for (let turn = 0; turn < (each.isVerified ? 1 : kills); turn++) {
      const signal = signals[turn % signals.length] ?? "SIGKILL";
      const moment = { signal, share: random.uniform(), isWriting: turn % 2 === 0 };
      const { violations } = await killOnce(cli, each, expected, moment, own(String(turn)));
      expect(violations).toEqual([]);
    }
  },
  240_000,
);
