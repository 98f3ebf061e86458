/** @file What the data file of a written model is called. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

/** Longest file name of common file systems. */
export const maxNameBytes = 255;
const dataHashDigits = 16;

/** `<model>.<hash of the content>.data`: of the same length for every content. */
export function dataName(modelName: string, sha256: string): string {
  const suffix = `.${sha256.slice(0, dataHashDigits)}.data`;
  const base = modelName.replace(/\.onnx$/i, "");
  if (Buffer.byteLength(base + suffix) <= maxNameBytes) return base + suffix;
  return createHash("sha256").update(modelName).digest("hex").slice(0, 32) + suffix;
}

/** Whether `dataName` may have made it. */
export function isDataName(modelName: string, name: string): boolean {
  const [hash] = /(?<=\.)[0-9a-f]{16}(?=\.data$)/.exec(name) ?? [];
  return hash !== undefined && dataName(modelName, hash) === name;
}
