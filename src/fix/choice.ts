/** @file What the user lets a repair do, and the flags that say so. */
import type { Half } from "../ir/fix-command.ts";
import type { BatchChoice } from "../passes/batch/batch.ts";

/** What a repair may do beside padding and folding, which never change what a model computes nor its interface. */
export interface FixChoice {
  /** Stores weights and activations in this type. */
  readonly half: "fp16" | "bf16" | undefined;
  /** Half precision where it is predicted faster alone; not where it was asked for by name. */
  readonly halfOnlyWhereFaster: boolean;
  /** Makes the model's own inputs and outputs half, too. */
  readonly halfIo: boolean;
  /** Channels last. */
  readonly nhwc: boolean;
  readonly nhwcOnlyWhereFaster: boolean;
  /** Makes the model's own images channels last, too. */
  readonly nhwcIo: boolean;
  /** Which operators write channels last: ONNX's own, or those of ONNX Runtime's CUDA provider. */
  readonly nhwcForm: "portable" | "ort-cuda";
  /** Instead of the batch that the file fixes: a size, or a symbol that the caller binds. */
  readonly batch: BatchChoice | undefined;
}

/** As the command line names it: what is decided place by place is asked for by `--unsafe-fixes`. */
export function flagsOf({
  half,
  halfOnlyWhereFaster,
  nhwc,
  nhwcOnlyWhereFaster,
}: Pick<FixChoice, "half" | "halfOnlyWhereFaster" | "nhwc" | "nhwcOnlyWhereFaster">): readonly string[] {
  const isDecided = (half !== undefined && halfOnlyWhereFaster) || (nhwc && nhwcOnlyWhereFaster);
  return [
    "--fix",
    ...(half === undefined || halfOnlyWhereFaster ? [] : ["--precision", half]),
    ...(nhwc && !nhwcOnlyWhereFaster ? ["--layout", "nhwc"] : []),
    ...(isDecided ? ["--unsafe-fixes"] : []),
  ];
}

/** What stores half asked for by name, with NHWC that is as well or without. */
export function commandOf(half: Half, nhwc = false): string {
  return flagsOf({ half, halfOnlyWhereFaster: false, nhwc, nhwcOnlyWhereFaster: false }).join(" ");
}
