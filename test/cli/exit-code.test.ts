import { expect, test } from "vitest";
import { verdictOf } from "../../src/cli/exit.ts";
import { colorLevel } from "../../src/cli/terminal.ts";
import type { ModelReport } from "../../src/lint/result.ts";

const none = { errors: 0, warnings: 0, infos: 0, fixable: 0, failedModels: 0, budgetsExceeded: 0 };

const rows = [
  ["nothing found", {}, {}, 0],
  ["infos only", { infos: 9 }, { maxWarnings: 0 }, 0],
  ["warnings without a limit", { warnings: 5 }, {}, 0],
  ["warnings at the limit", { warnings: 5 }, { maxWarnings: 5 }, 0],
  ["warnings above the limit", { warnings: 6 }, { maxWarnings: 5 }, 1],
  ["one warning and a limit of none", { warnings: 1 }, { maxWarnings: 0 }, 1],
  ["an error", { errors: 1 }, {}, 1],
  ["an error that may pass", { errors: 1 }, { exitZero: true }, 0],
  ["warnings that may pass", { warnings: 6 }, { maxWarnings: 5, exitZero: true }, 0],
  ["a failed model", { failedModels: 1 }, {}, 2],
  ["a failed model beside an error", { failedModels: 1, errors: 3 }, {}, 2],
  ["a failed model never passes", { failedModels: 1 }, { exitZero: true }, 2],
] as const;

test.each(rows)("%s", (_, counts, policy, expected) => {
  const report = { summary: { ...none, ...counts }, models: [] };
  expect(verdictOf(report, { exitZero: false, ...policy }).exitCode).toBe(expected);
});

test.each([
  [5, 0, 0, 1],
  [-1, 0, 0, 0],
  // What somebody switched off is let through, and what it says nothing of is not.
  [5, 1, 1, 0],
  [5, 1, undefined, 1],
] as const)(
  "a fix that no finding names, saving %i µs at least, %i suppressed, %s of them fixable, ends what fails on fixable with %i",
  (low, suppressed, suppressedFixable, expected) => {
    const saves = { microseconds: 10, low, high: 20 };
    const step = { ...saves, step: "safe", command: "--fix", saves, precision: "fp16" } as const;
    const model = {
      path: "m.onnx",
      groups: [],
      findings: [],
      suppressed,
      suppressedFixable,
      account: [step],
      belowThreshold: { count: 0, microseconds: 0 },
    };
    const report = { summary: none, models: [model as unknown as ModelReport] };
    expect(verdictOf(report, { exitZero: false, failOn: "fixable" }).exitCode).toBe(expected);
    expect(verdictOf(report, { exitZero: false }).exitCode).toBe(0);
  },
);

test("what --fix repairs says in which scenario", () => {
  const entry = (node: string, fix = "safe", severity = "warn") => ({
    group: { code: "TC101", fix, severity, findings: [node] },
    finding: { node, fingerprint: node },
  });
  const reportOf = (path: string, scenario: string, entries: readonly ReturnType<typeof entry>[]) => ({
    path,
    scenario,
    account: [],
    groups: entries.map(({ group }) => group),
    findings: entries.map(({ finding }) => finding),
  });
  const models = [
    reportOf("m.onnx", "prompt", [entry("a"), entry("b")]),
    reportOf("m.onnx", "step", [entry("c", "unsafe")]),
    // Written-out operators are an info, and may be a fifth of the time.
    reportOf("n.onnx", "prompt", [entry("a", "safe", "info")]),
  ] as unknown as ModelReport[];
  const where = "m.onnx: TC101 a; m.onnx: TC101 b; n.onnx: TC101 a";
  const policy = { exitZero: false, failOn: "fixable" } as const;
  expect(verdictOf({ summary: { ...none, fixable: 3 }, models }, policy).why).toBe(
    `3 entries that --fix repairs (3 in scenario "prompt"; --fix takes one), which --fail-on fixable fails: ${where}`,
  );
  const plain = models.map(({ scenario: _, ...model }) => model);
  expect(verdictOf({ summary: { ...none, fixable: 3 }, models: plain }, policy).why).toBe(
    `3 entries that --fix repairs, which --fail-on fixable fails: ${where}`,
  );
  // What --fix takes away of a model's gain is said of those that fail, and is no entry.
  const first = { command: "--fix --precision fp16 --stack inductor", after: 111, afterFix: 129 };
  const losing = plain.map((model) => ({ ...model, account: [{ step: "safe", first }] }));
  const whyOf = (shown: readonly unknown[]) =>
    verdictOf({ summary: { ...none, fixable: 3 }, models: shown as ModelReport[] }, policy).why;
  const notice =
    "take --fix --precision fp16 --stack inductor at once: ends at 111 µs; --fix first, and --unsafe-fixes behind it, at 129 µs";
  expect(whyOf(losing)).toMatch(new RegExp(`: ${where} \\(m\\.onnx: ${notice}\\)$`));
  const other = losing.map((model) => ({ ...model, path: "other.onnx", groups: [], findings: [] }));
  expect(whyOf([...other, ...plain])).toMatch(new RegExp(`: ${where}$`));
  const many = [
    reportOf(
      "m.onnx",
      "",
      Array.from({ length: 9 }, (_, at) => entry(`n${at}`)),
    ),
  ];
  const { why } = verdictOf({ summary: none, models: many as unknown as ModelReport[] }, policy);
  expect(why).toMatch(/: TC101 n3 and 5 more$/);
});

