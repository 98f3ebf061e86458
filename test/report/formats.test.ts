import { createRequire } from "node:module";
import { Ajv } from "ajv";
import AjvDraft04 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import type { ModelReport } from "../../src/lint/result.ts";
import { renderCsv } from "../../src/report/csv.ts";
import { renderGithub } from "../../src/report/github.ts";
import { jsonPieces, renderJson } from "../../src/report/json.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import { renderSarif } from "../../src/report/sarif.ts";
import { errorsOnly, reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { finding, hostile, modelReport, models, options } from "./sample.ts";

const require = createRequire(import.meta.url);
const report = reportOf(models, "0.0.0-test");
const oneModel = (parts: Partial<ModelReport>) => reportOf([modelReport(parts)], "0.0.0-test");

test("text", () => {
  expect(renderText(report, { ...options, stats: true })).toMatchSnapshot();
});

test("text in colour says the same", () => {
  const colored = renderText(report, { ...options, color: 1 });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escapes that colour is made of
  const plain = colored.replaceAll(/\u001b\[\d+m/g, "");
  expect(colored).not.toBe(plain);
  expect(plain).toBe(renderText(report, options));
});

test("text without findings", () => {
  expect(renderText(oneModel({ path: "clean.onnx" }), options)).toContain("no findings in 1 model\n");
  expect(renderText(reportOf([], "1.0.0"), options)).toBe("no models\n");
});

test("text does not call a model clean whose time may half be saved", () => {
  const of = (microseconds: number, count = 1) =>
    renderText(oneModel({ path: "clean.onnx", uncertain: { count, microseconds } }), options);
  const { microseconds } = oneModel({ path: "clean.onnx" }).models[0]?.predicted ?? { microseconds: 0 };
  expect(microseconds).toBeGreaterThan(0);
  expect(of(microseconds / 2)).toMatch(/no findings in 1 model; \S+ .s of \S+ .s may be saved, or nothing/);
  expect(of(microseconds / 20)).toContain("no findings in 1 model\n");
});

test("text says what may be saved of what it would be saved from, which half leaves less of", () => {
  const report = oneModel({ path: "clean.onnx", uncertain: { count: 2, microseconds: 5000 } });
  const [only] = report.models;
  const exported = { ...only?.account[0], step: "exported", microseconds: 10_000 };
  const models = report.models.map((each) => ({ ...each, account: [exported, ...each.account] }));
  const text = renderText({ ...report, models } as typeof report, options);
  expect(text).toContain("5 ms of 10 ms may be saved, or nothing");
});

test("text has no figure of findings that are predicted to save nothing", () => {
  const of = (microseconds: number) =>
    renderText(oneModel({ path: "cost.onnx", uncertain: { count: 1, microseconds } }), options);
  expect(of(1)).toContain("1 finding may save nothing (predicted 1 µs)");
  expect(of(0)).toContain("1 finding may save nothing");
  expect(of(0)).not.toMatch(/predicted 0 .s|may save 0/);
});

test("text does not call a model clean that --fix speeds up by parts that are no findings", () => {
  const ends = { microseconds: 58.7, low: 40, high: 90, precision: "fp16" } as const;
  const made = { command: "--fix" } as const;
  const account = (low: number, more: Partial<ModelReport["account"][number]>): ModelReport["account"] => [
    { ...ends, step: "exported", microseconds: 87.5, saves: null },
    { ...ends, step: "safe", saves: { microseconds: 28.8, low, high: 60 }, ...more },
  ];
  const said = (low: number, more = {}) => renderText(oneModel({ account: account(low, more) }), options);
  expect(said(2.5, made)).toContain("no findings in 1 model; --fix saves 28.8 µs by what no finding names");
  expect(said(-2.5, made)).toContain("no findings in 1 model\n");
  // No command makes them beside some flags.
  expect(said(2.5)).toContain("no findings in 1 model\n");
  expect(said(2.5, { ...made, needsHalf: true })).toContain("no findings in 1 model\n");
  // What somebody switched off says nothing of it, but what the fix would be of.
  const beside = (off: Partial<ModelReport>) =>
    renderText(oneModel({ account: account(2.5, made), suppressed: 1, ...off }), options);
  expect(beside({})).toContain("--fix saves 28.8 µs by what no finding names; 1 suppressed");
  expect(beside({ suppressedFixable: 1 })).toContain("no findings in 1 model; 1 suppressed");
});

test("a narrow terminal shortens names of nodes", () => {
  const node = `/${"block/".repeat(20)}Conv`;
  const layers = models[0]?.layers?.map((layer) => ({ ...layer, node })) ?? [];
  const widest = (columns: number) =>
    Math.max(
      ...renderText(oneModel({ layers }), { ...options, columns })
        .split("\n")
        .filter((line) => line.includes("…"))
        .map((line) => line.length),
    );
  expect(widest(130)).toBeLessThanOrEqual(130);
  expect(widest(200)).toBeGreaterThan(widest(130));
});

test("JSON in pieces is the same text", () => {
  const odd = modelReport({ path: hostile, producer: 'a\n"\u0000"\n\u2028\u202e', configFiles: ["\u0000"] });
  for (const each of [report, reportOf([], "1"), reportOf([odd], "1"), reportOf([odd, ...models], "1")])
    expect([...jsonPieces(each)].join("")).toBe(renderJson(each));
});

test("Markdown", () => {
  expect(renderMarkdown(report, { ...options, stats: true })).toMatchSnapshot();
});

test("Markdown stays below GitHub's limit and says what is left out", () => {
  const findings = Array.from({ length: 150 }, (_, index) =>
    finding({ node: `${index}`.padStart(200, "x") }),
  );
  const many = reportOf(
    Array.from({ length: 60 }, () => modelReport({ findings })),
    "1.0.0",
  );
  const text = renderMarkdown(many, options);
  expect(Buffer.byteLength(text)).toBeLessThan(1 << 20);
  expect(text).toMatch(/\d+ models are left out/);
});

test("CSV", () => {
  expect(renderCsv(report)).toMatchSnapshot();
  const named = renderCsv(
    oneModel({
      layers: models[0]?.layers?.slice(0, 1).map((layer) => ({ ...layer, node: 'a,"b"\nc' })) ?? [],
    }),
  );
  expect(named).toContain('"a,""b""\\u000ac"');
});

describe("JSON", () => {
  const schema = require("../../schemas/report.schema.json");
  const validate = new Ajv({ strict: true, strictTypes: false, allowUnionTypes: true }).compile(schema);

  test("keeps to its schema", () => {
    validate(JSON.parse(renderJson(report)));
    expect(validate.errors).toBeNull();
    expect(report.summary).toEqual({
      errors: 1,
      warnings: 1,
      infos: 1,
      fixable: 1,
      failedModels: 1,
      budgetsExceeded: 0,
    });
  });

  test("the schema notices what is missing or unknown", () => {
    const broken = JSON.parse(renderJson(report));
    broken.models[0].findings[0].severity = "fatal";
    expect(validate(broken)).toBe(false);
    const { tool: _, ...incomplete } = JSON.parse(renderJson(report));
    expect(validate(incomplete)).toBe(false);
    expect(validate({ ...JSON.parse(renderJson(report)), extra: 1 })).toBe(false);
  });

  test("with --quiet has errors only", () => {
    const quiet = errorsOnly(report);
    expect(quiet.summary).toMatchObject({ errors: 1, warnings: 0, infos: 0, failedModels: 1 });
    validate(JSON.parse(renderJson(quiet)));
    expect(validate.errors).toBeNull();
  });
});

describe("SARIF", () => {
  const schema = require("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json");
  const ajv = addFormats.default(new AjvDraft04.default({ strict: false, unicodeRegExp: false }));
  const validate = ajv.compile(schema);
  const runOf = (from = report, given = options) => JSON.parse(renderSarif(from, given)).runs[0];

  test("has the account of each model and scenario as JSON has it, and none where there is none", () => {
    const step = {
      step: "exported",
      microseconds: 2,
      low: 1,
      high: 3,
      saves: null,
      precision: "fp16",
    } as const;
    const first = modelReport({ path: "a b.onnx", account: [step] });
    const whole = reportOf(
      [first, { ...first, scenario: "l4", account: [{ ...step, microseconds: 4 }] }],
      "0.0.0-test",
    );
    validate(JSON.parse(renderSarif(whole, options)));
    expect(validate.errors).toBeNull();
    const { accounts } = runOf(whole).properties;
    const json = JSON.parse(renderJson(whole));
    expect(accounts.map(({ account }: ModelReport) => account)).toEqual(
      json.models.map(({ account }: ModelReport) => account),
    );
    expect(accounts[1]).toMatchObject({ uri: "a%20b.onnx", scenario: "l4", target: first.target });
    expect(runOf(oneModel({ account: [] })).properties).toBeUndefined();
  });

  test("keeps to the schema of 2.1.0", () => {
    validate(JSON.parse(renderSarif(report, options)));
    expect(validate.errors).toBeNull();
    expect(renderSarif(report, options)).toMatchSnapshot();
  });

  test("the schema notices a broken log", () => {
    expect(validate({ version: "2.1.0", runs: [{}] })).toBe(false);
  });

  test("every result has what GitHub insists on", () => {
    const { results, tool } = runOf();
    expect(results).toHaveLength(3);
    for (const result of results) {
      expect(tool.driver.rules[result.ruleIndex].id).toBe(result.ruleId);
      expect(result.locations[0].physicalLocation).toMatchObject({
        artifactLocation: { uri: "models/gpt.onnx" },
        region: { startLine: 1 },
      });
      expect(result.partialFingerprints.primaryLocationLineHash).toMatch(/^[0-9a-f]{32}:1$/);
    }
    for (const { shortDescription, fullDescription, help } of tool.driver.rules) {
      for (const text of [shortDescription.text, fullDescription.text, help.text]) expect(text).not.toBe("");
      expect(fullDescription.text.length).toBeLessThanOrEqual(1024);
    }
  });

  test("rules and the tool lead to their pages, and a category keeps targets apart", () => {
    const { tool, automationDetails } = runOf();
    expect(tool.driver.informationUri).toBe("https://example.com");
    const uris = tool.driver.rules.map(({ id, helpUri }: { id: string; helpUri?: string }) => [id, helpUri]);
    const documented = new Set(options.docs.map(({ code }) => code));
    expect(uris).toEqual(
      uris.map(([id]: [string]) => [id, documented.has(id) ? `https://example.com/${id}.md` : undefined]),
    );
    expect(automationDetails.id).toBe("tc-lint/h200/cudnn/fp16/");
    const [model] = report.models;
    if (model === undefined) throw new Error("the sample has models");
    const other = { ...model, target: { ...model.target, gpu: "l4" } };
    expect(runOf({ ...report, models: [model, other] }).automationDetails.id).toBe("tc-lint/several/");
  });

  test("a failed model makes the run unsuccessful", () => {
    expect(runOf().invocations[0]).toMatchObject({ executionSuccessful: false });
    expect(runOf(oneModel({})).invocations[0]).toMatchObject({
      executionSuccessful: true,
      toolExecutionNotifications: [],
    });
  });

  test("a large model is named without a region, which GitHub's uploader would hash it for", () => {
    const { results } = runOf(report, { ...options, bytesOf: () => 2 ** 30 });
    expect(results[0].locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: "models/gpt.onnx" },
    });
  });

  test("paths are references", () => {
    const { results } = runOf(oneModel({ path: "my models/a#1?.onnx", findings: [finding()] }));
    expect(results[0].locations[0].physicalLocation.artifactLocation.uri).toBe("my%20models/a%231%3F.onnx");
    const absolute = runOf(oneModel({ path: "/data/a b.onnx", findings: [finding()] }));
    expect(absolute.results[0].locations[0].physicalLocation.artifactLocation.uri).toBe(
      "file:///data/a%20b.onnx",
    );
  });

  test("more results than GitHub takes are cut, the worst kept, and counted", () => {
    const findings = Array.from({ length: 25_010 }, (_, index) =>
      finding({ severity: index === 25_009 ? "error" : "info" }),
    );
    const { results, invocations } = runOf(oneModel({ findings }));
    expect([results.length, results[0].level]).toEqual([25_000, "error"]);
    expect(invocations[0].toolExecutionNotifications[0].message.text).toContain("10 results left out");
  });
});

