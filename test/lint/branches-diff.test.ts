/** Of models with branches, too, lint's account is that of --diff, on every stack. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import { type Body, bodies, branching } from "./branching.ts";
import { expectParts, expectRanked, expectSteps } from "./sums.ts";
import { expectDiff } from "./zoo/accounts.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-branches-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(stackIds)("on %s, a model with branches", (stack) => {
  const check = async (body: Body) => {
    const file = path.join(folder, `${stack}.onnx`);
    writeFileSync(file, branching(body));
    const report = await lint(file, { stack, verbose: true });
    expectSteps(report);
    expectRanked(report);
    expectParts(report);
    await expectDiff(file, report, stack);
  };

  it.each<readonly [string, Body]>([
    ["the same flaws in both", [{ yes: ["odd", "gelu"], no: ["odd", "gelu"] }]],
    ["a flaw in one", [{ yes: ["odd"], no: ["relu"] }]],
    ["flaws of both and of the main graph", ["odd", { yes: ["gelu", "odd"], no: ["odd"] }, "gelu"]],
  ])("with %s has one account", async (_, body) => check(body));

  it("that is drawn has one account", async () => {
    await fc.assert(
      fc.asyncProperty(bodies.body, bodies.body, bodies.body, (before, yes, no) =>
        check([...before, { yes, no }]),
      ),
      { numRuns: 5 },
    );
  });
});
