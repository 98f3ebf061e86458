/** @file Writes the schemas that code determines: npm run schemas. */
import { writeFile } from "node:fs/promises";
import { rules } from "../rules/index.ts";
import { configSchema } from "../src/settings/schema.ts";
import { suppressionsSchema } from "../src/settings/suppressions.ts";
import { calibrationSchema } from "./calibration-schema.ts";

const schemas = {
  "schemas/config.schema.json": configSchema(rules),
  "schemas/suppressions.schema.json": suppressionsSchema,
  "schemas/calibration.schema.json": calibrationSchema(),
};

for (const [path, schema] of Object.entries(schemas)) {
  await writeFile(path, `${JSON.stringify(schema, undefined, 2)}\n`);
  console.log(`${path} written`);
}
