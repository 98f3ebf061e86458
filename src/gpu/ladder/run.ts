/** @file In the GPU's process: every rung of a ladder checked and timed. */
import { elementCount, type View } from "../../../cuda-runtime/ir/view.ts";
import { HarnessHost } from "../../../cuda-runtime/session/harness.ts";
import { CallSet, contentOf, setCount, timeCalls } from "../../../cuda-runtime/session/kernel-timer.ts";
import { gpuFailure, versionText } from "../../../cuda-runtime/session/open.ts";
import { builtFamilies } from "../../../cuda-runtime/session/store.ts";
import { gpuOfDevice } from "../../hardware/machine.ts";
import { InputError } from "../../ir/errors.ts";
import { ratesOf } from "../roofline.ts";
import { anchor, type ConvRung, convBytes, convElement, convFlops, convRungs } from "./conv.ts";
import type { LadderRun, LadderTask, Rung } from "./report.ts";

/** FP32 sums of halves, rounded to half once. */
const tolerance = 2e-3;
const samples = 256;
/** Prime, so that places lie all over a tensor. */
const sampleStride = 2_654_435_761;

interface Call {
  readonly set: CallSet;
  readonly y: View;
}

/** Throws InputError `kernels-missing` where the ladder's kernels are not built, and `gpu-…`. */
export async function runLadder(task: LadderTask, onProgress: (what: string) => void): Promise<LadderRun> {
  const kernels = new URL(task.kernels);
  if (!builtFamilies(kernels).includes("ladder"))
    throw new InputError(
      "kernels-missing",
      "the ladders' kernels are built on demand, and are not here: npm run build:cuda -- --family ladder (in a checkout; needs nvcc)",
    );
  onProgress("opening the GPU");
  try {
    using host = await HarnessHost.open({ kernels, device: task.device });
    return { kind: "ladder", report: climb(host, task, onProgress), cacheProblem: host.store.cacheProblem };
  } catch (error) {
    throw gpuFailure(error);
  }
}

function climb(
  host: HarnessHost,
  { ladder }: LadderTask,
  onProgress: (what: string) => void,
): LadderRun["report"] {
  const { device, driver } = host.context;
  const row = gpuOfDevice(device);
  const flops = convFlops(anchor);
  const leastBytes = convBytes(anchor);
  const rates = row === undefined ? undefined : ratesOf(row);
  const peak = rates?.tensor("fp16") ?? rates?.cuda;
  const rooflineMicroseconds =
    rates === undefined || peak === undefined
      ? undefined
      : 1e6 * Math.max(flops / peak, leastBytes / rates.bytesPerSecond);
  const { batch, channels, filters, side } = anchor;
  return {
    ladder,
    work: `FP16 N ${batch}, C ${channels}, ${side} × ${side}, K ${filters}, 3 × 3`,
    gpu: device,
    row: row?.id,
    driver: `CUDA ${versionText(driver.version)}`,
    ...{ flops, leastBytes, tolerance, rooflineMicroseconds },
    rungs: convRungs.map((rung) => {
      onProgress(`${ladder}, ${rung.name}`);
      const measured = measure(host, rung);
      const { microseconds } = measured;
      return {
        ...measured,
        teraflops: flops / microseconds / 1e6,
        gigabytesPerSecond: leastBytes / microseconds / 1e3,
        rooflineShare: rooflineMicroseconds === undefined ? undefined : rooflineMicroseconds / microseconds,
      };
    }),
  };
}

type Measured = Omit<Rung, "teraflops" | "gigabytesPerSecond" | "rooflineShare">;

function measure(host: HarnessHost, rung: ConvRung): Measured {
  const calls: Call[] = [];
  try {
    const count = setCount(convBytes(anchor), host.context.device.l2Bytes);
    for (let i = 0; i < count; i++) calls.push(callOf(host, rung));
    const [first] = calls;
    if (first === undefined) throw new Error("tc-lint bug: a rung without a call");
    const microseconds = timeCalls(
      host,
      calls.map(({ set }) => set),
    );
    const error = errorOf(host, first, rung);
    const kernels = first.set.steps.map(({ step: { action } }) =>
      action.kind === "launch" ? action.launch.kernel.entry : action.kind,
    );
    const { name, change } = rung;
    return { name, change, kernels, microseconds, error, isRight: error <= tolerance };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

function callOf(host: HarnessHost, rung: ConvRung): Call {
  const set = new CallSet(host, false);
  try {
    const y = rung.emit(set, anchor);
    set.prepare();
    return { set, y };
  } catch (error) {
    set[Symbol.dispose]();
    throw error;
  }
}

/** NaN where one of them is. */
function errorOf(host: HarnessHost, { set, y }: Call, { isChannelsLast }: ConvRung): number {
  const expected = convElement(
    anchor,
    isChannelsLast,
    contentOf(host, "float16", 1),
    contentOf(host, "float16", 2),
  );
  const total = elementCount(y.shape);
  const places = Array.from({ length: samples }, (_, i) => (i * sampleStride + total - 1) % total);
  const got = set.read(y, places);
  let [error, largest] = [0, 0];
  for (const [index, place] of places.entries()) {
    const wanted = expected(place);
    error = Math.max(error, Math.abs(wanted - (got[index] ?? Number.NaN)));
    largest = Math.max(largest, Math.abs(wanted));
  }
  return error / largest;
}
