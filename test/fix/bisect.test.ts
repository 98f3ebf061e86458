import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bisect, nothingBut, type Piece } from "../../src/fix/bisect.ts";
import type { PassName } from "../../src/passes/pass.ts";

const parts = (pass: PassName, count: number): [PassName, Set<string>] => [
  pass,
  new Set(Array.from({ length: count }, (_, index) => `${pass}${index}`)),
];
const nameOf = ({ pass, part }: Piece) => part ?? pass;

/** A trial holds unless it has one of `wrong`. */
function trialOf(wrong: ReadonlySet<string>) {
  const asked: string[][] = [];
  const trial = (kept: readonly Piece[]) => {
    asked.push(kept.map(nameOf));
    const found = kept.map(nameOf).find((name) => wrong.has(name));
    return Promise.resolve(found && `${found} is wrong`);
  };
  return { asked, trial };
}

describe("a fix that fails as a whole", () => {
  it("keeps all but the parts that are wrong, and says why", async () => {
    const { asked, trial } = trialOf(new Set(["align11"]));
    const all = new Map([parts("fold", 3), parts("align", 20), parts("half", 0)]);
    const { kept, left } = await bisect(all, "whole", trial);
    expect(left).toEqual([{ pass: "align", part: "align11", reason: expect.any(String) }]);
    expect(kept).toHaveLength(3 + 20);
    expect(kept.map(nameOf)).toContain("half");
    expect(asked.length).toBeLessThanOrEqual(Math.ceil(Math.log2(24)) + 8);
  });

  it("leaves out a pass that has no parts as a whole", async () => {
    const { trial } = trialOf(new Set(["channels-last"]));
    const { kept, left } = await bisect(
      new Map([parts("fold", 2), parts("channels-last", 0)]),
      "whole",
      trial,
    );
    expect(left).toMatchObject([{ pass: "channels-last", part: undefined }]);
    expect(kept.map(nameOf)).toEqual(["fold0", "fold1"]);
  });

  it("keeps nothing where nothing holds, in few trials", async () => {
    const { asked, trial } = trialOf(new Set(Array.from({ length: 1000 }, (_, index) => `half${index}`)));
    const { kept, left } = await bisect(new Map([parts("half", 1000)]), "whole", trial);
    expect(kept).toEqual([]);
    expect(left).toHaveLength(1000);
    expect(asked.length).toBeLessThanOrEqual(10 + 8);
  });

  it("always ends with what was tried last and held, whatever is wrong, within the bound", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 12 }),
        fc.nat({ max: 40 }),
        fc.uniqueArray(fc.nat({ max: 52 }), { minLength: 1, maxLength: 6 }),
        async (folds, aligns, numbers) => {
          const all = new Map([parts("fold", folds), parts("align", aligns)]);
          const names = [...all].flatMap(([pass, own]) => (own.size === 0 ? [pass] : [...own]));
          const wrong = new Set(numbers.map((number) => names[number % names.length] ?? ""));
          const { asked, trial } = trialOf(wrong);
          const { kept, left } = await bisect(all, "whole", trial);
          expect(kept.map(nameOf).filter((name) => wrong.has(name))).toEqual([]);
          expect([...kept, ...left].map(nameOf).sort()).toEqual([...names].sort());
          expect(asked.length).toBeLessThanOrEqual(Math.ceil(Math.log2(names.length)) + 8);
          const sound = asked.filter((each) => !each.some((name) => wrong.has(name)));
          expect(kept.map(nameOf)).toEqual(sound.at(-1) ?? []);
        },
      ),
      { numRuns: 200, seed: 20261122 },
    );
  });
});

it("what is not kept is left out, known or not", () => {
  const leaveOut = nothingBut(
    [
      { pass: "align", part: "a" },
      { pass: "half", part: undefined },
    ],
    [{ pass: "align", part: "b", reason: "wrong" }],
  );
  expect(leaveOut("align", undefined)).toBeUndefined();
  expect(leaveOut("align", "a")).toBeUndefined();
  expect(leaveOut("align", "b")).toBe("wrong");
  expect(leaveOut("align", "new")).toMatch(/left out/);
  expect(leaveOut("half", "anything")).toBeUndefined();
  expect(leaveOut("fold", undefined)).toMatch(/left out/);
});
