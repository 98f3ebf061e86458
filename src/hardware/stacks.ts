/** @file One row a stack: what the libraries under an inference runtime want of sizes and layouts. */
import { ortBfloat16, ortBfloat16Nhwc, ortInlines } from "./ort-kernels.ts";
import type { AttentionSupport, Fusion, LayoutSetting, Stack, StackId } from "./stack.ts";

import type { ComputeType } from "./target.ts";

export type {
  AttentionSupport,
  ChosenLayout,
  Float8Format,
  Float32Math,
  Fusion,
  KernelsId,
  LayoutSetting,
  Stack,
  StackId,
  StackSettings,
} from "./stack.ts";

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

/** Its documentation of CUDA graphs: models with control-flow operators are not captured. */
const ortSettings = { straightGraph: "enable_cuda_graph" } as const;

const noFloat8 = { formats: [], convolutions: false } as const;

/**
 * GeluFusion, QuickGeluFusion, LayerNormFusion, SkipLayerNormFusion, BiasSoftmaxFusion, MatMulScaleFusion, MatmulTransposeFusion and GatherSliceToSplitFusion;
 * Conv takes its bias, and no activation: ConvActivationFusion is not registered for the CUDA provider any more.
 */
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
  "ONNX Runtime's graph transformers (graph_transformer_utils.cc, gather_fusion.cc, skip_layer_norm_fusion.cc, bias_softmax_fusion.cc, matmul_scale_fusion.cc, matmul_transpose_fusion.cc) at their default level; prefer_nhwc is off and use_tf32 on by default; OperatorKernels.md has no QLinearConv and no GroupNormalization of its CUDA provider, and BF16 of some operators alone";

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
    inPart: { bf16: ortBfloat16 },
    dropsIdle: true,
    inlines: ortInlines,
    float32: inTf32,
    settings: ortSettings,
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
    inPart: { bf16: ortBfloat16Nhwc },
    dropsIdle: true,
    inlines: ortInlines,
    float32: inTf32,
    settings: ortSettings,
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
    inPart: {},
    dropsIdle: false,
    inlines: {},
    float32: inTf32,
    settings: { half: { fp16: "trtexec --fp16", bf16: "trtexec --bf16" } },
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
    inPart: {},
    dropsIdle: false,
    inlines: {},
    float32: asPyTorch,
    settings: { tf32: 'torch.set_float32_matmul_precision("high")' },
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
    inPart: {},
    dropsIdle: false,
    inlines: {},
    float32: inFp32,
    settings: {},
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
    inPart: {},
    dropsIdle: false,
    inlines: {},
    float32: inFp32,
    settings: {},
    fuses: { ...fusesAll, float8: { formats: ["float8e4m3fn", "float8e5m2"], convolutions: false } },
    betweenKernels: 0,
    comparedIn: "bench/results/truth-runtime.md",
    source: "its own plan: NHWC, epilogue fusion, pointwise chains as one kernel",
  },
} as const satisfies Record<StackId, Stack>;

export const stacks: Readonly<Record<StackId, Stack>> = rows;

export const stackIds = Object.keys(rows) as readonly StackId[];

/** Whether the stack runs the nodes of the function that defines an operator: it has no kernel of the operator. */
export function runsAsFunction(
  { inlines }: Pick<Stack, "inlines">,
  { domain, opType }: { readonly domain: string; readonly opType: string },
): boolean {
  return domain === "" && Object.hasOwn(inlines, opType);
}

/** Whether the stack has a kernel of an operator in a type, at an opset of the operator's domain; as far as it is known to lack any. */
export function hasKernel(
  { inPart }: Pick<Stack, "inPart">,
  type: ComputeType,
  { domain, opType }: { readonly domain: string; readonly opType: string },
  opset: number,
): boolean {
  const since = inPart[type];
  if (since === undefined) return true;
  const name = domain === "" ? opType : `${domain}::${opType}`;
  return Object.hasOwn(since, name) && opset >= (since[name] ?? Number.POSITIVE_INFINITY);
}

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
