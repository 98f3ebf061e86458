/** @file How the steps of an account are taken, as the terminal says it. */
import { describe, expect, test } from "vitest";
import { safeFix } from "../../src/api/fix-settings.ts";
import { type FixChoice, flagsOf } from "../../src/fix/choice.ts";
import { withGiven } from "../../src/fix/given.ts";
import type { AccountStep } from "../../src/lint/result.ts";
import { accountCells, rowsOf, storedEnd } from "../../src/report/account-text.ts";
import { timeNote } from "../../src/report/profile-text.ts";
import { storedColumn } from "../../src/report/scenarios.ts";
import { savedText } from "../../src/report/share.ts";
import { standingOf } from "../../src/report/standing.ts";
import { modelReport } from "./sample.ts";

const times = { microseconds: 10, low: 9, high: 11 };

test.each([
  ["fp16", "in FP16", /^--fix --precision fp16$/],
  ["bf16", "in BF16", /^--fix --precision bf16$/],
  ["int8", "in INT8", /^once somebody has quantized it$/],
  ["tf32", "in TF32", /^a setting of the stack$/],
] as const)("a step to %s names a fix where one takes it, and no other", (precision, name, how) => {
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
  const isHalf = precision === "fp16" || precision === "bf16";
  const command = isHalf ? { command: `--fix --precision ${precision}` } : {};
  const step: AccountStep = { ...times, step: "precision", saves: times, precision, ...command };
  const [called, , , way] = accountCells(step, [exported, step]);
  expect(called).toBe(name);
  expect(way).toMatch(how);
});

test.each([
  [0, undefined],
  [0.004, undefined],
  [-0.004, undefined],
  [3.5, "as written"],
  [-3.5, "FP32 kept, Casts"],
])("what writing half takes besides, saving %f µs, is a row called %s", (saved, name) => {
  const command = "--fix --precision fp16";
  const row = (step: AccountStep["step"], microseconds: number, less: number, more = {}): AccountStep => ({
    ...times,
    step,
    microseconds,
    saves: step === "exported" ? null : { microseconds: less, low: less, high: less },
    precision: "fp16",
    ...more,
  });
  const written = { microseconds: 40 + saved, low: 30, high: 50, after: 160 - saved };
  const account = [
    row("exported", 200, 0),
    row("precision", 160, 40, { command }),
    row("kept", 160 - saved, saved, { command, written }),
  ];
  const cells = rowsOf(account).map((step) => accountCells(step, account));
  const [, half, kept] = cells;
  expect(kept?.[0]).toBe(name);
  // The file is told once, be it a row of its own.
  const file = `${command}: 200 µs → ${kept?.[1] ?? "160 µs"} (saves 30 to 50 µs)`;
  expect([half?.[3], kept?.[3]]).toEqual(kept === undefined ? [file, undefined] : [command, file]);
});

