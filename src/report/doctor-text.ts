/** @file What of this machine the GPU commands can use, in the terminal. */
import type { Diagnosis } from "../gpu/diagnosis.ts";
import { printable } from "../ir/format.ts";
import { paletteOf } from "./color.ts";
import type { ColorLevel } from "./render.ts";

export function renderDoctorText({ checks, ready }: Diagnosis, color: ColorLevel): string {
  const palette = paletteOf(color);
  const lines = checks.map(({ what, ok, optional, detail }) => {
    const sign = ok ? palette.good("✓") : optional === true ? palette.dim("–") : palette.bad("✗");
    return `${sign} ${palette.bold(what)}: ${printable(detail)}`;
  });
  const verdict = ready
    ? "tc-lint validate and tc-lint bench can run here."
    : "tc-lint validate and tc-lint bench cannot run here; everything else works.";
  return `${lines.join("\n")}\n\n${verdict}\n`;
}
