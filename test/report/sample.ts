/** @file A report with everything in it that a format has to cope with. */
import type { Finding, FindingGroup, LayerReport, ModelReport } from "../../src/lint/result.ts";
import type { RenderOptions, RuleDoc } from "../../src/report/render.ts";

const commandOf = (fix: Finding["fix"] = "safe") =>
  ({ safe: "--fix", unsafe: "--fix --unsafe-fixes", none: null })[fix];

export function finding(parts: Partial<Finding> = {}): Finding {
  return {
    code: "TC102",
    rule: "misaligned-gemm",
    severity: "error",
    node: "/lm_head/MatMul",
    op: "MatMul",
    graph: "graph",
    message: "N is 50257, off the multiple of 8: pad it to 50264",
    data: { n: 50257, multiple: 8, axes: ["n"] },
    saves: { microseconds: 1960, low: 1700, high: 2100, share: 0.63, of: 2140 },
    fix: "safe",
    fixCommand: "fix" in parts ? commandOf(parts.fix) : "--fix",
    source: null,
    module: null,
    fingerprint: "0123456789abcdef0123456789abcdef",
    ...parts,
  };
}

const layer: LayerReport = {
  node: "/features/0/Conv",
  op: "Conv",
  graph: "graph",
  fused: ["/features/1/Relu"],
  family: "conv",
  sizes: {
    batch: 8,
    channels: 67,
    filters: 129,
    groups: 1,
    input: [56, 56],
    kernel: [3, 3],
    strides: [2, 2],
  },
  compute: "fp16",
  runs: 1,
  flops: 4.87e9,
  bytes: 12_000_000,
  intensity: 405.8,
  bound: "tensor-core",
  tensorCore: true,
  microseconds: 1150.25,
  low: 900,
  high: 1400,
  share: 0.37,
  findings: ["TC101"],
};

/** Each finding by itself. */
function groupOf({
  code,
  rule,
  severity,
  message,
  saves,
  fix,
  fixCommand,
  fingerprint,
}: Finding): FindingGroup {
  const step = saves === null ? null : fix === "safe" ? "safe" : fix === "unsafe" ? "layout" : "author";
  return { code, rule, severity, message, saves, fix, fixCommand, step, left: null, findings: [fingerprint] };
}

export function modelReport(parts: Partial<ModelReport> = {}): ModelReport {
  return {
    path: "models/gpt.onnx",
    irVersion: 10,
    opset: { "ai.onnx": 20, "com.microsoft": 1 },
    producer: "pytorch 2.11.0",
    nodes: 412,
    parameters: 124_439_808,
    target: { gpu: "h200", stack: "cudnn", precision: "fp16" },
    symbols: { batch: 1, seq: 128 },
    assumed: ["batch"],
    configFiles: [],
    predicted: {
      microseconds: 3110,
      low: 2600,
      high: 3700,
      precision: "fp16",
      tensorCoreShare: 0.83,
      families: { conv: 0, gemm: 2500, attention: 310, recurrent: 0, memory: 300 },
      basis: "measured",
    },
    account: [],
    findings: [],
    groups: (parts.findings ?? []).map(groupOf),
    suppressed: 0,
    belowThreshold: { count: 0, microseconds: 0 },
    uncertain: { count: 0, microseconds: 0 },
    skipped: [],
    notices: [],
    error: null,
    ...parts,
  };
}

/** Names that try to break out of every format. */
export const hostile = 'x|y`<b>@all #1\n::error::"%\u001b[31m\u202e,;';

export const models: readonly ModelReport[] = [
  modelReport({
    findings: [
      finding({ source: { file: "/home/me/net/models/gpt.py", line: 697 }, module: "lm_head" }),
      finding({
        code: "TC101",
        rule: "misaligned-conv-channels",
        severity: "warn",
        node: hostile,
        op: "Conv",
        graph: "graph/loop_1:body",
        message: "67 channels, off the multiple of 8",
        saves: { microseconds: 12.34, low: -0.5, high: 25, share: 0.004, of: 1150.25 },
        fix: "unsafe",
        fingerprint: "11111111111111111111111111111111",
      }),
      finding({
        code: "TC203",
        rule: "half-overflow-risk",
        severity: "info",
        node: "Pow(y)",
        op: "Pow",
        message: "Pow to the power 3 overflows half above 40.3.",
        saves: null,
        fix: "none",
        fingerprint: "22222222222222222222222222222222",
      }),
    ],
    layers: [
      layer,
      {
        ...layer,
        node: "/softmax/Softmax",
        op: "Softmax",
        family: "memory",
        fused: [],
        sizes: { rows: 128, columns: 50_257 },
        runs: 12,
        bound: "dram",
        findings: [],
        compute: "fp32",
      },
    ],
    suppressed: 2,
    belowThreshold: { count: 12, microseconds: 30.4 },
    skipped: [
      { node: "a", op: "my.domain::Custom", reason: "unknown operator" },
      { node: "b", op: "my.domain::Custom", reason: "unknown operator" },
    ],
    notices: [
      { code: "weights-missing", message: "weights not present: gpt.weights; shapes are enough to lint" },
    ],
  }),
  modelReport({
    path: "models/broken.onnx",
    nodes: 0,
    error: {
      code: "truncated",
      message: "models/broken.onnx: ends at byte 60, but bytes 0 to 129 are needed",
    },
  }),
];

const docs: readonly RuleDoc[] = [
  {
    code: "TC101",
    name: "misaligned-conv-channels",
    severity: "warn",
    fix: "safe",
    summary: "Finds convolutions whose channels are off the multiple",
    markdown: "## What it does\nFinds convolutions whose channels are off the multiple.",
  },
  {
    code: "TC203",
    name: "half-overflow-risk",
    severity: "warn",
    fix: "none",
    summary: "Finds what half precision cannot hold",
    markdown: "## What it does\nFinds what half precision cannot hold.",
  },
];

export const options: RenderOptions = {
  verbose: false,
  color: 0,
  stats: false,
  docs,
  script: "",
  localPath: (file) => (file.endsWith("/models/gpt.py") ? "models/gpt.py" : undefined),
  repositoryPath: (path) => path,
  pages: { home: "https://example.com", rule: (code) => `https://example.com/${code}.md` },
  bytesOf: () => 1000,
  describeTarget: ({ gpu, stack }) => `${gpu.toUpperCase()} with ${stack}`,
};
