/** @file In the GPU's process: what is there, tried one thing after another. */

import { DeviceContext } from "../../cuda-runtime/driver/context.ts";
import { type DeviceInfo, Driver } from "../../cuda-runtime/driver/driver.ts";
import { deviceProblem, driverProblem, gpuFailure, versionText } from "../../cuda-runtime/session/open.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import { builtFamilies, KernelStore } from "../../cuda-runtime/session/store.ts";
import { architectureOf } from "../hardware/architectures.ts";
import { wholeGiB } from "../hardware/bytes.ts";
import { machineOfDevice } from "../hardware/machine.ts";
import { counted } from "../ir/format.ts";
import { checkPlan, problemOfOutputs } from "./doctor-plan.ts";
import type { Check, DoctorReport } from "./protocol.ts";

/** Never throws for what is missing: that is the report. */
export async function examine(kernels: string): Promise<DoctorReport> {
  const folder = new URL(kernels);
  const kernelCheck = checkKernels(folder);
  const opened = await tried("NVIDIA driver", () => Driver.open());
  if ("failed" in opened)
    return { kind: "doctor", checks: [opened.failed, kernelCheck], devices: [], driverVersion: undefined };
  const driver = opened.value;
  const problem = driverProblem(driver.version);
  const detail = problem ?? `runs CUDA ${versionText(driver.version)}`;
  const checks: Check[] = [{ what: "NVIDIA driver", ok: problem === undefined, detail }];
  const found = await tried("GPUs", () => driver.devices());
  const devices = "failed" in found ? [] : found.value;
  if ("failed" in found) checks.push(found.failed);
  else if (devices.length === 0) checks.push({ what: "GPUs", ok: false, detail: "CUDA finds none" });
  for (const device of devices) checks.push(deviceCheck(device));
  checks.push(kernelCheck);
  if (problem === undefined && kernelCheck.ok)
    for (const device of devices.filter((each) => deviceProblem(each) === undefined))
      checks.push(await runCheck(driver, device, folder));
  return { kind: "doctor", checks, devices, driverVersion: driver.version };
}

function deviceCheck(device: DeviceInfo): Check {
  const { index, name, computeCapability, totalBytes, multiprocessors } = device;
  const size = `${wholeGiB(totalBytes)} GiB, ${multiprocessors} SMs`;
  const facts = `${name}, compute capability ${(computeCapability / 10).toFixed(1)}, ${size}`;
  const problem = deviceProblem(device);
  return {
    what: `GPU ${index}`,
    ok: problem === undefined,
    detail: problem ?? `${facts}; ${tensorTypes(device)}`,
  };
}

/** What the Tensor Cores multiply, by generation. */
function tensorTypes({ computeCapability }: DeviceInfo): string {
  const { half, bf16, tf32, wgmma } = architectureOf(computeCapability).features;
  const types = [half && "float16", bf16 && "bfloat16", tf32 && "tf32"].filter((name) => name !== false);
  if (types.length === 0) return "no Tensor Cores that tc-lint uses";
  return `Tensor Cores: ${types.join(", ")}${wgmma ? " (wgmma)" : ""}`;
}

function checkKernels(folder: URL): Check {
  const what = "kernels";
  const built = builtFamilies(folder);
  return built.length === 0
    ? {
        what,
        ok: false,
        detail:
          "none are there: a release's package has them; in a checkout, npm run build:cuda makes them (it needs nvcc 13), and npm pack takes them along",
      }
    : { what, ok: true, detail: `${counted(built.length, "family", "families")}: ${built.join(", ")}` };
}

/** A few kernels, built ones and one that the driver compiles, with a result to compare. */
async function runCheck(driver: Driver, device: DeviceInfo, kernels: URL): Promise<Check> {
  const what = `running on GPU ${device.index}`;
  const result = await tried(what, () => {
    using context = new DeviceContext(driver, device.index);
    using store = new KernelStore(context, { kernels });
    const { plan, inputs } = checkPlan(machineOfDevice(device));
    using session = DeviceSession.load(context, store, plan, { poison: true });
    const problem = problemOfOutputs(session.run(inputs));
    return { problem, cache: store.cacheProblem };
  });
  if ("failed" in result) return result.failed;
  const { problem, cache } = result.value;
  const note = cache === undefined ? "" : `; compiled kernels cannot be kept: ${cache}`;
  return {
    what,
    ok: problem === undefined,
    detail: `${problem ?? "a matrix product and an elementwise kernel give the right result"}${note}`,
  };
}

async function tried<Value>(
  what: string,
  work: () => Value | Promise<Value>,
): Promise<{ readonly value: Value } | { readonly failed: Check }> {
  try {
    return { value: await work() };
  } catch (error) {
    const told = gpuFailure(error);
    return { failed: { what, ok: false, detail: told instanceof Error ? told.message : String(told) } };
  }
}
