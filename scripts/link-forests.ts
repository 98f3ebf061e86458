/** @file What the build makes of the committed fit: its forests linked in one file, and a module that names where each lies in it. */
import { createHash } from "node:crypto";
import { h200Calibration } from "../src/cost/coefficients/h200-cudnn.ts";
import { linked, type PackedForest } from "../src/cost/forest.ts";
import { linkedBytes } from "../src/files/linked-forests.ts";

/** The module stands where src/cost/coefficients/h200-cudnn.ts does, the file beside the script that has it. */
export function linkedForests(): { name: string; bytes: Uint8Array; module: string } {
  const parts: Uint8Array[] = [];
  let firstByte = 0;
  const place = (forest: PackedForest) => {
    const tables = linked(forest);
    const bytes = linkedBytes(tables);
    const call = `linkedIn(file, ${firstByte}, ${tables.roots.length}, ${tables.nodes.length})`;
    parts.push(bytes);
    firstByte += bytes.length;
    return call;
  };
  const calibration = written(h200Calibration, place);
  const bytes = Buffer.concat(parts);
  const name = `forests-${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}.bin`;
  const module = `import { linkedIn } from "../../files/linked-forests.ts";
const file = new URL(${JSON.stringify(name)}, import.meta.url);
export const h200Calibration = ${calibration};
`;
  return { name, bytes, module };
}

/** As an expression, the nodes of each forest by what `place` calls. */
function written(value: unknown, place: (forest: PackedForest) => string): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]: [string, unknown]) => {
    const text = name === "nodes" && isForest(value) ? place(value) : written(member, place);
    return `${JSON.stringify(name)}: ${text}`;
  });
  return `{ ${members.join(", ")} }`;
}

function isForest(value: object): value is PackedForest {
  return "nodes" in value && "thresholds" in value;
}