test("a share is of the row above, or says what it is of", () => {
  const row = (step: AccountStep["step"], microseconds: number, saved: number | null): AccountStep => {
    const saves = saved === null ? null : { microseconds: saved, low: saved, high: saved };
    return { ...times, step, microseconds, saves, precision: step === "exported" ? "as-is" : "fp16" };
  };
  const account = [
    row("exported", 200, null),
    row("precision", 160, 40),
    row("safe", 150, 10),
    row("kept", 180, -30),
    row("author", 140, 40),
  ];
  const said = (isBrief: boolean) =>
    account.slice(1).map((step) => accountCells(step, account, isBrief)[2].replace(/ \(.*/, ""));
  const sure = ["saves 40 µs, 20 %", "saves 10 µs, 6.3 %"];
  expect(said(false)).toEqual([...sure, "costs 30 µs, 19 % of 160 µs", "saves 40 µs, 25 % of 160 µs"]);
  expect(said(true)).toEqual([...sure, "costs 30 µs", "saves 40 µs"]);
});

test("safe fixes of a repair that leaves half are told as stored, and say so", () => {
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
  const safe: AccountStep = { ...times, step: "safe", saves: times, precision: "as-is" };
  const wayOf = (command: string) => accountCells({ ...safe, command }, [exported, safe])[3];
  expect(wayOf("--fix --unsafe-fixes")).toBe("--fix --unsafe-fixes, as stored");
  expect(wayOf("--fix")).toBe("--fix");
});

test("where it is known what writing half takes, its step says so, and what the file saves", () => {
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
  const unnamed: AccountStep = {
    ...times,
    step: "precision",
    microseconds: 8,
    saves: times,
    precision: "fp16",
  };
  const half: AccountStep = { ...unnamed, command: "--fix --precision fp16" };
  const kept: AccountStep = {
    ...times,
    step: "kept",
    saves: { microseconds: -2, low: -3, high: -1 },
    precision: "fp16",
    command: "--fix --precision fp16",
    written: { microseconds: 8, low: -1, high: 12, after: 10 },
  };
  const account = [exported, half, kept];
  expect(accountCells(half, account)[3]).toBe("--fix --precision fp16");
  // No command is said that the step does not have: what JSON has, and no other.
  expect(accountCells(unnamed, account)[3]).toBe("");
  expect(accountCells(kept, account)).toEqual([
    "FP32 kept, Casts",
    "10 µs",
    "costs 2 µs, 25 % (1 to 3 µs)",
    "--fix --precision fp16: 18 µs → 10 µs (12 less to 1 µs more)",
  ]);
  // What may cost is nobody's to write.
  const { command: _, ...unsure } = kept;
  expect(accountCells(unsure, account)[3]).toMatch(/^as written: 18 µs → /);
  const sure: AccountStep = { ...kept, written: { microseconds: 8, low: 1, high: 12, after: 10 } };
  expect(accountCells(sure, account)[3]).toMatch(/ \(saves 1 to 12 µs\)$/);
  const loss: AccountStep = { ...kept, written: { microseconds: -8, low: -12, high: -1, after: 18 } };
  expect(accountCells(loss, account)[3]).toMatch(/: 10 µs → 18 µs \(costs 1 to 12 µs\)$/);
});

test.each([
  ["that is what is said to be saved", { ...times, after: times.microseconds }, "--fix"],
  [
    "it is within the interval",
    { microseconds: 9, low: 8, high: 12, after: 20 },
    "--fix; as stored 29 µs → 20 µs",
  ],
  ["less is saved", { microseconds: 0, low: 0, high: 0, after: 20 }, "--fix; as stored 20 µs → 20 µs"],
  ["more is saved", { microseconds: 20, low: 18, high: 22, after: 20 }, "--fix; as stored 40 µs → 20 µs"],
] as const)(
  "what a safe fix saves as the file is stored is said unless it reads the same: %s",
  (_, written, how) => {
    const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
    const command = "--fix";
    const safe: AccountStep = { ...times, step: "safe", saves: times, precision: "fp16", written, command };
    expect(accountCells(safe, [exported, safe])[3]).toBe(how);
  },
);

test("changes that cancel each other take as long", () => {
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "fp16" };
  const saves = { microseconds: -1.3e-14, low: -0.5, high: 0.3 };
  const kept: AccountStep = { ...times, step: "kept", saves, precision: "fp16" };
  expect(accountCells(kept, [exported, kept])[2]).toMatch(/^takes as long \(0.3 less to 0.5 /);
  // Nothing that changes is no prediction.
  const none: AccountStep = { ...kept, saves: { microseconds: 0, low: 0, high: 0 } };
  expect(accountCells(none, [exported, none])[2]).toBe("takes as long");
  const written = { microseconds: 0, low: 0, high: 0, after: 10 };
  const alike: AccountStep = { ...none, written };
  expect(accountCells(alike, [exported, alike])[3]).toBe("as written: 10 µs → 10 µs (takes as long)");
});

describe("half that is not sure to save", () => {
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
  const stepTo = (microseconds: number): AccountStep => ({
    ...times,
    step: "precision",
    saves: { microseconds, low: -3, high: 4 },
    precision: "fp16",
  });
  const layout: AccountStep = { ...times, step: "layout", saves: times, precision: "fp16" };
  const castsIn = "--diff --precision fp16";
  const costs = { microseconds: -1, low: -2, high: -0.5 };
  const predicted = {
    microseconds: 10,
    low: 9,
    high: 11,
    precision: "fp16",
    tensorCoreShare: 1,
    families: {},
    basis: "kernels",
  } as const;
  const standing = (account: readonly AccountStep[]) => standingOf({ account, predicted, nodes: 1 });

  test.each([2, -2])("says where its Casts are told, and names no fix, at a saving of %i µs", (saved) => {
    const step = { ...stepTo(saved), castsIn };
    expect(accountCells(step, [exported, step])[3]).toBe("without Casts: --diff --precision fp16 has them");
    const known = { ...step, command: "--fix --unsafe-fixes" };
    expect(accountCells(known, [exported, known])[3]).toBe("--fix --unsafe-fixes, without Casts");
    // What its Casts take is not known, so that it is nowhere to go.
    const stored = standing([exported, step, { ...layout, microseconds: 8, castsIn }]);
    expect(stored).toMatchObject({ afterAll: exported.microseconds });
    const sure = standing([exported, stepTo(saved), { ...layout, microseconds: 8 }]);
    expect(sure).toMatchObject({ afterAll: 8 });
  });

  test("after all is what the command of a layout writes where that leaves FP32", () => {
    const written = { microseconds: 3, low: 1, high: 4, after: 9 };
    const stays: AccountStep = { ...layout, command: "--fix --unsafe-fixes", written };
    const step = { ...stepTo(-2), castsIn };
    expect(accountCells(stays, [exported, step, stays])[3]).toBe(
      "--fix --unsafe-fixes; as stored 12 µs → 9 µs",
    );
    expect(standing([exported, step, stays])).toMatchObject({ afterAll: 9 });
    const author: AccountStep = {
      ...times,
      microseconds: 7,
      step: "author",
      saves: times,
      precision: "fp16",
    };
    // Its author's step is told of a file in half that no command writes, and says what it is of the one that is written.
    const behind = { microseconds: 1, low: 0.5, high: 2, after: 8 };
    const rests: AccountStep = { ...author, restsOn: "fp16", written: behind };
    expect(standing([exported, step, stays, rests])).toMatchObject({ afterAll: 8 });
    const kept: AccountStep = { ...times, microseconds: 11, step: "kept", saves: costs, precision: "fp16" };
    expect(standing([exported, step, stays, kept, rests])).toMatchObject({ afterAll: 8 });
    const named = { ...kept, command: "--fix --precision fp16 --unsafe-fixes" };
    expect(standing([exported, step, stays, named, author])).toMatchObject({ afterAll: 7 });
  });

  test("a layout that is written in half says that its time is without Casts, as its step in half does", () => {
    const step = { ...stepTo(2), castsIn };
    const written: AccountStep = { ...layout, command: "--fix --unsafe-fixes", castsIn };
    expect(accountCells(written, [exported, step, written])[3]).toBe("--fix --unsafe-fixes, without Casts");
  });

  test("after all is of no file in half that may save nothing, so that no command is named of it", () => {
    const endingAt = (microseconds: number): AccountStep[] => [
      exported,
      { ...stepTo(2), unsure: true as const },
      { ...times, microseconds, step: "kept", saves: costs, precision: "fp16" },
    ];
    for (const end of [9, 11])
      expect(standing(endingAt(end))).toMatchObject({ afterAll: exported.microseconds });
    const named = endingAt(9).map((step) => (step.step === "kept" ? { ...step, command: "--fix" } : step));
    expect(standing(named)).toMatchObject({ afterAll: 9 });
  });

  test("after all is of no half that no fix stores, be there safe fixes of the file as it is stored", () => {
    const unwritten = { unsure: true, unwritten: true } as const;
    const step = { ...stepTo(2), microseconds: 8, ...unwritten };
    expect(standing([exported, step])).toMatchObject({ afterFix: 10, afterAll: 10 });
    const written = { microseconds: 1, low: 0.5, high: 2, after: 9 };
    const safe: AccountStep = { ...layout, step: "safe", microseconds: 7, command: "--fix", written };
    expect(standing([exported, step, safe])).toMatchObject({ afterFix: 9, afterAll: 9 });
  });

  test("a step that has no command names none, nor does a layout", () => {
    const step = stepTo(-2);
    expect(accountCells(step, [exported, step])[3]).toBe("");
    expect(accountCells(layout, [exported, step, layout])[3]).toBe("");
  });
});

test.each([
  [-2, " as it is stored"],
  [2, ""],
] as const)(
  "a precision that saves %i µs stands beside what the file takes as it is stored: %j",
  (saved, words) => {
    const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
    const saves = { microseconds: saved, low: -3, high: 4 };
    const account: AccountStep[] = [exported, { ...times, step: "precision", saves, precision: "fp16" }];
    const model = modelReport({ account });
    expect(timeNote(model).range.replace(/^[^;]*(; [\d.]+ µs)?/, "")).toBe(words);
    expect(storedColumn.text(model)).toBe("10 µs");
  },
);

test.each(["fp16", "bf16"] as const)(
  "a step to %s is called the same whether the target computes in it or a file is brought to it",
  (precision) => {
    const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
    const named = (["precision", "half"] as const).map((step) => {
      const each: AccountStep = { ...times, step, saves: times, precision };
      return accountCells(each, [exported, each]).slice(0, 1);
    });
    expect(named[1]).toEqual(named[0]);
  },
);

describe("a repair's steps", () => {
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
  const inHalf: AccountStep = { ...times, step: "precision", saves: times, precision: "fp16" };
  const safe: AccountStep = { ...times, step: "safe", saves: times, precision: "fp16" };
  const layout: AccountStep = { ...times, step: "layout", saves: times, precision: "fp16" };
  const costs = { microseconds: -2, low: -3, high: -1 };
  const ways = (account: readonly AccountStep[], choice: Partial<FixChoice>) =>
    withGiven(account, flagsOf({ ...safeFix, ...choice })).map((step, _, all) => accountCells(step, all)[3]);

  test.each([
    [{ half: "fp16", nhwc: true }, "--fix --unsafe-fixes"],
    [{ half: "fp16", halfOnlyWhereFaster: false, nhwc: true }, "--fix --precision fp16 --unsafe-fixes"],
    [
      { half: "bf16", halfOnlyWhereFaster: false, nhwc: true, nhwcOnlyWhereFaster: false },
      "--fix --precision bf16 --layout nhwc",
    ],
  ] as const)("are taken by the command that was given: %o", (choice, given) => {
    const account = [exported, inHalf, safe, layout];
    expect(ways(account, choice)).toEqual(["", given, "--fix", given]);
    const needy = [exported, inHalf, { ...safe, needsHalf: true } as const, layout];
    expect(ways(needy, choice)[2]).toBe(`${given}, not sure as stored`);
  });

  test("of a file that keeps its types are too, also where they cost", () => {
    const asIs = { precision: "as-is" } as const;
    const account = [exported, { ...safe, ...asIs }, { ...layout, ...asIs, saves: costs }];
    const given = "--fix --layout nhwc";
    expect(ways(account, { nhwc: true, nhwcOnlyWhereFaster: false })).toEqual([
      "",
      `${given}, as stored`,
      given,
    ]);
  });

  test("that --fix alone does not take name no command, and where Casts are told", () => {
    const left = { ...inHalf, castsIn: "--diff --precision fp16" };
    expect(ways([exported, left, safe], {})).toEqual([
      "",
      "without Casts: --diff --precision fp16 has them",
      "--fix",
    ]);
  });
});

test("a finding of a layout that its command writes in FP32 has that file's times, as its row does", () => {
  const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
  const written = { microseconds: 4, low: 1, high: 6, after: 20 };
  const layout: AccountStep = { ...times, step: "layout", saves: times, precision: "fp16", written };
  const account = [exported, layout];
  expect(storedEnd({ step: "layout" }, account)).toBe(" (as stored 24 µs → 20 µs)");
  expect(accountCells(layout, account)[3]).toMatch(/; as stored 24 µs → 20 µs$/);
  expect(storedEnd({ step: "safe" }, account)).toBe("");
});

test.each([
  ["it costs as stored", { microseconds: -4, low: -9, high: 1, after: 24 }, "; as stored 20 µs → 24 µs"],
  [
    "it saves as much as stored",
    { microseconds: 9, low: 8, high: 12, after: 20 },
    "; as stored 29 µs → 20 µs",
  ],
  ["it reads the same as stored", { ...times, after: times.microseconds }, ""],
] as const)(
  "a layout that is told in TF32 says of the file as stored unless that reads the same: %s",
  (_, written, said) => {
    const exported: AccountStep = { ...times, step: "exported", saves: null, precision: "as-is" };
    const command = "--fix --unsafe-fixes";
    const layout: AccountStep = {
      ...times,
      step: "layout",
      saves: times,
      precision: "tf32",
      written,
      command,
    };
    const account = [
      exported,
      { ...exported, step: "precision", precision: "tf32", saves: times },
      layout,
    ] as const;
    expect(accountCells(layout, account)[3]).toBe(`${command}${said}`);
    expect(storedEnd({ step: "layout" }, account)).toBe(said === "" ? "" : ` (${said.slice(2)})`);
    // TF32 is a setting of the stack: after all is the file with it.
    const predicted = {
      ...times,
      precision: "fp16",
      tensorCoreShare: 1,
      families: {},
      basis: "kernels",
    } as const;
    expect(standingOf({ account, predicted, nodes: 1 })).toMatchObject({ afterAll: 10 });
  },
);

test("what an author saves of a file that nobody is told to store in half has that of the file as it is", () => {
  const author: AccountStep = { ...times, step: "author", saves: times, precision: "fp16", restsOn: "fp16" };
  const wayOf = (step: AccountStep) => accountCells(step, [step])[3];
  const written = { microseconds: 4, low: 1, high: 6, after: 20 };
  expect(wayOf({ ...author, written })).toBe("if in FP16; as stored 24 µs → 20 µs");
  expect(wayOf(author)).toBe("in the network or its export, if in FP16");
  const saves = { microseconds: 10, low: 5, high: 12, share: 0.1, of: 20 };
  const stored = { microseconds: 4, low: 1, high: 6 };
  expect(savedText(saves)).toBe("10 µs (10 %)");
  expect(savedText({ ...saves, asStored: stored })).toBe("10 µs (10 %; as stored 4 µs)");
  expect(savedText({ ...saves, asStored: { microseconds: 0, low: 0, high: 0 } })).toBe(
    "10 µs (10 %; nothing as stored)",
  );
});
