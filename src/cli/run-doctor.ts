/** @file What of this machine the GPU commands can use. */
import { paletteOf } from "../report/color.ts";
import { printable } from "../report/format.ts";
import { colorLevel } from "./color.ts";
import { exitCodes } from "./exit-code.ts";
import { askGpu, kernelsUrl } from "./gpu-process.ts";
import type { Check, DoctorReport } from "./gpu-protocol.ts";
import { writeStdout } from "./stdout.ts";

const timeoutSeconds = 120;

/** Returns the exit code: 1 where something is missing. */
export async function runDoctor(format: "text" | "json", color: boolean | undefined): Promise<number> {
  const report = await askGpu({ kind: "doctor", kernels: kernelsUrl }, { timeoutSeconds });
  const checks = [...report.checks, referenceCheck()];
  const isReady = checks.every(({ ok, optional }) => ok || optional === true);
  const { devices, driverVersion } = report;
  const text =
    format === "json"
      ? `${JSON.stringify({ ready: isReady, driverVersion, devices, checks }, null, 2)}\n`
      : doctorText(checks, isReady, color);
  await writeStdout(text);
  return isReady ? exitCodes.clean : exitCodes.findings;
}

/** Asked for without loading it: it is native code. */
function referenceCheck(): Check {
  const what = "ONNX Runtime";
  try {
    import.meta.resolve("onnxruntime-node");
    return { what, ok: true, detail: "is installed: validate compares with it" };
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    const detail = `is not installed${reason}: validate then compares with tc-lint's own FP32; npm install onnxruntime-node`;
    return { what, ok: false, optional: true, detail };
  }
}

function doctorText(checks: DoctorReport["checks"], isReady: boolean, color: boolean | undefined): string {
  const isTerminal = process.stdout.isTTY === true;
  const palette = paletteOf(colorLevel({ flag: color, env: process.env, isTerminal }));
  const lines = checks.map(({ what, ok, optional, detail }) => {
    const sign = ok ? palette.good("✓") : optional === true ? palette.dim("–") : palette.bad("✗");
    return `${sign} ${palette.bold(what)}: ${printable(detail)}`;
  });
  const verdict = isReady
    ? "tc-lint validate and tc-lint bench can run here."
    : "tc-lint validate and tc-lint bench cannot run here; everything else works.";
  return `${lines.join("\n")}\n\n${verdict}\n`;
}
