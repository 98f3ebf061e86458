/** Reports of several scenarios in every format, and the table that closes a report of several models. */
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { duration, percent } from "../../src/ir/format.ts";
import type { AccountStep, ModelReport } from "../../src/lint/result.ts";
import { renderCsv } from "../../src/report/csv.ts";
import { renderGithub } from "../../src/report/github.ts";
import { renderJson } from "../../src/report/json.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import { renderSarif } from "../../src/report/sarif.ts";
import { bestStepText, standingOf } from "../../src/report/standing.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { finding, hostile, modelReport, options, models as samples } from "./sample.ts";

const require = createRequire(import.meta.url);

/** Steps by where each leaves the model. */
function accountOf(...steps: readonly (readonly [AccountStep["step"], number])[]): AccountStep[] {
  return steps.map(([step, microseconds], index) => {
    const saved = (steps[index - 1]?.[1] ?? 0) - microseconds;
    const saves = index === 0 ? null : { microseconds: saved, low: saved / 2, high: saved * 2 };
    return { step, microseconds, low: 0, high: 0, saves, precision: step === "exported" ? "as-is" : "fp16" };
  });
}

const account = accountOf(["exported", 400], ["precision", 200], ["safe", 150], ["author", 80]);

describe("where a model stands", () => {
  const of = (steps: readonly AccountStep[]) => modelReport({ account: steps });

  test("is its account's, never computed anew", () => {
    expect(standingOf(of(account))).toEqual({
      now: 200,
      stored: 400,
      afterFix: 150,
      afterAll: 80,
    });
    expect(standingOf(of(accountOf(["exported", 400])))).toEqual({
      now: 400,
      stored: 400,
      afterFix: 400,
      afterAll: 400,
    });
    expect(standingOf(of(accountOf(["exported", 400], ["author", 300])))).toEqual({
      now: 400,
      stored: 400,
      afterFix: 400,
      afterAll: 300,
    });
    expect(standingOf(modelReport({ nodes: 0 }))).toBeUndefined();
  });

  test("has a step that saves most; of one that is counted in already it is said", () => {
    expect(bestStepText(of(account))).toBe("in FP16 200 µs, 50 % (counted in predicted)");
    expect(bestStepText(of(account.filter(({ step }) => step !== "precision")))).toBe(
      "by its author 70 µs, 18 %",
    );
    expect(bestStepText(of(accountOf(["exported", 400], ["precision", 100], ["kept", 120])))).toBe(
      "in FP16 300 µs, 75 % (counted in predicted)",
    );
    expect(bestStepText(of(accountOf(["exported", 400], ["precision", 390], ["kept", 300])))).toBe(
      "in FP16 10 µs, 2.5 % (counted in predicted)",
    );
    expect(bestStepText(of(accountOf(["exported", 400])))).toBe("");
  });

  test("has safe fixes by their precision where --fix alone makes something else of the file", () => {
    const steps = accountOf(["exported", 400], ["precision", 390], ["safe", 300]);
    const stepWith = (said: Partial<AccountStep>) =>
      bestStepText(of(steps.map((step) => (step.step === "safe" ? { ...step, ...said } : step))));
    const written = { microseconds: 30, low: 10, high: 50, after: 370 };
    expect(stepWith({ command: "--fix" })).toBe("safe fixes 90 µs, 23 %");
    expect(stepWith({ command: "--fix --precision fp16", needsHalf: true })).toBe(
      "safe fixes in FP16 90 µs, 23 %",
    );
    expect(stepWith({ command: "--fix", written })).toBe("safe fixes in FP16 90 µs, 23 %");
    expect(stepWith({ command: "--fix", written: { ...written, microseconds: 90, after: 300 } })).toBe(
      "safe fixes 90 µs, 23 %",
    );
  });

  test("has what may save much more than all that is sure beside it", () => {
    const unsure = (to: number) =>
      accountOf(["exported", 400], ["precision", to], ["author", to - 20]).map((step) =>
        step.step === "precision" ? { ...step, unsure: true as const } : step,
      );
    expect(bestStepText(of(unsure(100)))).toBe(
      "by its author 20 µs, 20 %; in FP16 may save 300 µs, 75 % (counted in predicted)",
    );
    expect(bestStepText(of(unsure(370)))).toBe("by its author 20 µs, 5.4 %");
  });
});

