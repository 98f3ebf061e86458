/** @file In the GPU's process: every rung of the ladders checked and timed. */
import { movedBytes } from "../../../cuda-runtime/cost/predict.ts";
import { elementCount, type View } from "../../../cuda-runtime/ir/view.ts";
import { HarnessHost } from "../../../cuda-runtime/session/harness.ts";
import {
  CallSet,
  contentOf,
  copyGigabytesPerSecond,
  setCount,
  timeCalls,
} from "../../../cuda-runtime/session/kernel-timer.ts";
import { gpuFailure, versionText } from "../../../cuda-runtime/session/open.ts";
import { builtFamilies } from "../../../cuda-runtime/session/store.ts";
import { gpuOfDevice } from "../../hardware/machine.ts";
import { InputError } from "../../ir/errors.ts";
import { type Rates, ratesOf } from "../roofline.ts";
import { ladders } from "./ladders.ts";
import type { LadderReport, LadderRun, LadderTask, Rung, WorkReport } from "./report.ts";
import type { LadderRung, LadderWork } from "./work.ts";

const samples = 256;
/** Prime, so that places lie all over a tensor. */
const sampleStride = 2_654_435_761;

interface Call {
  readonly set: CallSet;
  readonly y: View;
}

/** Throws InputError `kernels-missing` where the ladders' kernels are not built, and `gpu-…`. */
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
  { ladders: names }: LadderTask,
  onProgress: (what: string) => void,
): LadderReport {
  const { device, driver } = host.context;
  const row = gpuOfDevice(device);
  onProgress("copying");
  const copy = copyGigabytesPerSecond(host);
  const rates = row === undefined ? undefined : ratesOf(row);
  return {
    gpu: device,
    row: row?.id,
    driver: `CUDA ${versionText(driver.version)}`,
    copyGigabytesPerSecond: copy,
    torch: undefined,
    works: names.flatMap((ladder) =>
      ladders[ladder].map((work) => {
        const onRung = (name: string) => onProgress(`${ladder}, ${work.title}, ${name}`);
        return { ladder, ...workReport(host, work, { rates, copy, onRung }) };
      }),
    ),
  };
}

interface Climb {
  readonly rates: Rates | undefined;
  readonly copy: number;
  readonly onRung: (name: string) => void;
}

function workReport(
  host: HarnessHost,
  work: LadderWork,
  { rates, copy, onRung }: Climb,
): Omit<WorkReport, "ladder"> {
  const { title, product, flops, leastBytes } = work;
  const { sharedBytesPerBlock } = host.context.device;
  const fits = ({ sharedBytes = 0 }: LadderRung) => sharedBytes <= sharedBytesPerBlock;
  const peak =
    product === undefined ? Number.POSITIVE_INFINITY : rates && (rates.tensor(product) ?? rates.cuda);
  const roofline = peak === undefined ? undefined : Math.max((1e6 * flops) / peak, leastBytes / copy / 1e3);
  return {
    work: title,
    isProduct: product !== undefined,
    ...{ flops, leastBytes },
    rooflineMicroseconds: roofline,
    rungs: work.rungs.filter(fits).map((rung) => {
      onRung(rung.name);
      const measured = measure(host, work, rung);
      const { microseconds } = measured;
      return {
        ...measured,
        teraflops: flops / microseconds / 1e6,
        gigabytesPerSecond: leastBytes / microseconds / 1e3,
        rooflineShare: roofline === undefined ? undefined : roofline / microseconds,
      };
    }),
    bounds: rates === undefined || peak === undefined ? [] : work.bounds({ tensor: peak, cuda: rates.cuda }),
    peer: { name: work.peer.name, microseconds: undefined },
  };
}

type Measured = Omit<Rung, "teraflops" | "gigabytesPerSecond" | "rooflineShare">;

function measure(host: HarnessHost, work: LadderWork, rung: LadderRung): Measured {
  const calls: Call[] = [];
  try {
    const first = callOf(host, rung);
    calls.push(first);
    first.set.launch();
    const error = errorOf(host, first, rung);
    const count = setCount(work.leastBytes, host.context.device.l2Bytes);
    while (calls.length < count) calls.push(callOf(host, rung));
    const microseconds = timeCalls(
      host,
      calls.map(({ set }) => set),
    );
    const { name, change, tolerance = work.tolerance } = rung;
    const actions = first.set.steps.map(({ step: { action } }) => action);
    return {
      ...{ name, change, microseconds, error, tolerance },
      kernels: actions.map((action) => (action.kind === "launch" ? action.launch.kernel.entry : action.kind)),
      dramBytes: work.dramBytes ?? actions.reduce((total, action) => total + movedBytes(action), 0),
      isRight: error <= tolerance,
    };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

function callOf(host: HarnessHost, rung: LadderRung): Call {
  const set = new CallSet(host, false);
  try {
    const y = rung.emit(set);
    set.prepare();
    return { set, y };
  } catch (error) {
    set[Symbol.dispose]();
    throw error;
  }
}

/** Before it is timed; NaN where an element is. */
function errorOf(host: HarnessHost, { set, y }: Call, rung: LadderRung): number {
  const expected = rung.reference((type, seed) => contentOf(host, type, seed));
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
