/** Reports for code quality tools: held to their schemas, to the other formats, and to names that try to break out of them. */
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LintReport } from "../../src/lint/result.ts";
import { renderAgent } from "../../src/report/agent.ts";
import { renderCheckstyle } from "../../src/report/checkstyle.ts";
import { renderGithub } from "../../src/report/github.ts";
import { renderGitlab } from "../../src/report/gitlab.ts";
import { renderJunit } from "../../src/report/junit.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import { renderRdjson } from "../../src/report/rdjson.ts";
import { renderSarif } from "../../src/report/sarif.ts";
import { errorsOnly, reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { finding, hostile, modelReport, models, options } from "./sample.ts";
import { readXml, xmllintOf } from "./xml-reader.ts";

const require = createRequire(import.meta.url);
const ajv = addFormats.default(new Ajv({ strict: true }));
const isGitlab = ajv.compile(require("./schemas/gitlab.schema.json"));
const isRdjson = ajv.compile(require("./schemas/rdjson.schema.json"));
const schemaOf = (name: string) => path.join(import.meta.dirname, "schemas", name);
const xmllint = {
  junit: xmllintOf(schemaOf("junit.xsd")),
  checkstyle: xmllintOf(schemaOf("checkstyle.xsd")),
};
if (xmllint.junit === undefined)
  console.warn("skipped: there is no xmllint (libxml2-utils), which holds JUnit and checkstyle to a schema");

const report = reportOf(models, "0.0.0-test");
const empty = reportOf([], "0.0.0-test");
const clean = reportOf([modelReport({ path: "models/clean.onnx" })], "0.0.0-test");

interface Issue {
  readonly description: string;
  readonly check_name: string;
  readonly fingerprint: string;
  readonly severity: string;
  readonly location: { readonly path: string; readonly lines: { readonly begin: number } };
}

const issuesOf = (from: LintReport): Issue[] => JSON.parse(renderGitlab(from, options));
const samples = [
  ["all there is", report],
  ["nothing", empty],
  ["a clean model", clean],
  ["errors only", errorsOnly(report)],
] as const;

describe("GitLab", () => {
  test.each(samples)("keeps to its schema: %s", (_, from) => {
    isGitlab(issuesOf(from));
    expect(isGitlab.errors).toBeNull();
  });

  test("is what it was", () =>
    expect(renderGitlab(report, options)).toMatchFileSnapshot("__snapshots__/sample.gitlab.json"));

  test("the schema notices what is missing, unknown or wrong", () => {
    const [first] = issuesOf(report);
    const { fingerprint: _, ...unknown } = first ?? {};
    const wrong = { ...first, severity: "error" };
    for (const each of [unknown, wrong, { ...first, extra: 1 }]) expect(isGitlab([each])).toBe(false);
  });

  test("a finding that copies of a model share is one issue each, known by the same set from run to run", () => {
    const copies = (...paths: string[]) =>
      reportOf(
        paths.map((each) => modelReport({ path: each, findings: [finding()] })),
        "0.0.0-test",
      );
    const known = (...paths: string[]) => issuesOf(copies(...paths)).map(({ fingerprint }) => fingerprint);
    const { fingerprint } = finding();
    expect(known("a.onnx")).toEqual([fingerprint]);
    expect(known("moved/a.onnx")).toEqual([fingerprint]);
    expect(known("b.onnx", "a.onnx", "c.onnx")).toEqual([
      fingerprint,
      `${fingerprint}-2`,
      `${fingerprint}-3`,
    ]);
    const broken = ["a.onnx", "b.onnx"].map((each) =>
      modelReport({ path: each, error: { code: "truncated", message: `${each}: ends early` } }),
    );
    expect(new Set(issuesOf(reportOf(broken, "1")).map((issue) => issue.fingerprint)).size).toBe(2);
  });
});

describe("rdjson", () => {
  test.each(samples)("keeps to its schema: %s", (_, from) => {
    isRdjson(JSON.parse(renderRdjson(from, options)));
    expect(isRdjson.errors).toBeNull();
  });

  test("is what it was", () =>
    expect(renderRdjson(report, options)).toMatchFileSnapshot("__snapshots__/sample.rdjson.json"));

  test("the schema notices what is unknown or wrong", () => {
    const log = JSON.parse(renderRdjson(report, options));
    expect(isRdjson({ ...log, extra: 1 })).toBe(false);
    expect(isRdjson({ ...log, diagnostics: [{ ...log.diagnostics[0], severity: "FATAL" }] })).toBe(false);
  });
});

describe.each([
  ["junit", renderJunit],
  ["checkstyle", renderCheckstyle],
] as const)("%s", (name, render) => {
  test.each(samples)("is well-formed, and keeps to its schema where there is xmllint: %s", (_, from) => {
    const xml = render(from, options);
    readXml(xml);
    if (xmllint[name] !== undefined) expect(xmllint[name](xml)).toBe("");
  });

  test("is what it was", () =>
    expect(render(report, options)).toMatchFileSnapshot(`__snapshots__/sample.${name}.xml`));

  test.skipIf(xmllint[name] === undefined)("the schema notices what is missing or unknown", () => {
    const xml = render(report, options);
    for (const broken of [xml.replace(/ (line)="\d+"/, ' $1="0"'), xml.replace(" name=", " title=")])
      expect(xmllint[name]?.(broken)).toContain("fails to validate");
  });
});

test("JUnit counts what it lists; what is for information passes, what failed is an error", () => {
  const root = readXml(renderJunit(report, options));
  expect(root.attributes).toEqual({ name: "tc-lint", tests: "4", failures: "2", errors: "1" });
  const cases = root.children.flatMap(({ children }) => children);
  expect(
    cases.map(({ children }) => children.map(({ name, attributes }) => [name, attributes["type"]])),
  ).toEqual([
    [["failure", "error"]],
    [["failure", "warning"]],
    [["system-out", undefined]],
    [["error", "truncated"]],
  ]);
  const [suite] = readXml(renderJunit(clean, options)).children;
  expect(suite?.attributes).toMatchObject({ name: "models/clean.onnx", tests: "1", failures: "0" });
});

test("findings of one rule are one case of JUnit, which lists them all", () => {
  const findings = ["a", "b", "c"].map((node) => finding({ node, fingerprint: node }));
  const many = reportOf([modelReport({ findings })], "1");
  const [failure] = readXml(renderJunit(many, options)).children[0]?.children[0]?.children ?? [];
  expect(failure?.attributes["message"]).toMatch(
    /^a \(MatMul\): .* And 2 more findings; together they save [\d.]+ ms \(\d+ %\)\. Fix: --fix\.$/,
  );
  expect(failure?.text.split("\n").map((line) => line.slice(0, 26))).toEqual(
    ["a", "b", "c"].map((node) => `models/gpt.onnx:1: ${node} (MatM`),
  );
});

test("every format says the same of the same findings, at the same place", () => {
  const { results } = JSON.parse(renderSarif(report, options)).runs[0];
  const unquoted = (text: string) => text.replaceAll(/\\([\\[\]])/g, "$1");
  const said = results.map(({ message }: { message: { text: string } }) => unquoted(message.text)).sort();
  const issues = issuesOf(report).filter(({ severity }) => severity !== "blocker");
  const log = JSON.parse(renderRdjson(report, options));
  const inRdjson = log.diagnostics.map(({ message }: { message: string }) => message);
  const errors = readXml(renderCheckstyle(report, options)).children.flatMap(({ attributes, children }) =>
    children.map((error): Record<string, unknown> => ({ ...error.attributes, file: attributes["name"] })),
  );
  const failure = "models/broken.onnx: ends at byte 60, but bytes 0 to 129 are needed";
  expect(issues.map(({ description }) => description).sort()).toEqual(said);
  expect(inRdjson.sort()).toEqual([...said, failure].sort());
  expect(errors.map((each) => each["message"]).sort()).toEqual([...said, failure].sort());
  const fingerprints = results.map((each: { partialFingerprints: Record<string, string> }) =>
    String(each.partialFingerprints["tcLint/v1"]),
  );
  expect(issues.map(({ fingerprint }) => fingerprint).sort()).toEqual(fingerprints.sort());
  // Where the exporter left a line of Python that is in the repository, it is the place, as in annotations.
  expect(renderGithub(report, options)).toContain("file=models/gpt.py,line=697");
  expect(issues.map(({ location }) => `${location.path}:${location.lines.begin}`)).toContain(
    "models/gpt.py:697",
  );
  expect(errors).toContainEqual(expect.objectContaining({ file: "models/gpt.py", line: "697" }));
  expect(log.diagnostics).toContainEqual(
    expect.objectContaining({ location: { path: "models/gpt.py", range: { start: { line: 697 } } } }),
  );
});

test("a budget that is exceeded is in every format what fails the run, and one that is not is in none", () => {
  const target = { gpu: "l4", stack: "ort-cuda", precision: "fp16" } as const;
  const held = (predicted: number, verdict: "exceeded" | "may-exceed" | "kept") =>
    ({ budget: "maxMicroseconds", target, limit: 500, predicted, low: 540, high: 690, verdict }) as const;
  const share = { ...held(0.1, "exceeded"), budget: "minTensorCoreShare", limit: 0.5 } as const;
  const budgets = [held(612, "exceeded"), share, held(9999, "may-exceed"), held(8888, "kept")];
  const parts = { path: "a.onnx", budgets };
  const scenarios = [
    modelReport({ path: "a.onnx", scenario: "h200" }),
    modelReport({ ...parts, scenario: "l4" }),
  ];
  for (const each of [reportOf([modelReport(parts)], "1"), reportOf(scenarios, "1")]) {
    const root = readXml(renderJunit(each, options));
    expect(root.attributes).toMatchObject({ tests: "2", failures: "2", errors: "0" });
    expect(root.children[0]?.children.map(({ attributes }) => attributes["name"])).toEqual([
      "budget maxMicroseconds/l4/ort-cuda/fp16",
      "budget minTensorCoreShare/l4/ort-cuda/fp16",
    ]);
    expect(issuesOf(each).map(({ severity }) => severity)).toEqual(["major", "major"]);
    const [run] = JSON.parse(renderSarif(each, options)).runs;
    expect(
      run.results.map((result: { ruleId: string; ruleIndex: number; level: string }) => [
        run.tool.driver.rules[result.ruleIndex].id,
        result.level,
      ]),
    ).toEqual([
      ["budget", "error"],
      ["budget", "error"],
    ]);
    for (const render of [
      renderJunit,
      renderGitlab,
      renderRdjson,
      renderCheckstyle,
      renderSarif,
      renderGithub,
    ]) {
      const text = render(each, options);
      expect(text).toContain("budget on l4 (ort-cuda, fp16): at most 500 µs; predicted 612 µs");
      expect(text).not.toMatch(/may exceed|8.9 ms|kept/);
    }
    expect(each.summary).toMatchObject({ errors: 0, budgetsExceeded: 2 });
    for (const render of [renderText, renderAgent, renderMarkdown])
      expect(render(each, options)).toMatch(/2 budgets(?:\*\*)? exceeded/);
    isGitlab(issuesOf(each));
    isRdjson(JSON.parse(renderRdjson(each, options)));
    expect([isGitlab.errors, isRdjson.errors]).toEqual([null, null]);
    for (const [name, render] of [
      ["junit", renderJunit],
      ["checkstyle", renderCheckstyle],
    ] as const)
      if (xmllint[name] !== undefined) expect(xmllint[name](render(each, options))).toBe("");
  }
});

test("a finding of several scenarios is there once", () => {
  const scenarios = ["l4", "h200"].map((scenario) => modelReport({ scenario, findings: [finding()] }));
  const several = reportOf(scenarios, "1");
  expect(issuesOf(several)).toHaveLength(1);
  expect(issuesOf(several)[0]?.description).toContain("found in all 2 scenarios");
  expect(readXml(renderJunit(several, options)).children).toHaveLength(1);
});

/** Control characters, ends of CDATA, quotes, line ends, halves of characters, what XML cannot say, marks of direction. */
const nasty = fc.oneof(
  fc.constantFrom(
    "]]>",
    "<!--",
    "-->",
    "&amp;",
    "&#0;",
    '"',
    "'",
    "\r\n",
    "\t",
    "\u0000",
    "\u001b[31m",
    "\ud800",
  ),
  fc.constantFrom(
    "\udc00x",
    "\ufffe",
    "\uffff",
    "\u202e",
    "\u2028",
    "\u0085",
    "\ufeff",
    "::error::",
    "%0A",
    hostile,
  ),
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
);
const name = fc.array(nasty, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("") || "m");

test("whatever a model, a path or a rule is called, each format can be read, and says it", () => {
  const parts = fc.record({ node: name, op: name, message: name, model: name, file: name, module: name });
  fc.assert(
    fc.property(parts, ({ node, op, message, model, file, module }) => {
      const source = { file, line: 0 };
      const findings = [finding({ node, op, message, module, source }), finding({ node, fingerprint: "f" })];
      const error = { code: "truncated", message };
      const from = reportOf([modelReport({ path: model, findings, error })], "1");
      // Paths go as they are: relative to the repository, whatever is in them.
      const given = { ...options, localPath: (each: string) => each };
      const issues: Issue[] = JSON.parse(renderGitlab(from, given));
      const plain = model.replaceAll(/\p{Cs}/gu, "\ufffd");
      expect(issues.map(({ location }) => location.path)).toContain(plain);
      isRdjson(JSON.parse(renderRdjson(from, given)));
      expect(isRdjson.errors).toBeNull();
      for (const json of [renderGitlab(from, given), renderRdjson(from, given)]) {
        expect(json).not.toMatch(/\p{Cf}/u);
        JSON.parse(json, (_, value) => expect(String(value)).not.toMatch(/\p{Cs}/u));
      }
      const [suite] = readXml(renderJunit(from, given)).children;
      const shown = plain.replaceAll(/[\ufffe\uffff]|(?![\t\n\r\u0085])\p{Cc}/gu, (each) => {
        return `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
      });
      expect(suite?.attributes["name"]).toBe(shown);
      const files = readXml(renderCheckstyle(from, given)).children.map(
        ({ attributes }) => attributes["name"],
      );
      expect(files).toContain(shown);
      for (const xml of [renderJunit(from, given), renderCheckstyle(from, given)])
        expect(xml).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/u);
    }),
    { numRuns: 500 },
  );
});

test.skipIf(xmllint.junit === undefined)("libxml2 reads such names too", () => {
  const given = { ...options, localPath: (each: string) => each };
  fc.assert(
    fc.property(fc.array(fc.tuple(name, name), { minLength: 20, maxLength: 40 }), (pairs) => {
      const paths = [...new Map(pairs.map(([model, node]) => [model, node]))];
      const from = reportOf(
        paths.map(([model, node]) =>
          modelReport({ path: model, findings: [finding({ node, message: node, module: node })] }),
        ),
        "1",
      );
      expect(xmllint.junit?.(renderJunit(from, given))).toBe("");
      expect(xmllint.checkstyle?.(renderCheckstyle(from, given))).toBe("");
    }),
    { numRuns: 10 },
  );
});