test("more warnings than are allowed say what of them no command clears, and what does", () => {
  const entry = (node: string, more: object = {}) => ({
    group: { code: "TC301", severity: "warn", fixCommand: null, findings: [node], ...more },
    finding: { node, fingerprint: node },
  });
  const whyOf = (...entries: readonly ReturnType<typeof entry>[]) => {
    const groups = entries.map(({ group }) => group);
    const model = { path: "m.onnx", groups, findings: entries.map(({ finding }) => finding) };
    const summary = { ...none, warnings: groups.filter(({ severity }) => severity === "warn").length };
    const models = [model as unknown as ModelReport];
    return verdictOf({ summary, models }, { exitZero: false, maxWarnings: 0 }).why;
  };
  const told = entry("b", { code: "TC201", fixCommand: "--fix --precision fp16" });
  expect(whyOf(told)).toBe("1 warning, more than --max-warnings 0 allows");
  const setting = { option: "prefer_nhwc", stack: "ort-cuda-nhwc" };
  const set = entry("a", { setting });
  expect(whyOf(set, told, entry("c", { code: "TC203" }), entry("d", { severity: "info" }))).toMatch(
    /^3 warnings, more than --max-warnings 0 allows; no command clears 2 of them \(m\.onnx: TC301 a, which prefer_nhwc clears: set it, and lint with --stack ort-cuda-nhwc; m\.onnx: TC203 c\): --suppress-all .*--fail-on fixable/,
  );
  expect(whyOf(...Array.from({ length: 9 }, (_, at) => entry(`n${at}`)))).toMatch(
    /clears 9 of them \(.*n3 and 5 more\)/,
  );
});

test("a run that errors or a budget fails says what would fail it next", () => {
  const target = { gpu: "h200", stack: "cudnn", precision: "fp16" };
  const figures = { limit: 1, predicted: 2, low: 2, high: 2 };
  const budget = { budget: "maxMicroseconds", verdict: "exceeded", target, ...figures };
  const model = { path: "m.onnx", groups: [], findings: [], budgets: [budget] } as unknown as ModelReport;
  const whyOf = (errors: number) => {
    const summary = { ...none, errors, warnings: 2, budgetsExceeded: 1 };
    const verdict = verdictOf({ summary, models: [model] }, { exitZero: false, maxWarnings: 0 });
    expect(verdict.exitCode).toBe(1);
    return verdict.why;
  };
  expect(whyOf(1)).toBe("2 warnings, more than --max-warnings 0 allows");
  expect(whyOf(0)).toMatch(/^m\.onnx: .*exceeded; and 2 warnings, more than --max-warnings 0 allows$/);
});

test("what is fixable names the command that repairs it on the stack that it was found on", () => {
  const group = {
    code: "TC101",
    fix: "safe",
    severity: "error",
    fixCommand: "--fix --stack inductor",
    findings: ["a"],
  };
  const model = { path: "m.onnx", account: [], groups: [group], findings: [{ node: "a", fingerprint: "a" }] };
  const { why } = verdictOf(
    { summary: none, models: [model as unknown as ModelReport] },
    { exitZero: false, failOn: "fixable" },
  );
  expect(why).toBe(
    "1 entry that --fix --stack inductor repairs, which --fail-on fixable fails: m.onnx: TC101 a",
  );
});

const colors = [
  [undefined, {}, true, 1],
  [undefined, {}, false, 0],
  [undefined, { TERM: "dumb" }, true, 0],
  [undefined, { NO_COLOR: "1" }, true, 0],
  [undefined, { NO_COLOR: "" }, true, 1],
  [undefined, { FORCE_COLOR: "1", NO_COLOR: "1" }, false, 1],
  [undefined, { FORCE_COLOR: "0" }, true, 0],
  [true, { FORCE_COLOR: "0", NO_COLOR: "1" }, false, 1],
  [false, { FORCE_COLOR: "1" }, true, 0],
] as const;

test.each(colors)("colour: flag %s, %j, terminal %s", (flag, env, isTerminal, expected) => {
  expect(colorLevel({ flag, env, isTerminal })).toBe(expected);
});
