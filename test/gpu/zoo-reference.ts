/** @file What ONNX Runtime gives on the CPU, kept on disk: it takes longer than everything else. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import type { OpenModel } from "../../src/onnx/open.ts";
import { patchedInMemory } from "../../src/onnx/patched-in-memory.ts";
import {
  type Allowance,
  budgets,
  type HalfType,
  halfAllowance,
  relativeAllowance,
} from "../../src/verify/budget.ts";
import { compareTensors, type Difference } from "../../src/verify/compare.ts";
import { drawInputs } from "../../src/verify/inputs.ts";
import { readNpz, writeNpz } from "../../src/verify/npz.ts";
import { openSession, type Runnable } from "../../src/verify/ort.ts";
import { roundWeights } from "../../src/verify/rounded.ts";
import { convert, isFloatTensor, type Tensor, type Tensors } from "../../src/verify/tensor.ts";

export interface ReferenceOptions {
  readonly model: OpenModel;
  readonly name: string;
  readonly sizes: ReadonlyMap<string, number>;
  /** Folder for results; undefined to keep none. */
  readonly cache: string | undefined;
  /** What the weights of the model that is compared were rounded to. Default float32. */
  readonly weights?: "float32" | "float16" | undefined;
}

/** One model with one drawn set of inputs. */
export class Reference {
  readonly #options: ReferenceOptions;
  readonly inputs: Tensors;
  readonly weights: "float32" | "float16";

  constructor(options: ReferenceOptions) {
    this.#options = options;
    this.weights = options.weights ?? "float32";
    const draw = { kind: "normal", seed: 1, sizes: options.sizes, isNarrow: false } as const;
    this.inputs = drawInputs(options.model, draw);
  }

  /** Throws InputError where ONNX Runtime does not run the model. */
  expected(): Promise<Tensors> {
    return this.#kept("expected", () => this.#run({ path: this.#options.model.path }, this.inputs));
  }

  /** The model with weights and inputs rounded to half. */
  rounded(dtype: HalfType): Promise<Tensors> {
    const { model } = this.#options;
    return this.#kept(`rounded-${dtype}`, () => {
      const patch = roundWeights(model, dtype);
      const bytes = patchedInMemory(model, patch);
      return this.#run(
        { path: model.path, ...bytes },
        mapFloats(this.inputs, (tensor) => rounded(tensor, dtype)),
      );
    });
  }

  /** The outputs, computed another way, from inputs that differ in the last bit. */
  nudged(): Promise<Tensors> {
    const { model } = this.#options;
    return this.#kept("nudged", () =>
      this.#run({ path: model.path }, mapFloats(this.inputs, nudged), "basic"),
    );
  }

  async #run(model: Runnable, inputs: Tensors, optimization: "all" | "basic" = "all"): Promise<Tensors> {
    await using session = await openSession(model, { optimization, threads: undefined });
    return await session.run(inputs);
  }

  async #kept(kind: string, run: () => Promise<Tensors>): Promise<Tensors> {
    const { cache, name } = this.#options;
    if (cache === undefined) return await run();
    const file = path.join(cache, `${name}-${kind}.npz`);
    if (existsSync(file)) return readNpz(readFileSync(file), file);
    const tensors = await run();
    mkdirSync(cache, { recursive: true });
    writeFileSync(file, writeNpz(tensors));
    return tensors;
  }
}

/** What a difference in one output may come to (design D8). TF32 has as many bits as float16. */
export async function allowanceFor(
  reference: Reference,
  precision: Precision,
  output: string,
  difference: Difference,
): Promise<Allowance> {
  const expected = (await reference.expected()).get(output);
  const compared = (other: Tensor | undefined) =>
    expected === undefined || other === undefined ? undefined : compareTensors(expected, other);
  if (reference.weights === "float32" && (precision === "fp32" || precision === "model")) {
    const { tolerance } = budgets.folding;
    const plain = relativeAllowance(tolerance, difference);
    if (difference.mismatches > 0 || difference.maximumError <= plain.maximumError) return plain;
    const moved = compared((await reference.nudged()).get(output));
    return relativeAllowance(tolerance, difference, moved?.maximumError ?? 0);
  }
  const half = precision === "bf16" ? "bfloat16" : "float16";
  const own = compared((await reference.rounded(half)).get(output));
  return halfAllowance(budgets[half], difference, own ?? difference);
}

function mapFloats(tensors: Tensors, map: (tensor: Tensor) => Tensor): Tensors {
  return new Map([...tensors].map(([name, tensor]) => [name, isFloatTensor(tensor) ? map(tensor) : tensor]));
}

function rounded(tensor: Tensor, dtype: HalfType): Tensor {
  return convert(convert(tensor, dtype, "input"), tensor.dtype, "input");
}

/** Every number changed in its last bits. */
function nudged(tensor: Tensor): Tensor {
  if (tensor.dtype !== "float32") return tensor;
  return {
    ...tensor,
    data: Float32Array.from(
      tensor.data as Float32Array,
      (x, at) => x * (1 + (at % 2 === 0 ? 1 : -1) * 2 ** -23),
    ),
  };
}