const scenario = (
  name: string,
  gpu: string,
  batch: number,
  parts: Partial<ModelReport> = {},
): ModelReport => ({
  ...modelReport({ account, assumed: [], ...parts }),
  scenario: name,
  samples: batch,
  target: { gpu, stack: "cudnn", precision: "fp16" },
  symbols: { batch, seq: 128 },
});

const shared = finding({ severity: "warn" });
const both: readonly ModelReport[] = [
  scenario("l4, batch=1", "l4", 1, { findings: [shared] }),
  scenario("l4, batch=8", "l4", 8, {
    findings: [finding(), finding({ code: "TC101", node: "other", fingerprint: "f".repeat(32) })],
    layers: samples[0]?.layers?.slice(0, 1) ?? [],
  }),
  {
    ...modelReport({ nodes: 0, error: { code: "bad-size", message: "8 is too much" } }),
    scenario: "h200, batch=1",
  },
];
const report = reportOf(both, "0.0.0-test");

describe("several scenarios", () => {
  test("as text", () => {
    const plain = both.map(({ layers: _, ...model }) => model);
    expect(renderText(reportOf(plain, "0.0.0-test"), options)).toMatchSnapshot();
  });

  test("as Markdown", () => {
    expect(renderMarkdown(report, options)).toMatchSnapshot();
  });

  test("as JSON, an entry each", () => {
    const schema = require("../../schemas/report.schema.json");
    const validate = new Ajv({ strict: true, strictTypes: false, allowUnionTypes: true }).compile(schema);
    validate(JSON.parse(renderJson(report)));
    expect(validate.errors).toBeNull();
  });

  test("as CSV, in a column that is there for them", () => {
    expect(renderCsv(report).split("\r\n")[1]).toMatch(/^models\/gpt\.onnx,"l4, batch=8",graph,/);
    expect(renderCsv(reportOf(samples, "1"))).toMatch(/^model,graph,/);
  });

  test("say in each row what it rests on, where that differs", () => {
    const onDatasheet = modelReport({ account }).predicted;
    const mixed = [
      scenario("a100", "a100", 1, {
        predicted: { ...onDatasheet, basis: "datasheet" },
        layers: samples[0]?.layers ?? [],
      }),
      scenario("h200", "h200", 1, {
        predicted: { ...onDatasheet, basis: "kernels" },
        layers: samples[0]?.layers ?? [],
      }),
    ];
    const of = (models: readonly ModelReport[]) => reportOf(models, "0.0.0-test");
    const plain = of(mixed.map(({ layers: _, ...model }) => model));
    for (const text of [renderText(plain, options), renderMarkdown(plain, options)]) {
      expect(text).toMatch(/a100\W+datasheet/);
      expect(text).toMatch(/h200\W+fitted/);
      expect(text).toContain("figures of different bases are no ranking");
    }
    expect(renderCsv(of(mixed))).toMatch(/^model,scenario,basis,graph,.*\r\n[^,]*,a100,datasheet,/);
    const alike = mixed.map((model) => ({ ...model, predicted: onDatasheet }));
    for (const text of [
      renderText(of(alike), options),
      renderMarkdown(of(alike), options),
      renderCsv(of(alike)),
    ])
      expect(text).not.toContain("basis");
  });

  test("say of any two bases that they are no ranking, and each word of the column once", () => {
    const bases = ["measured", "kernels", "planned", "scaled", "datasheet"] as const;
    const of = (...asked: readonly (typeof bases)[number][]) => {
      const rows = asked.map((basis) =>
        scenario(basis, "h200", 1, { predicted: { ...modelReport({ account }).predicted, basis } }),
      );
      return renderMarkdown(reportOf(rows, "0.0.0-test"), options);
    };
    for (const first of bases)
      for (const second of bases) {
        const isFitted = [first, second].every((basis) => basis === "measured" || basis === "kernels");
        const isAlike = first === second || isFitted;
        expect(of(first, second).includes("no ranking"), `${first}, ${second}`).toBe(!isAlike);
      }
    expect(of(...bases).match(/fitted: /g)).toHaveLength(1);
  });

  test("as SARIF and annotations, a finding once, as it is where it is worst", () => {
    const [run] = JSON.parse(renderSarif(report, options)).runs;
    expect(run.artifacts).toHaveLength(1);
    expect(run.results.map((each: { level: string }) => each.level)).toEqual(["error", "error"]);
    expect(run.results[0].message.text).toContain("(at l4, batch=8; also at l4, batch=1, of 3 scenarios)");
    expect(run.results[1].message.text).toContain("(at l4, batch=8, alone of 3 scenarios)");
    expect(run.invocations[0]).toMatchObject({
      executionSuccessful: false,
      toolExecutionNotifications: [
        { message: { text: "8 is too much (at h200, batch=1, alone of 3 scenarios)" } },
      ],
    });
    const annotations = renderGithub(report, options).trimEnd().split("\n");
    expect(annotations).toHaveLength(3);
  });

  test("may have any name", () => {
    const names = both.map((model) => ({ ...model, scenario: hostile, path: hostile }));
    const text = renderText(reportOf(names, "1"), options);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what must not be there
    expect(text).not.toMatch(/[\u001b\u202e]/);
    expect(text).not.toMatch(/^\s*::/m);
  });
});

