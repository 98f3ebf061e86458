/** A model that somebody else changes while it is repaired: that is said, whatever it then looks like, and nothing is written. */
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DifferenceError, type FixRequest, fixModel, type Proof } from "../../src/fix/fix.ts";
import { proveSame } from "../../src/fix/proof.ts";
import { InputError } from "../../src/ir/errors.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { WireError } from "../../src/wire/error.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { requestFor, settingsFor, writeExternal } from "./models.ts";

let child: Bundle;
let folder: string;
let model: string;
beforeAll(async () => {
  child = await bundle("src/verify/child.ts");
});
afterAll(() => child[Symbol.dispose]());
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-changed-"));
  model = writeExternal(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const data = () => path.join(folder, "model.weights");
const changes: Readonly<Record<string, readonly [said: RegExp, change: () => void]>> = {
  "is removed": [/model\.onnx: was removed by someone else while/, () => rmSync(model)],
  "is replaced": [
    /model\.onnx: was changed by someone else while/,
    () => {
      copyFileSync(model, `${model}.new`);
      renameSync(`${model}.new`, model);
    },
  ],
  grows: [/model\.onnx: was changed by someone else while/, () => appendFileSync(model, "more")],
  "is cut": [/model\.onnx: was changed by someone else while/, () => truncateSync(model, 100)],
  "becomes no model": [/model\.onnx: was changed/, () => writeFileSync(model, "not a model")],
  "loses its data": [/model\.weights: was removed by someone else while/, () => rmSync(data())],
  "has its data cut": [/model\.weights: was changed by someone else while/, () => truncateSync(data(), 8)],
};

/** Reads nothing that is still there: what a pass, the writer or a comparison then says is about something else. */
const failures: Readonly<Record<string, () => Promise<Proof>>> = {
  "says that it is another function": () => Promise.reject(new DifferenceError(model, "output differs")),
  "says that a file is not there": () => Promise.reject(new WireError("not-found", "x: no such file")),
  "says that it cannot be run": () => Promise.reject(new InputError("cannot-run", "x: cannot be run")),
  "finds nothing": () => Promise.resolve({ kind: "unverified", summary: "in a test" }),
};

async function refused(parts: Partial<FixRequest>, said: RegExp): Promise<void> {
  const before = new Set(readdirSync(folder));
  await expect(fixModel(requestFor(model, parts))).rejects.toMatchObject({
    name: "InputError",
    code: "file-changed",
    message: expect.stringMatching(said),
  });
  for (const name of readdirSync(folder)) expect(before).toContain(name);
}

describe.each(Object.entries(changes))("a model that %s while it is repaired", (_, [said, change]) => {
  it.each(Object.entries(failures))("is what is wrong where the comparison %s", async (_what, fail) => {
    const verify = () => {
      change();
      return fail();
    };
    await refused({ verify }, said);
  });

  it("is what is wrong where passes run", async () => {
    const meddling: Pass = {
      ...fold,
      run: (...args) => {
        if (existsSync(model)) change();
        return fold.run(...args);
      },
    };
    await refused({ settings: settingsFor([meddling, ...settingsFor().passes]) }, said);
  });

  it("is what is wrong where both are run", async () => {
    const childUrl = pathToFileURL(child.path);
    const verify: FixRequest["verify"] = (original, candidate, { permutations }) => {
      change();
      return proveSame({ path: model, original, candidate, permutations, half: undefined, childUrl });
    };
    await refused({ verify }, said);
  });
});

it("a comparison that fails of a model that stays is what it says", async () => {
  const before = readFileSync(model);
  const verify = () => Promise.reject(new InputError("cannot-run", "x: cannot be run"));
  await expect(fixModel(requestFor(model, { verify }))).rejects.toThrow("x: cannot be run");
  expect(readFileSync(model)).toEqual(before);
});
