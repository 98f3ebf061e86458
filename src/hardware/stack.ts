/** @file What is known of a stack: the columns of the table of stacks. */
import type { KernelsSince } from "./ort-kernels.ts";
import type { ComputeType } from "./target.ts";

export type StackId = "ort-cuda" | "ort-cuda-nhwc" | "tensorrt" | "inductor" | "cudnn" | "tc-runtime";

/** Kernels that coefficients are fitted to. */
export type KernelsId = "cudnn" | "tensorrt" | "tc-runtime";

/** What a stack computes inside a product's kernel instead of in a pass of its own. */
export interface Fusion {
  readonly bias: boolean;
  readonly activation: boolean;
  readonly residual: boolean;
  /**
   * What becomes one kernel of operators between products: loops of any kind (chains with the norms, sums over rows and copies in
   * them); chains of elementwise operators; activations, norms and (where slices are no views) splits that exporters write out; nothing.
   */
  readonly elementwise: "loops" | "chains" | "patterns" | "none";
  /**
   * softmax(Q·Kᵀ)·V written as separate operators becomes one kernel, which reads heads wherever they lie. Inductor has patterns for some spellings, and none
   * for those that exporters write: of 16 files none was joined (bench/measurements/h200-inductor-launches.jsonl).
   */
  readonly attention: boolean;
  /** Slices, splits and expansions are views that the next kernel reads through. */
  readonly views: boolean;
  /** A product between DequantizeLinear and QuantizeLinear runs on the INT8 codes; else on floats, and conversions are kernels. */
  readonly quantized: boolean;
  /** The same of 8-bit floats, on GPUs that multiply them: in which formats, and whether convolutions do, too. */
  readonly float8: { readonly formats: readonly Float8Format[]; readonly convolutions: boolean };
}

export type Float32Math = "tf32" | "fp32";

export type Float8Format = "float8e4m3fn" | "float8e5m2";

export interface AttentionSupport {
  /** A kernel computes a head_dim as the next of these; above the last there is no fast kernel. */
  readonly headDimSteps: readonly number[];
  /** A head_dim off this multiple loses the fast backend. */
  readonly headDimMultiple: number;
  /** What computes it where the runtime is too old to have a kernel for ONNX's Attention; undefined where that is no question. */
  readonly otherwise?: string;
}

/** What makes a stack run NHWC, which no file does. */
export interface LayoutSetting {
  readonly option: string;
  /** The same stack with it. */
  readonly stack: StackId;
}

/** What its user sets, and no file has. */
export interface StackSettings {
  /** By which it computes a file of FP32 in half as it is. */
  readonly half?: Readonly<Record<"fp16" | "bf16", string>>;
  /** By which products of FP32 are multiplied in TF32, where they are not by default. */
  readonly tf32?: string;
  /** By which it runs a model as a CUDA graph, as all times are of, where one with If or Loop does not run so. */
  readonly straightGraph?: string;
}

/** The stack takes NHWC itself, whatever the file has. */
export interface ChosenLayout {
  /** Of which convolutions, by their spatial axes. */
  readonly chosenOf: readonly number[];
}

export interface Stack {
  readonly id: StackId;
  readonly name: string;
  /** Whose kernels it launches. */
  readonly kernels: KernelsId;
  /** What is known of how it runs a graph: measured on whole files, read in its source, or said by its documentation. */
  readonly known: "measured" | "source" | "documentation";
  /** Elements a contiguous axis should be a multiple of: below it a slower kernel runs. */
  readonly alignment: Readonly<Record<ComputeType, number>>;
  /** Of 8-bit products, the axes of which an odd width costs: what is summed over, results. */
  readonly codesAxes: readonly ("k" | "n")[];
  /** The stack pads channels itself, so that padding the model gains less. */
  readonly padsInside: boolean;
  /** Convolutions whose windows lie side by side run as products of rows, wherever that is predicted to take less. */
  readonly multipliesPatches: boolean;
  readonly attention: AttentionSupport;
  /**
   * Who decides what layout convolutions run in: the file, whose NCHW has slower kernels; the stack, which takes NHWC and converts at
   * the borders itself; or a setting of it: without that it runs NCHW, whatever a file spells (docs/adr/0039).
   */
  readonly layout: "file" | ChosenLayout | LayoutSetting;
  /** Whether Transposes cancel as it loads a file: what a file spells in NHWC by operators that every runtime has is NCHW again. */
  readonly cancelsTransposes: boolean;
  /** Number formats that it has kernels of for these operators alone: a file with another operator in them does not load. */
  readonly inPart: Readonly<Partial<Record<ComputeType, KernelsSince>>>;
  /**
   * Whether it drops, as it loads a file, a Cast to the type and an Expand to the shape of what they read, a Slice from 0 to the largest
   * integer and a sum with 0 or a product with 1; a Pad by nothing and a Slice to the size it runs (ONNX Runtime, at its basic level).
   */
  readonly dropsIdle: boolean;
  /**
   * Operators of ai.onnx that it has no kernel of, in no type: it runs the nodes of the functions that define them. An operator that ONNX
   * Runtime has a kernel of for the CPU alone is not among them: it runs there.
   */
  readonly inlines: Readonly<Record<string, true>>;
  /** What FP32 values are multiplied in where nobody asks for anything else. */
  readonly float32: { readonly products: Float32Math; readonly convolutions: Float32Math };
  readonly settings: StackSettings;
  readonly fuses: Fusion;
  /**
   * Microseconds that a kernel of a model takes longer than by itself, again and again: code and operands are not where they were. Of
   * 54 whole runs on an H200 beside their launches timed alone, 0.41 a launch (test/cost/between.test.ts); 0 where whole files were not
   * compared, or are near without.
   */
  readonly betweenKernels: number;
  /** Where whole files that ran on it are held against what is predicted; null where none ran. What a fix for another stack loses here is no guess. */
  readonly comparedIn: string | null;
  readonly source: string;
}
