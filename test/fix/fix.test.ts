import { execFileSync, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { type FixRequest, fixModel } from "../../src/fix/fix.ts";
import { proveSame } from "../../src/fix/proof.ts";
import { Patch } from "../../src/ir/patch.ts";
import { openModel } from "../../src/onnx/open.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { align } from "../../src/passes/align/align.ts";
import { fold } from "../../src/passes/fold/fold.ts";
import { half } from "../../src/passes/half/half.ts";
import type { Pass } from "../../src/passes/pass.ts";
import { encodeNumbers, MemoryBytes } from "../../src/passes/tensors.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { info, node } from "../onnx/build.ts";
import {
  contentsOf,
  convolutions,
  oddWidth,
  requestFor,
  settingsFor,
  writeExternal,
  writeInline,
} from "./models.ts";

/** Root writes to any folder but one on a file system that is read-only. */
const canMount = (() => {
  const point = mkdtempSync(path.join(tmpdir(), "tc-lint-mount-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", point]).status === 0;
  if (mounted) execFileSync("umount", [point]);
  else console.warn("skipped: no tmpfs can be mounted here, so no folder can be made read-only for root");
  rmSync(point, { recursive: true });
  return mounted;
})();

let child: Bundle;
let folder: string;

beforeAll(async () => {
  child = await bundle("src/verify/child.ts");
});
afterAll(() => child[Symbol.dispose]());
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-fix-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Compared by ONNX Runtime before it is put in place. */
function verifiedRequest(file: string, precision?: "fp16", parts: Partial<FixRequest> = {}): FixRequest {
  const childUrl = pathToFileURL(child.path);
  const verify: FixRequest["verify"] = (original, candidate) =>
    proveSame({ path: file, original, candidate, half: precision, childUrl });
  return requestFor(file, { verify, promise: "verified with ONNX Runtime", ...parts });
}

/** The widths of the second convolution: its channels, as stored. */
function channelsOf(file: string): number | undefined {
  using model = openModel(file);
  const conv = model.graph.nodes.find(({ name }) => name === "second");
  return conv?.inputs[1]?.initializer?.dims[1];
}

function metadataOf(file: string): string | undefined {
  using model = openModel(file);
  return model.metadata.get("tc-lint.fix");
}

describe.each([
  ["inside", writeInline],
  ["beside it", writeExternal],
])("a model with weights %s", (_, write) => {
  it("is padded, folded, verified and signed", async () => {
    const file = write(folder);
    const outcome = await fixModel(verifiedRequest(file));
    expect(outcome).toMatchObject({ changed: true, written: true, proof: { kind: "verified" } });
    expect(outcome.proof?.summary).toMatch(/^with ONNX Runtime \d+\.\d+\.\d+ on the CPU on \d input sets/);
    expect(outcome.microseconds.after).toBeLessThan(outcome.microseconds.before);
    expect(channelsOf(file)).toBeGreaterThan(oddWidth);
    expect((channelsOf(file) ?? 1) % 8).toBe(0);
    expect(metadataOf(file)).toBe("fold, align; verified with ONNX Runtime");
    using model = openModel(file);
    expect(model.graph.nodes.map(({ opType }) => opType)).not.toContain("BatchNormalization");
    expect(model.graph.inputs.map(({ name }) => name)).toEqual(["x"]);
    expect(outcome.bytes).toBe(readFileSync(file).length);
  });

  it("is fixed once: the second time changes nothing", async () => {
    const file = write(folder);
    await fixModel(requestFor(file));
    const before = contentsOf(folder);
    const again = await fixModel(requestFor(file));
    expect(again).toMatchObject({ changed: false, written: false, proof: null });
    expect(contentsOf(folder)).toEqual(before);
  });

  it("comes out the same in two runs", async () => {
    const [one, two] = ["one", "two"].map((name) => path.join(folder, name));
    for (const each of [one, two]) {
      if (each === undefined) continue;
      mkdirSync(each);
      await fixModel(requestFor(write(each)));
    }
    expect(contentsOf(one ?? "")).toEqual(contentsOf(two ?? ""));
    expect(contentsOf(one ?? "").size).toBeGreaterThan(0);
  });

  it("is left alone by a dry run, which says the same", async () => {
    const file = write(folder);
    const before = contentsOf(folder);
    const dry = await fixModel(requestFor(file, { dryRun: true }));
    expect(contentsOf(folder)).toEqual(before);
    expect(dry).toMatchObject({ changed: true, written: false, proof: null });
    const real = await fixModel(requestFor(file));
    expect(dry.diff).toEqual(real.diff);
    expect(dry.microseconds).toEqual(real.microseconds);
  });

  it("is left as it is when the result goes elsewhere, in its folder or another", async () => {
    const file = write(folder);
    const before = contentsOf(folder);
    const elsewhere = path.join(folder, "out");
    mkdirSync(elsewhere);
    for (const destination of [path.join(folder, "fixed.onnx"), path.join(elsewhere, "fixed.onnx")]) {
      await fixModel(verifiedRequest(file, undefined, { destination }));
      expect(channelsOf(destination)).toBeGreaterThan(oddWidth);
    }
    for (const [name, content] of before) {
      expect(readFileSync(path.join(folder, name)).toString("latin1") === content).toBe(true);
    }
  });

  it("keeps both signatures when other fixes follow, and says what was not proven", async () => {
    const file = write(folder);
    await fixModel(verifiedRequest(file));
    await fixModel(requestFor(file, { settings: settingsFor([fold, align, half]) }));
    expect(metadataOf(file)).toBe("fold, align; verified with ONNX Runtime | half; unverified");
  });

  it("is proven in half precision by another budget, once", async () => {
    const file = write(folder);
    const settings = settingsFor([fold, align, half]);
    const outcome = await fixModel(verifiedRequest(file, "fp16", { settings }));
    expect(outcome.proof?.summary).toMatch(
      /within 8 times what rounding to float16 costs \(the largest error is \S+ % of an output.s largest value\)$/,
    );
    const before = contentsOf(folder);
    expect(await fixModel(requestFor(file, { settings }))).toMatchObject({ changed: false });
    expect(contentsOf(folder)).toEqual(before);
  });
});

/** Writes one weight a round, the scale first: two patches with tensors in two rounds. */
const inTurns: Pass = {
  name: "align",
  safe: true,
  run: ({ model, open }) => {
    const patch = new Patch();
    for (const name of ["scale", "w2"]) {
      const tensor = model.graph.values.get(name)?.initializer;
      if (tensor === undefined) throw new Error(`the test model has ${name}`);
      const wanted = new Uint8Array(open(tensor).size).fill(name === "scale" ? 1 : 2);
      const bytes = new Uint8Array(wanted.length);
      open(tensor).readInto(0, bytes);
      if (Buffer.from(bytes).equals(wanted)) continue;
      const contents = { dtype: "float32", dims: tensor.dims, bytes: new MemoryBytes(wanted) } as const;
      patch.of(model.graph).tensors.set(name, contents);
      return { patch, notes: [{ kind: "changed", node: undefined, message: name }] };
    }
    return { patch, notes: [] };
  },
};

describe("tensors that several rounds write", () => {
  it("are all kept", async () => {
    const file = writeExternal(folder);
    const outcome = await fixModel(requestFor(file, { settings: settingsFor([inTurns]) }));
    expect(outcome.notes.map(({ message }) => message)).toEqual(["scale", "w2"]);
    using model = openModel(file);
    for (const [name, byte] of Object.entries({ scale: 1, w2: 2 })) {
      const tensor = model.graph.values.get(name)?.initializer;
      if (tensor === undefined) throw new Error(`the test model has ${name}`);
      const stored = tensorBytes(model.source, model.files, tensor, encodeNumbers);
      const bytes = new Uint8Array(stored.size);
      stored.readInto(0, bytes);
      expect(new Set(bytes), name).toEqual(new Set([byte]));
    }
  });
});

/** Changes one weight of the last convolution: the result is another function. */
const wrong: Pass = {
  name: "fold",
  safe: true,
  run: ({ model, open }) => {
    const patch = new Patch();
    const tensor = model.graph.values.get("w2")?.initializer;
    if (tensor === undefined) throw new Error("the test model has w2");
    const bytes = new Uint8Array(open(tensor).size);
    open(tensor).readInto(0, bytes);
    const one = encodeNumbers("float32", [100]);
    if (Buffer.from(bytes.subarray(0, one.length)).equals(one)) return { patch, notes: [] };
    bytes.set(one);
    patch.of(model.graph).tensors.set("w2", {
      dtype: "float32",
      dims: tensor.dims,
      bytes: new MemoryBytes(bytes),
    });
    return { patch, notes: [{ kind: "changed", node: undefined, message: "spoiled" }] };
  },
};

describe("nothing is written", () => {
  it("where the result is another function", async () => {
    const file = writeExternal(folder);
    const before = contentsOf(folder);
    const request = verifiedRequest(file, undefined, { settings: settingsFor([wrong]) });
    const { changed, written, notes } = await fixModel(request);
    expect({ changed, written }).toEqual({ changed: false, written: false });
    expect(notes).toMatchObject([
      {
        kind: "failed",
        message: expect.stringMatching(
          /output "y" differs; the first difference is in "y", computed by Conv/,
        ),
      },
    ]);
    expect(contentsOf(folder)).toEqual(before);
  });

  it.each([true, false])(
    "where a node contradicts its inputs, which linting calls broken (dry run: %s)",
    async (dryRun) => {
      const graph = convolutions();
      const broken = { ...graph, input: [info("x", [1, 31, 28, 28])] };
      const file = writeInline(folder, broken);
      await expect(fixModel(requestFor(file, { dryRun }))).rejects.toMatchObject({
        code: "invalid-node",
        message: expect.stringMatching(/"first" \(Conv\).*it is not repaired/),
      });
    },
  );

  // Lint refuses them: one answer, and no copy of nothing.
  it.each([
    ["in place", "node"],
    ["beside it", "node"],
    ["dry run", "node"],
    ["in place", "output"],
    ["dry run", "output"],
  ])("where there is nothing to price (%s: no %s)", async (how, what) => {
    const without = what === "node" ? { node: [], output: [info("x", [1, 32, 28, 28])] } : { output: [] };
    const file = writeInline(folder, { ...convolutions(), ...without });
    const before = contentsOf(folder);
    const options = { "in place": {}, "beside it": {}, "dry run": { dryRun: true } }[how];
    const destination = how === "beside it" ? path.join(folder, "copy.onnx") : file;
    await expect(fixModel(requestFor(file, { ...options, destination }))).rejects.toMatchObject({
      code: `no-${what}s`,
      message: expect.stringContaining(`${file}: the graph has no ${what}`),
    });
    await expect(lint(file)).rejects.toMatchObject({ code: `no-${what}s` });
    expect(contentsOf(folder)).toEqual(before);
  });

  it("where passes never come to rest", async () => {
    const restless: Pass = {
      name: "fold",
      safe: true,
      run: ({ model }) => {
        const patch = new Patch();
        patch.metadata.set("turn", String(Number(model.metadata.get("turn") ?? 0) + 1));
        return { patch, notes: [] };
      },
    };
    const file = writeInline(folder);
    const before = contentsOf(folder);
    await expect(fixModel(requestFor(file, { settings: settingsFor([restless]) }))).rejects.toMatchObject({
      code: "no-fixed-point",
    });
    expect(contentsOf(folder)).toEqual(before);
  });

  it("where weights are missing", async () => {
    const file = writeExternal(folder);
    rmSync(path.join(folder, "model.weights"));
    const before = contentsOf(folder);
    await expect(fixModel(requestFor(file))).rejects.toMatchObject({
      code: "weights-missing",
      message: expect.stringContaining('"model.weights", which is not there'),
    });
    // What would change is a matter of sizes.
    await expect(fixModel(requestFor(file, { dryRun: true }))).resolves.toMatchObject({ written: false });
    expect(contentsOf(folder)).toEqual(before);
  });

  it("through a symbolic link, which is named with what it leads to", async () => {
    const home = path.join(folder, "home");
    mkdirSync(home);
    const file = writeInline(home);
    const link = path.join(folder, "link.onnx");
    symlinkSync(file, link);
    const before = contentsOf(home);
    await expect(fixModel(requestFor(link))).rejects.toMatchObject({
      code: "bad-destination",
      message: expect.stringContaining(`is a symbolic link to ${file}`),
    });
    expect(contentsOf(home)).toEqual(before);
    // Read through it, written elsewhere: that is clear.
    const destination = path.join(folder, "fixed.onnx");
    await fixModel(verifiedRequest(link, undefined, { destination }));
    expect(channelsOf(destination)).toBeGreaterThan(oddWidth);
    expect(contentsOf(home)).toEqual(before);
  });

  it.skipIf(!canMount)("into a folder that is read-only", async () => {
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", folder]);
    try {
      const file = writeInline(folder);
      execFileSync("mount", ["-o", "remount,ro", folder]);
      await expect(fixModel(requestFor(file))).rejects.toMatchObject({ code: "read-only" });
      expect(readdirSync(folder)).toEqual(["model.onnx"]);
      // A dry run needs no place to write.
      expect(await fixModel(requestFor(file, { dryRun: true }))).toMatchObject({ changed: true });
    } finally {
      execFileSync("umount", [folder]);
    }
  });
});

describe("initializers that are inputs too", () => {
  it("may be overridden, so they and what depends on them stay", async () => {
    const graph = convolutions();
    const overridable = [...(graph.input ?? []), { name: "w2", type: weightType() }];
    const file = writeInline(folder, { ...graph, input: overridable });
    const original = readFileSync(file);
    await fixModel(verifiedRequest(file));
    using model = openModel(file);
    const weight = model.graph.values.get("w2");
    expect(weight?.isInput).toBe(true);
    expect(weight?.initializer?.dims).toEqual([32, oddWidth, 3, 3]);
    expect(channelsOf(file)).toBe(oddWidth);
    const { span } = weight?.initializer ?? { span: { offset: 0, length: 0 } };
    const bytes = readFileSync(file).subarray(span.offset, span.offset + span.length);
    expect(span.length).toBeGreaterThan(0);
    expect(original.includes(bytes)).toBe(true);
  });
});

function weightType() {
  const dim = [32, oddWidth, 3, 3].map((dimValue) => ({ dimValue }));
  return { tensorType: { elemType: 1, shape: { dim } } };
}

it("a copy of a model with nothing to fix is that model", async () => {
  const graph = { ...convolutions(), node: [node("Relu", ["x"], ["y"])], initializer: [] };
  const file = writeInline(folder, graph);
  const destination = path.join(folder, "copy.onnx");
  const outcome = await fixModel(requestFor(file, { destination }));
  expect(outcome).toMatchObject({ changed: false, written: true, proof: null });
  expect(readFileSync(destination).equals(readFileSync(file))).toBe(true);
});

it("the model's own path by another name is the model's own path", async () => {
  const graph = { ...convolutions(), node: [node("Relu", ["x"], ["y"])], initializer: [] };
  const file = writeInline(folder, graph);
  const destination = path.join(folder, "..", path.basename(folder), "model.onnx");
  writeFileSync(path.join(folder, "other"), "");
  expect(await fixModel(requestFor(file, { destination }))).toMatchObject({ written: false });
});
