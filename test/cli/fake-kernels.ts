/** @file A build of the command line with files in the place of kernels: the fake driver of the tests runs none of them. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type BuiltCli, copyCli } from "../cli-process.ts";

const sources = fileURLToPath(new URL("../../cuda-runtime/kernels", import.meta.url));

export interface FakeKernels {
  readonly cli: BuiltCli;
  /** Of the kernels, a file for each family. */
  readonly folder: string;
}

export function copyCliWithFakeKernels(): FakeKernels {
  const cli = copyCli();
  const folder = path.join(path.dirname(cli.script), "..", "cuda");
  mkdirSync(folder);
  for (const family of readdirSync(sources)) writeFileSync(path.join(folder, `${family}.fatbin`), "FAKE");
  return { cli, folder };
}
