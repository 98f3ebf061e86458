/** @file Writes schemas/config.schema.json from the rules and the settings there are: npm run schemas. */
import { writeFile } from "node:fs/promises";
import { rules } from "../rules/index.ts";
import { configSchema } from "../src/settings/schema.ts";

const path = "schemas/config.schema.json";
await writeFile(path, `${JSON.stringify(configSchema(rules), undefined, 2)}\n`);
console.log(`${path} written`);
