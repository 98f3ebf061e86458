/** @file What Nsight Compute is asked for, by its names. */
import type { Architecture } from "../../hardware/architectures.ts";

/** Asked of every GPU. */
export const stepMetrics = {
  duration: "gpu__time_duration.sum",
  clocks: "sm__cycles_elapsed.avg",
  tensorActive: "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
  dramActive: "dram__throughput.avg.pct_of_peak_sustained_elapsed",
  dramBytes: "dram__bytes.sum",
  instructions: "sm__inst_executed.sum",
} as const;

/** Instructions of warps by the pipe that takes them; `xu` has roots, exponentials and conversions. */
const pipes: Readonly<Record<string, string>> = {
  alu: "sm__inst_executed_pipe_alu.sum",
  fma: "sm__inst_executed_pipe_fma.sum",
  lsu: "sm__inst_executed_pipe_lsu.sum",
  xu: "sm__inst_executed_pipe_xu.sum",
  uniform: "sm__inst_executed_pipe_uniform.sum",
};

/** On Hopper `hmma` counts wgmma of halves as well, which `gmma` counts alone. */
const tensorPipes: Readonly<Record<string, string>> = {
  hmma: "sm__inst_executed_pipe_tensor_op_hmma.sum",
  imma: "sm__inst_executed_pipe_tensor_op_imma.sum",
};

/** By the name that the report has for it: what there is on an architecture, as far as is known. */
export function mixMetrics({ name, features }: Architecture): Readonly<Record<string, string>> {
  if (name === "blackwell") return pipes;
  if (name === "blackwell-graphics") {
    const of = (op: string) => `sm__inst_executed_pipe_tensor_subpipe_${op}_op_${op}.sum`;
    return { ...pipes, hmma: of("hmma"), imma: of("imma") };
  }
  const gmma = features.wgmma ? { gmma: "sm__inst_executed_pipe_tensor_op_gmma.sum" } : {};
  return { ...pipes, ...tensorPipes, ...gmma };
}
