/**
 * @file What tc-lint calls of node:crypto, in place of the module in the bundle (scripts/build.mjs).
 *
 * Node reads seventeen modules of its own for it, 4 to 6 of the 200 ms that a small model takes, and a lint without a cache hashes nothing but
 * names (src/ir/fingerprint.ts).
 */
import type * as crypto from "node:crypto";

const late = () => process.getBuiltinModule("node:crypto");

export const createHash: typeof crypto.createHash = (...args) => late().createHash(...args);
export const randomBytes = (size: number): Buffer => late().randomBytes(size);
export const randomUUID: typeof crypto.randomUUID = (...args) => late().randomUUID(...args);
