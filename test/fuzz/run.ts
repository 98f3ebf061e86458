/** @file One run of the fuzzer, which its number determines: a model, a damage, one way through tc-lint. */
import { randomNumbers } from "../onnx/fuzz.ts";
import type { Corpus } from "./corpus.ts";
import { damage } from "./damage.ts";
import { type Mode, modes, runMode } from "./modes.ts";

export interface Case {
  readonly mode: Mode;
  readonly subject: string;
  readonly bytes: Uint8Array;
}

/** What came of a run. Memory is what the process grew by, at its peak, beyond the model's own size. */
export interface Result {
  readonly mode: Mode;
  /** "crash", or what the model was refused or answered with. */
  readonly code: string;
  /** Of the processor: a machine may have others at work. */
  readonly seconds: number;
  readonly grownBytes: number;
  readonly error?: string;
}

export function caseOf(corpus: Corpus, seed: number, run: number): Case {
  const random = randomNumbers(seed * 7919 + run);
  const subject = corpus.pick(random);
  const mode = modes[Math.floor(random() * modes.length)] ?? "lint";
  return { mode, subject: subject.name, bytes: damage(subject.bytes, random) };
}

export async function runCase({ mode, bytes }: Case, folder: string): Promise<Result> {
  const peakBefore = process.resourceUsage().maxRSS;
  const start = process.cpuUsage();
  const measured = () => ({
    mode,
    seconds: secondsSince(start),
    grownBytes: 1024 * (process.resourceUsage().maxRSS - peakBefore) - bytes.length,
  });
  try {
    return { code: await runMode(mode, bytes, folder), ...measured() };
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { code: "crash", error: text, ...measured() };
  }
}

function secondsSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e6;
}

/** What two crashes have in common that are one defect: the error, and where it was thrown. */
export function signatureOf(error: string): string {
  const [first = "", ...frames] = error.split("\n");
  const place =
    frames
      .find((frame) => frame.includes(" at "))
      ?.replace(/\(?file:.*$/, "")
      .trim() ?? "";
  return `${first.replaceAll(/\d+/g, "N").slice(0, 120)} ${place}`;
}
