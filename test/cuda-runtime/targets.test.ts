/** Which architectures a family is compiled for together: those that take the same branches of its source. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { allArchitectures, frontEndOf, machineCodeOf } from "../../scripts/cuda-targets.mjs";

const numberOf = (arch: string) => 10 * Number.parseInt(arch, 10);
const architecture = fc.constantFrom(...allArchitectures);
const threshold = fc.integer({ min: 60, max: 125 }).map((tens) => 10 * tens);
const comparison = fc.record({ threshold, isBelow: fc.boolean() });

test("a front end takes every branch that the architecture takes", () => {
  fc.assert(
    fc.property(fc.array(comparison), architecture, (comparisons, arch) => {
      const source = comparisons
        .map(({ threshold: value, isBelow }) => `#if __CUDA_ARCH__ ${isBelow ? "<" : ">="} ${value}\n#endif`)
        .join("\n");
      const frontEnd = frontEndOf(source, arch);
      expect(numberOf(frontEnd)).toBeLessThanOrEqual(numberOf(arch));
      // CUDA's headers have branches of their own.
      for (const value of [...comparisons.map((each) => each.threshold), 800, 900])
        expect(numberOf(frontEnd) >= value).toBe(numberOf(arch) >= value);
    }),
  );
});

test("code of one architecture is for that alone, and later ones take the plain branch", () => {
  const source = "#if defined(__CUDA_ARCH_FEAT_SM90_ALL)";
  expect(allArchitectures.map((arch) => frontEndOf(source, arch))).toEqual([
    "75",
    "80",
    "80",
    "80",
    "90a",
    "90",
    "90",
  ]);
});

test("machine code runs on later architectures of its major version that would be compiled from the same PTX", () => {
  const codeOf = (source: string) => allArchitectures.map((arch) => machineCodeOf(source, arch));
  expect(codeOf("")).toEqual(["75", "80", "80", "80", "90a", "100", "120"]);
  expect(codeOf("#if __CUDA_ARCH__ >= 890")).toEqual(["75", "80", "80", "89", "90a", "100", "120"]);
  expect(codeOf("#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 860")).toEqual([
    "75",
    "80",
    "86",
    "86",
    "90a",
    "100",
    "120",
  ]);
});