describe("the table of several models", () => {
  const many = (count: number, parts: (index: number) => Partial<ModelReport> = () => ({})) =>
    Array.from({ length: count }, (_, index) => modelReport({ path: `m${index}.onnx`, ...parts(index) }));
  const textOf = (models: readonly ModelReport[], verbose = false) =>
    renderText(reportOf(models, "1"), { ...options, verbose });
  const rowsOf = (text: string) =>
    text.split("the worst first\n")[1]?.split("\n\n")[0]?.split("\n").slice(1) ?? [];

  test("is not there for one", () => {
    expect(textOf(many(1))).not.toContain("the worst first");
  });

  test("has what failed first, then errors, then what --fix saves, then what all saves", () => {
    const models = [
      modelReport({ path: "nothing.onnx", account: accountOf(["exported", 100]) }),
      modelReport({ path: "author.onnx", account: accountOf(["exported", 100], ["author", 50]) }),
      modelReport({ path: "fix.onnx", account: accountOf(["exported", 100], ["safe", 90]) }),
      modelReport({ path: "error.onnx", findings: [finding()] }),
      modelReport({ path: "failed.onnx", nodes: 0, error: { code: "truncated", message: "ends" } }),
    ];
    expect(rowsOf(textOf(models)).map((row) => row.trim().split(/ {2,}/))).toEqual([
      ["failed.onnx", "truncated"],
      ["error.onnx", "3.11 ms", "3.11 ms", "3.11 ms", "1", "0", "TC102"],
      ["fix.onnx", "100 µs", "90 µs", "90 µs", "0", "0"],
      ["author.onnx", "100 µs", "100 µs", "50 µs", "0", "0"],
      ["nothing.onnx", "100 µs", "100 µs", "100 µs", "0", "0"],
    ]);
  });

  test("names the worst finding by severity, and counts what was not looked at", () => {
    const findings = [
      finding({ code: "TC401", severity: "info" }),
      finding({ code: "TC201", severity: "warn", fingerprint: "1".repeat(32) }),
    ];
    const skipped = [{ node: "a", op: "X", reason: "unknown operator" }];
    const [row] = rowsOf(textOf([modelReport({ path: "a.onnx", findings, skipped }), ...many(1)]));
    expect(row?.trim().split(/ {2,}/).slice(4)).toEqual(["0", "1", "1", "TC201"]);
  });

  test("has sixty lines at most", () => {
    const rows = rowsOf(textOf(many(75)));
    expect([rows.length, rows.at(-1)?.trim()]).toEqual([61, "15 more lines: -f json has all of them"]);
  });

  test("stands in for all but the twenty worst of ten thousand models with errors", () => {
    const text = textOf(many(10_000, (index) => (index % 2 === 0 ? { findings: [finding()] } : {})));
    expect(text.match(/^m\d+\.onnx$/gm)?.length).toBe(20);
    expect(text.split("\n").length).toBeLessThan(600);
    expect(text).toContain(
      "the 20 worst are shown; 4980 more with errors, and 5000 without, stand in the table alone: --verbose shows what is found in each",
    );
    expect(text).toContain("9940 more lines: -f json has all of them");
  });

  test("stands in for the blocks of models without errors, where there are more than eight", () => {
    const blocksOf = (text: string) => text.match(/^m\d+\.onnx$/gm)?.length ?? 0;
    const oneBad = (index: number) => (index === 3 ? { findings: [finding()] } : { configFiles: ["c.json"] });
    expect(blocksOf(textOf(many(8, oneBad)))).toBe(8);
    const text = textOf(many(9, oneBad));
    expect(blocksOf(text)).toBe(1);
    expect(text).toContain("8 of 9 models have no errors and stand in the table alone: --verbose shows");
    expect(text).toContain("8 of these are priced at assumed sizes\nconfigured by c.json\n");
    expect(blocksOf(textOf(many(9, oneBad), true))).toBe(9);
    expect(blocksOf(textOf(many(9, (index) => ({ ...oneBad(index), layers: [] }))))).toBe(9);
  });
});

