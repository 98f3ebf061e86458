/** What is decided of a model needs no byte of its weights, wherever they lie: one file has the account, commands and exit code of the same with external data. */
import { execFileSync } from "node:child_process";
import path from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { verdictOf } from "../../src/cli/exit.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { reportOf } from "../../src/report/summary.ts";
import { type Folder, temporaryFolder } from "../cli/models.ts";
import { inlined } from "../inlined.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, isWholeZoo, zoo, zooNames } from "../zoo.ts";

/** All with a weight above 128 KiB that padding changes. */
const names = ["siamese", "seg_unet", "misaligned_cnn", "yolo_w0375", "crnn"];

let folder: Folder;
beforeAll(() => {
  folder = temporaryFolder();
  const here = names.filter((name) => isWholeZoo || zooNames.includes(name));
  execFileSync(process.execPath, [path.join(zoo, "materialize.mjs"), folder.path, ...here]);
  for (const name of here)
    folder.write(`inside/${name}.onnx`, inlined(path.join(folder.path, `${name}.onnx`)));
});
afterAll(() => folder[Symbol.dispose]());

const filesOf = (name: string) =>
  [`${name}.onnx`, `inside/${name}.onnx`].map((file) => path.join(folder.path, file));

async function lintedOf(file: string, stack: StackId) {
  const report = await lint(file, { stack, verbose: true });
  const flags = { failOn: "error", maxWarnings: undefined, exitZero: false } as const;
  return { ...report, path: "", exitCode: verdictOf(reportOf([report], "0"), flags).exitCode };
}

async function differenceOf(file: string, stack: StackId, asked: object) {
  const { account, flags, notes, microseconds, stored } = await fix(file, { stack, dryRun: true, ...asked });
  return { account, flags, notes, microseconds, stored };
}

describe.each(["ort-cuda", "cudnn", "inductor"] as const)("on %s", (stack) => {
  eachModel(names)(
    "%s: lint says the same of it",
    async (name) => {
      const [outside, inside] = await Promise.all(filesOf(name).map((file) => lintedOf(file, stack)));
      expect(inside).toEqual(outside);
    },
    60_000,
  );

  eachModel(names)(
    "%s: and so do --diff and --diff --unsafe-fixes",
    async (name) => {
      for (const asked of [{}, unsafeFixes]) {
        const [outside, inside] = await Promise.all(
          filesOf(name).map((file) => differenceOf(file, stack, asked)),
        );
        expect(inside).toEqual(outside);
      }
    },
    60_000,
  );
});
