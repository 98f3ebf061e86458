/** @file What of this machine the GPU commands can use: the GPU's process is asked, and what this one sees is added. */
import { createRequire } from "node:module";
import { askGpu, kernelsUrl } from "./process.ts";
import type { Check, DoctorReport } from "./protocol.ts";

export interface Diagnosis extends Pick<DoctorReport, "checks" | "devices" | "driverVersion"> {
  /** Whether nothing is missing that something else does not stand in for. */
  readonly ready: boolean;
}

const timeoutSeconds = 120;

export async function diagnose(): Promise<Diagnosis> {
  const report = await askGpu({ kind: "doctor", kernels: kernelsUrl }, { timeoutSeconds });
  const checks = [...report.checks, referenceCheck()];
  const ready = checks.every(({ ok, optional }) => ok || optional === true);
  return { ready, driverVersion: report.driverVersion, devices: report.devices, checks };
}

/** Asked for without loading it: it is native code. */
function referenceCheck(): Check {
  const what = "ONNX Runtime";
  try {
    createRequire(import.meta.url).resolve("onnxruntime-node");
    return { what, ok: true, detail: "is installed: validate compares with it" };
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    const detail = `is not installed${reason}: validate then compares with tc-lint's own FP32; npm install onnxruntime-node`;
    return { what, ok: false, optional: true, detail };
  }
}
