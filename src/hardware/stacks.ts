/** @file One row a stack: what the libraries under an inference runtime want of sizes and layouts. */
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
  /** Number formats that it has kernels of for some operators alone: a file with another operator in them does not load. */
  readonly inPart: readonly ComputeType[];
  /**
   * Whether it drops, as it loads a file, a Cast to the type and an Expand to the shape of what they read; a Pad by nothing and a Slice
   * of the whole run (ONNX Runtime's CastElimination and ExpandElimination, at its basic level).
   */
  readonly dropsIdle: boolean;
  /**
   * Whether ONNX's GroupNormalization is a kernel; else its function is inlined, a dozen kernels (OperatorKernels.md has none of ONNX
   * Runtime's CUDA provider; GroupNorm of com.microsoft is another operator, in NHWC).
   */
  readonly hasGroupNorm: boolean;
  /** What FP32 values are multiplied in where nobody asks for anything else. */
  readonly float32: { readonly products: Float32Math; readonly convolutions: Float32Math };
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

const inTf32 = { products: "tf32", convolutions: "tf32" } as const;
const inFp32 = { products: "fp32", convolutions: "fp32" } as const;
/** torch.backends.cudnn.allow_tf32 is on unless it is changed, torch.backends.cuda.matmul.allow_tf32 off. */
const asPyTorch = { products: "fp32", convolutions: "tf32" } as const;

/**
 * Rows must start on 16 bytes for vector and TMA loads (CUTLASS, cuBLAS and cuDNN guides). FP64 runs on its units whatever the sizes (NVIDIA's matrix
 * multiplication guide), and nobody measured what padding makes of it.
 */
const sixteenBytes = { fp16: 8, bf16: 8, tf32: 4, int8: 16, fp8: 16, fp32: 4, fp64: 1 } as const;

/** Measured on an H200 with cuDNN 9.19: time steps up at 65, 129 and 193. */
const cudnnAttention: AttentionSupport = { headDimSteps: [64, 128, 192, 256], headDimMultiple: 8 };

/** ONNX Runtime 1.24.4 still ran ONNX's Attention on the CPU (microsoft/onnxruntime#28025; CUDA kernels by #27542). */
const ortAttention: AttentionSupport = {
  ...cudnnAttention,
  otherwise: "com.microsoft's MultiHeadAttention",
};

const noFloat8 = { formats: [], convolutions: false } as const;

/** GeluFusion, LayerNormFusion and GatherSliceToSplitFusion; Conv takes its bias; FusedConv takes an activation in FP32 alone, so here none. */
const ortFusion: Fusion = {
  bias: true,
  activation: false,
  residual: false,
  elementwise: "patterns",
  attention: false,
  views: false,
  quantized: false,
  float8: noFloat8,
};

const fusesAll: Fusion = {
  bias: true,
  activation: true,
  residual: true,
  elementwise: "chains",
  attention: true,
  views: true,
  quantized: true,
  float8: { formats: ["float8e4m3fn"], convolutions: true },
};

const ortSource =
  "ONNX Runtime's graph transformers (graph_transformer_utils.cc, conv_activation_fusion.cc, gather_fusion.cc) at their default level; prefer_nhwc is off and use_tf32 on by default; OperatorKernels.md has no QLinearConv of its CUDA provider, and BF16 of some operators alone";