test("a note is of the scenarios that have it, and stands alone where all have", () => {
  const notice = (message: string) => ({ code: "memory-bound", message });
  const [everywhere, once] = [notice("weights not present"), notice("waits for memory")];
  const text = renderText(
    reportOf(
      [
        scenario("prompt", "h200", 1, { notices: [everywhere] }),
        scenario("step", "h200", 1, { notices: [everywhere, once] }),
      ],
      "0",
    ),
    options,
  );
  expect(text).toMatch(/note {3}weights not present\n/);
  expect(text).toMatch(/note {3}waits for memory \(step\)\n/);
});

test("a row that is named by a precision holds it, where all else is told of the file as stored", async () => {
  const file = path.join(import.meta.dirname, "../../fixtures/zoo/tcn.onnx");
  const rows = await Promise.all(
    (["fp16", "as-is", "bf16"] as const).map(async (precision) => ({
      ...(await lint(file, { precision })),
      scenario: precision,
    })),
  );
  const cellsOf = (model: ModelReport) => {
    const { half, microseconds: stored } = model.predicted;
    const shown = half ?? model.predicted;
    return [model.target.precision, duration(shown.microseconds), duration(stored), duration(stored)].concat(
      percent(shown.tensorCoreShare),
    );
  };
  expect(rows.map(({ predicted }) => predicted.half?.precision)).toEqual(["fp16", undefined, "bf16"]);
  const markdown = renderMarkdown(reportOf(rows, "0"), options);
  expect(markdown).toContain("| precision | predicted | as stored | after --fix | Tensor Cores |");
  for (const row of rows) expect(markdown).toContain(`\n| ${cellsOf(row).join(" | ")} |`);
  expect(new Set(rows.map((row) => cellsOf(row)[1])).size).toBe(3);
  // Beside other models, too.
  const [half] = rows;
  const text = renderText(
    reportOf(half === undefined ? [] : [half, modelReport({ path: "b.onnx" })], "0"),
    options,
  );
  expect(text).toMatch(
    new RegExp(`tcn.*${rows.slice(0, 1).map((row) => cellsOf(row).slice(1, 4).join(" +"))[0]}`),
  );
});
