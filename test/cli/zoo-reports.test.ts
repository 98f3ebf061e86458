import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import AjvDraft04 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import type { LintReport } from "../../src/lint/result.ts";
import { buildCli } from "../cli-process.ts";
import { eachModel, zoo, zooModel, zooNames } from "../zoo.ts";
import { temporaryFolder } from "./models.ts";
import { run } from "./run.ts";

const require = createRequire(import.meta.url);

test("reports of real models keep to their schemas", async () => {
  using cli = buildCli();
  using folder = temporaryFolder();
  const formats = [
    "-f",
    "json=report.json",
    "-f",
    "sarif=report.sarif",
    "-f",
    "markdown=report.md",
    "-f",
    "csv=report.csv",
  ];
  const { exitCode, stdout, stderr } = await run(cli, [zoo, "--table", ...formats], {
    cwd: folder.path,
  });
  expect([exitCode, stdout, stderr]).toEqual([1, "", ""]);
  const read = (name: string) => readFileSync(path.join(folder.path, name), "utf8");

  const report: LintReport = JSON.parse(read("report.json"));
  const ofReport = new Ajv({ allowUnionTypes: true }).compile(require("../../schemas/report.schema.json"));
  ofReport(report);
  expect(ofReport.errors).toBeNull();
  expect(report.models.length).toBe(zooNames.length);
  const fingerprints = report.models.map(({ findings }) => findings.map(({ fingerprint }) => fingerprint));
  for (const each of fingerprints) expect(new Set(each).size).toBe(each.length);

  const log = JSON.parse(read("report.sarif"));
  const ajv = addFormats.default(new AjvDraft04.default({ strict: false, unicodeRegExp: false }));
  const ofSarif = ajv.compile(require("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"));
  ofSarif(log);
  expect(ofSarif.errors).toBeNull();
  expect(log.runs[0].results).toHaveLength(fingerprints.flat().length);

  const layers = report.models.reduce((total, model) => total + (model.layers?.length ?? 0), 0);
  expect(read("report.csv").trimEnd().split("\r\n")).toHaveLength(layers + 1);
  expect(Buffer.byteLength(read("report.md"))).toBeLessThan(1 << 20);
});

eachModel(["bert"])("the layers of %s add up to its predicted time", async (name) => {
  using cli = buildCli();
  using folder = temporaryFolder();
  const { stdout } = await run(cli, [zooModel(name), "--table", "-f", "json"], {
    cwd: folder.path,
  });
  const [model] = (JSON.parse(stdout) as LintReport).models;
  const total = model?.layers?.reduce((sum, { microseconds }) => sum + microseconds, 0);
  expect(total).toBeCloseTo(model?.predicted.microseconds ?? Number.NaN, 6);
  const shares = model?.layers?.reduce((sum, { share }) => sum + share, 0);
  expect(shares).toBeCloseTo(1, 9);
});
