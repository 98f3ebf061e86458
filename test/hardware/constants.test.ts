/** @file There is one machine model: what a GPU does in a second or a clock is written in src/hardware alone. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What tables of machines were written in before there was one; each with a line that has to be caught. */
const patterns: readonly (readonly [what: string, pattern: RegExp, example: string])[] = [
  ["a clock", /\b\w*(?:gigahertz|ghz)\w*\b["']?\s*[:=]\s*[\d.]/i, "{ from: 90, gigahertz: 1.75 }"],
  ["a clock", /\bclock(?:Share|MHz|Megahertz)\b\s*[:=]\s*[\d.]/, "const clockShare = 1.75 / 1.83;"],
  ["a rate", /\b\w*(?:tera_?flops|tflops|PerClock)\b\s*[:=]\s*[\d.]/i, "const flopPerClock = 2540;"],
  ["a rate", /[{,]\s*(?:tensor|simt|half|cuda): \d{3,}/, "{ minimumArch: 90, tensor: 2540, simt: 256 }"],
  ["a bandwidth", /\b\w*(?:GBps|gigabytesPerSecond)\b\s*[:=]\s*[\d.]/i, "dramGBps: 4800,"],
  [
    "a bandwidth",
    /\b(?:memory|cache|dram|l2|fetch): (?:\d+\.\d|\d{2}|\de\d)/,
    "{ memory: 4e6, cache: 5.5e6 }",
  ],
  [
    "a launch",
    /\blaunchMicroseconds\b(?::\s*number)?\s*[:=]\s*[\d.]/,
    "export const launchMicroseconds = 2;",
  ],
  ["a latency", /\bmemoryLatency\w*\s*[:=]\s*\d/, "export const memoryLatency = 900;"],
  ["shared memory", /\bsharedBytesPerM\w+\s*[:=]\s*\d/, "const sharedBytesPerMultiprocessor = 200_000;"],
  ["an architecture", /apability\s*(?:[<>]=?|[!=]==)/, "target.computeCapability >= 80"],
  [
    "an architecture",
    /\b(?:minimumArch|arch|from): (?:7[05]|8[0679]|90|1[02]0)\b/,
    "{ from: 90, version: 7.8 }",
  ],
  ["an architecture", /\b\w+Arch\s*=\s*\d/, "const hopperArch = 90;"],
];

/** Of one calibration, with the GPU that it was fitted on: shares of promised rates. And which rows have one GPU's generation. */
const allowed = /^src\/cost\/(?:coefficients\/|fitted\.ts$)/;

function sources(): string[] {
  return ["src", "cuda-runtime", "rules"]
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map((file) =>
        path.join(folder, file),
      ),
    )
    .filter((file) => file.endsWith(".ts") && !file.startsWith("src/hardware/") && !allowed.test(file));
}

function findings(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const found = patterns.find(([, pattern]) => pattern.test(line));
    return found === undefined ? [] : [`${found[0]}: ${line.trim()}`];
  });
}

describe("outside src/hardware", () => {
  test.each(patterns)("%s would be found by %s", (_, pattern, example) => {
    expect(example).toMatch(pattern);
    expect(findings(example)).toHaveLength(1);
  });

  test("no file says what a GPU does", () => {
    const files = sources();
    expect(files.length).toBeGreaterThan(500);
    const found = files.flatMap((file) =>
      findings(readFileSync(path.join(root, file), "utf8")).map((line) => `${file}: ${line}`),
    );
    expect(found).toEqual([]);
  });
});
