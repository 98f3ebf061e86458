/** @file What tests of --fix share: its JSON report, checked against the schema. */
import { createRequire } from "node:module";
import { Ajv } from "ajv";
import { expect } from "vitest";
import type { FixReport } from "../../src/api/fix-report.ts";
import type { Workbench } from "./workbench.ts";

const require = createRequire(import.meta.url);

export const fixSchema = require("../../schemas/fix-report.schema.json");

export const validate = new Ajv({ strict: true, strictTypes: false, allowUnionTypes: true })
  .addSchema(require("../../schemas/report.schema.json"), "report.schema.json")
  .compile<FixReport>(fixSchema);

/** Whatever pays at all; of the lint report, one rule. */
export const plain = ["--no-color", "--min-saving", "0", "--select", "TC101"];

/** Runs and reads the JSON report, which must keep to its schema. */
export async function fixJson(bench: Workbench, ...args: string[]) {
  const { exitCode, stdout, stderr } = await bench.tcLint([...args, ...plain, "-f", "json"]);
  const report: unknown = JSON.parse(stdout);
  if (!validate(report)) throw new Error(JSON.stringify(validate.errors));
  expect(report.version).toBe(1);
  return { exitCode, stderr, report };
}
