/** @file The driver without a GPU (fake-cuda.c), built with the machine's C compiler. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));

/** A folder with libcuda.so.1 and, in kernels/, a family "fake" whose entries are those of fake-cuda.c. */
export interface FakeCuda {
  readonly folder: string;
  readonly library: string;
  readonly kernels: URL;
}

/** Undefined, said aloud, where there is no C compiler. */
export function buildFakeCuda(): FakeCuda | undefined {
  const out = path.join(here, "..", "..", "out");
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(path.join(out, "fake-cuda-"));
  const library = path.join(folder, "libcuda.so.1");
  const source = path.join(here, "fake-cuda.c");
  const built = spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source], { encoding: "utf8" });
  if (built.error !== undefined) {
    console.warn(`skipped: the fake CUDA driver needs a C compiler (${built.error.message})`);
    return undefined;
  }
  if (built.status !== 0) throw new Error(`fake-cuda.c does not compile:\n${built.stderr}`);
  const kernels = path.join(folder, "kernels");
  mkdirSync(kernels);
  writeFileSync(path.join(kernels, "fake.fatbin"), "FAKE fatbin");
  const facts = { registers: 8, sharedBytes: 0, spillBytes: 0, tensor: null };
  writeFileSync(path.join(kernels, "fake.json"), JSON.stringify({ "90a": { fake_add: facts } }));
  return { folder, library, kernels: pathToFileURL(`${kernels}/`) };
}