const rows = {
  "ort-cuda": {
    id: "ort-cuda",
    name: "ONNX Runtime, CUDA provider",
    kernels: "cudnn",
    known: "source",
    alignment: sixteenBytes,
    codesAxes: ["k", "n"],
    padsInside: false,
    multipliesPatches: false,
    attention: ortAttention,
    layout: { option: "prefer_nhwc", stack: "ort-cuda-nhwc" },
    cancelsTransposes: true,
    inPart: ["bf16"],
    dropsIdle: true,
    hasGroupNorm: false,
    float32: inTf32,
    fuses: ortFusion,
    betweenKernels: 0,
    comparedIn: null,
    source: ortSource,
  },
  "ort-cuda-nhwc": {
    id: "ort-cuda-nhwc",
    name: "ONNX Runtime, CUDA provider with prefer_nhwc",
    kernels: "cudnn",
    known: "source",
    alignment: sixteenBytes,
    codesAxes: ["k", "n"],
    padsInside: false,
    multipliesPatches: false,
    attention: ortAttention,
    layout: { chosenOf: [1, 2, 3] },
    cancelsTransposes: true,
    inPart: ["bf16"],
    dropsIdle: true,
    hasGroupNorm: false,
    float32: inTf32,
    fuses: ortFusion,
    betweenKernels: 0,
    comparedIn: null,
    source: ortSource,
  },
  tensorrt: {
    id: "tensorrt",
    name: "TensorRT 10",
    kernels: "tensorrt",
    known: "documentation",
    alignment: { ...sixteenBytes, int8: 32 },
    codesAxes: ["k", "n"],
    padsInside: true,
    multipliesPatches: false,
    attention: cudnnAttention,
    layout: { chosenOf: [1, 2, 3] },
    cancelsTransposes: false,
    inPart: [],
    dropsIdle: false,
    hasGroupNorm: true,
    float32: inTf32,
    fuses: fusesAll,
    betweenKernels: 0,
    comparedIn: null,
    source:
      "TensorRT developer guide, data format descriptions (HWC8, CHW32), layer fusion, and quantized types (FP8 in E4M3 alone)",
  },
  inductor: {
    id: "inductor",
    name: "torch.compile (Inductor)",
    kernels: "cudnn",
    known: "source",
    alignment: sixteenBytes,
    codesAxes: ["k", "n"],
    padsInside: false,
    multipliesPatches: false,
    attention: cudnnAttention,
    // The others run channels first, with conversions around each that cuDNN makes (bench/measurements/h200-inductor-launches.jsonl: tcn, whisper_encoder, c3d).
    layout: { chosenOf: [2] },
    cancelsTransposes: false,
    inPart: [],
    dropsIdle: false,
    hasGroupNorm: true,
    float32: asPyTorch,
    fuses: {
      ...fusesAll,
      attention: false,
      activation: false,
      residual: false,
      elementwise: "loops",
      quantized: false,
      float8: noFloat8,
    },
    betweenKernels: 0,
    comparedIn: "bench/results/truth-stacks.md",
    source:
      "PyTorch's Inductor: cuBLAS and cuDNN for products, one Triton kernel for a chain between them; layout_optimization; cudnn.allow_tf32 on, matmul.allow_tf32 off",
  },
  cudnn: {
    id: "cudnn",
    name: "cuBLAS 13 and cuDNN 9, a kernel a node",
    kernels: "cudnn",
    known: "measured",
    alignment: sixteenBytes,
    codesAxes: ["k", "n"],
    padsInside: false,
    multipliesPatches: false,
    attention: cudnnAttention,
    layout: "file",
    cancelsTransposes: false,
    inPart: [],
    dropsIdle: false,
    hasGroupNorm: true,
    float32: inFp32,
    fuses: {
      bias: false,
      activation: false,
      residual: false,
      elementwise: "none",
      attention: false,
      views: true,
      quantized: false,
      float8: noFloat8,
    },
    betweenKernels: 0.41,
    comparedIn: "bench/results/truth-stacks.md",
    source: "h200-pytorch-ops.json and -sweeps.json, 2026-11-21",
  },
  "tc-runtime": {
    id: "tc-runtime",
    name: "tc-lint's bundled FP16 runtime",
    kernels: "tc-runtime",
    known: "source",
    alignment: sixteenBytes,
    // Operands of an odd K are copied; results of any N are stored as they are.
    codesAxes: ["k"],
    padsInside: false,
    multipliesPatches: true,
    attention: { headDimSteps: [16, 32, 48, 64, 80, 96, 128, 160, 192, 256], headDimMultiple: 8 },
    layout: { chosenOf: [1, 2, 3] },
    cancelsTransposes: false,
    inPart: [],
    dropsIdle: false,
    hasGroupNorm: true,
    float32: inFp32,
    fuses: { ...fusesAll, float8: { formats: ["float8e4m3fn", "float8e5m2"], convolutions: false } },
    betweenKernels: 0,
    comparedIn: "bench/results/truth-runtime.md",
    source: "its own plan: NHWC, epilogue fusion, pointwise chains as one kernel",
  },
} as const satisfies Record<StackId, Stack>;

export const stacks: Readonly<Record<StackId, Stack>> = rows;

export const stackIds = Object.keys(rows) as readonly StackId[];

/** The setting that convolutions run in NHWC by; undefined where the file or the stack itself decides. */
export function layoutSettingOf({ layout }: Pick<Stack, "layout">): LayoutSetting | undefined {
  return layout !== "file" && "option" in layout ? layout : undefined;
}

/** Whether the stack chooses the layout of convolutions of so many spatial axes; of any where that is undefined. */
export function choosesLayout({ layout }: Pick<Stack, "layout">, axes?: number): boolean {
  if (layout === "file" || "option" in layout) return false;
  return axes === undefined || layout.chosenOf.includes(axes);
}

/** Whether what a file spells in NHWC, in a form that every runtime can run, is what it runs without that. */
export function undoesLayout(
  { cancelsTransposes }: Pick<Stack, "cancelsTransposes">,
  form: "portable" | "ort-cuda",
): boolean {
  return form === "portable" && cancelsTransposes;
}

/** "TF32 on ort-cuda; FP32 on cudnn": what each stack multiplies FP32 in where nobody asks for anything else. */
export function float32Words(): string {
  const words = new Map<string, string[]>();
  for (const { id, float32 } of Object.values(stacks)) {
    const [products, convolutions] = [float32.products.toUpperCase(), float32.convolutions.toUpperCase()];
    const said = products === convolutions ? products : `${convolutions} for convolutions, else ${products},`;
    words.set(said, [...(words.get(said) ?? []), id]);
  }
  return [...words].map(([said, ids]) => `${said} on ${ids.join(", ")}`).join("; ");
}

/** Those on which whole files were compared with what is predicted. */
export const comparedStacks: readonly Stack[] = stackIds
  .map((id): Stack => rows[id])
  .filter(({ comparedIn }) => comparedIn !== null);

export function findStack(id: string): Stack | undefined {
  return stackIds.includes(id as StackId) ? stacks[id as StackId] : undefined;
}
