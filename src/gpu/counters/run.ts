/** @file In the GPU's process, below a profiler: one replay of a model's graph for it to see. */
import type { Step } from "../../../cuda-runtime/ir/step.ts";
import { lockOfGpu } from "../../../cuda-runtime/session/cubin-folder.ts";
import { exclusively } from "../../../cuda-runtime/session/exclusive.ts";
import { openDevice } from "../../../cuda-runtime/session/open.ts";
import { DeviceSession } from "../../../cuda-runtime/session/session.ts";
import { inOrder } from "../../../cuda-runtime/session/steps.ts";
import { KernelManifest, KernelStore } from "../../../cuda-runtime/session/store.ts";
import { machineOfDevice } from "../../hardware/machine.ts";
import { InputError } from "../../ir/errors.ts";
import { describedStep } from "../describe.ts";
import { drawPlanned, planSizes, sizesOf } from "../plan.ts";
import { type FixSettingsOf, prepareModel } from "../prepare.ts";
import type { CountedRun, CountedTask } from "../protocol.ts";
import { bytesOf } from "../run.ts";

/** Throws InputError `gpu-…`, or what the model is at fault for. */
export async function runCounted(
  { device: index, kernels, model: request, sizes }: CountedTask,
  fixSettingsOf: FixSettingsOf,
): Promise<CountedRun> {
  using context = await openDevice(index);
  using store = new KernelStore(context, { kernels: new URL(kernels) });
  using prepared = prepareModel(request, { fixSettingsOf, isRun: true });
  const { device, driver } = context;
  const target = machineOfDevice(device);
  const limits = { memoryBytes: context.memory().freeBytes };
  const planned = planSizes(prepared.model, sizes, { precision: request.precision, target }, limits);
  if (planned.staged !== undefined) {
    const found = "data cuts this one into several, with work of the host between them";
    throw new InputError("gpu-unsupported", `${request.path}: --ncu counts models of one graph; ${found}`);
  }
  const { plan } = planned;
  using session = DeviceSession.load(context, store, plan, { poison: true });
  session.run(bytesOf(plan, drawPlanned(prepared.model, planned)));
  // A profiler runs one kernel after another, branches in an order of its own: they are matched with steps by the plan's.
  using graph = session.capture(session.ready.map(inOrder));
  exclusively(lockOfGpu(index), () => context.profiled(() => graph.launch(session.stream)));
  const manifest = new KernelManifest(new URL(kernels), device.computeCapability);
  return {
    kind: "counted",
    device,
    driverVersion: driver.version,
    sizes: sizesOf(planned.sizes),
    steps: plan.steps.map((step) => ({ ...describedStep(step, manifest, target), entry: entryOf(step) })),
    cacheProblem: store.cacheProblem,
  };
}

/** What is launched: memory that is cleared, and a grid of nothing, are no kernels. */
function entryOf({ action }: Step): string | null {
  if (action.kind === "clear" || action.launch.grid.some((size) => size === 0)) return null;
  return action.launch.kernel.entry;
}