describe("GitHub annotations", () => {
  test("are one line each, whatever the names hold", () => {
    expect(renderGithub(report, options)).toMatchSnapshot();
    const text = renderGithub(oneModel({ path: hostile, findings: [finding({ node: hostile })] }), options);
    expect(text.trimEnd().split("\n")).toHaveLength(1);
    expect(text).toMatch(/^::error file=x\|y`<b>@all #1%0A%3A%3Aerror%3A%3A"%25/);
    expect(text).toContain('x|y`<b>@all #1\\u000a::error::"%25\\u001b[31m\\u202e');
  });

  test("name the line of Python where it is in the checkout, else the model", () => {
    const lines = renderGithub(report, options).split("\n");
    expect(lines[1]).toContain("file=models/gpt.py,line=697");
    expect(lines[2]).toContain("file=models/gpt.onnx,line=1");
  });

  test("are one a file and rule, ten a level, and the rest counted", () => {
    const rules = Array.from({ length: 14 }, (_, index) => `TC${900 + index}`);
    const findings = rules.flatMap((code, index) => [
      finding({ code, severity: "warn", saves: { microseconds: index, low: 0, high: 0, share: 0, of: 0 } }),
      finding({ code, severity: "warn", saves: { microseconds: 0, low: 0, high: 0, share: 0, of: 0 } }),
    ]);
    const lines = renderGithub(oneModel({ findings }), options).trimEnd().split("\n");
    expect(lines).toHaveLength(11);
    expect(lines[0]).toContain("title=TC913");
    expect(lines[0]).toContain("%0Aand 1 more finding of this rule here");
    expect(lines[10]).toBe("::notice title=tc-lint::4 more; the log and -f json have all of them");
  });
});

test("every format takes a model of a few hundred thousand layers", () => {
  const [layer] = models[0]?.layers ?? [];
  const layers = layer === undefined ? [] : new Array<typeof layer>(300_000).fill(layer);
  const large = oneModel({ layers });
  expect(layers).toHaveLength(300_000);
  expect(renderText(large, options).split("\n").length).toBeGreaterThan(300_000);
  expect(renderCsv(large).split("\r\n").length).toBeGreaterThan(300_000);
  expect(renderMarkdown(large, options)).toContain("The first 200 of them: `tc-lint -f csv` has everything.");
});
