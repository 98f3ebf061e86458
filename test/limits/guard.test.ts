import { describe, expect, it } from "vitest";
import { InputError } from "../../src/ir/errors.ts";
import { Guard, secondsFor } from "../../src/limits/guard.ts";
import { temporaryFolder } from "../cli/models.ts";

const task = { path: "model.onnx", doing: "linting" } as const;

describe("guarded work", () => {
  it("gives back what it returns or throws", () => {
    const guard = new Guard({ ...task, timeoutSeconds: 60 });
    expect(guard.run(() => [1, 2])).toEqual([1, 2]);
    expect(guard.run(() => undefined)).toBeUndefined();
    const error = new InputError("not-onnx", "model.onnx: is none");
    expect(() =>
      guard.run(() => {
        throw error;
      }),
    ).toThrow(error);
    expect(Object.keys(globalThis).filter((name) => name.includes("tcLint"))).toEqual([]);
  });

  const endless: readonly (readonly [string, () => unknown])[] = [
    [
      "a loop",
      () => {
        for (;;);
      },
    ],
    [
      "a loop that catches everything",
      () => {
        for (;;) {
          try {
            for (;;);
          } catch {}
        }
      },
    ],
    ["a regular expression", () => /^(a+)+$/.test(`${"a".repeat(60)}b`)],
    ["a sort", () => Array.from({ length: 3e7 }, (_, index) => (index * 7919) % 1e6).sort()],
  ];
  it.each(endless)("that is %s ends at the deadline, and no more of it begins", (_, work) => {
    const guard = new Guard({ ...task, timeoutSeconds: 0.2 });
    expect(() => guard.run(work)).toThrow(
      new InputError("timeout", "model.onnx: linting it was stopped after 0.2 s; --timeout allows more"),
    );
    expect(() => guard.run(() => "more")).toThrow(/stopped after 0.2 s/);
    expect(() => guard.runRepeatable(() => "more")).toThrow(/stopped after 0.2 s/);
  });

  it("that may be begun again is, when it was not done at once", () => {
    let calls = 0;
    const guard = new Guard({ ...task, timeoutSeconds: 60, memoryBytes: 2 ** 40 });
    const result = guard.runRepeatable(() => {
      calls += 1;
      while (calls === 1);
      return "done";
    });
    expect([result, calls]).toEqual(["done", 2]);
  });

  it("that reads little of a large file is done at once; what reads much is begun again, and not counted then", () => {
    const limits = { ...task, timeoutSeconds: 60, memoryBytes: 2 ** 40 };
    const counted: boolean[] = [];
    const reading = (bytes: number) =>
      new Guard(limits).runReading((onRead) => {
        counted.push(onRead !== undefined);
        for (let read = 0; read < bytes; read += 2 ** 20) onRead?.(2 ** 20);
        return bytes;
      });
    expect(reading(2 ** 22)).toBe(2 ** 22);
    expect(counted).toEqual([true]);
    expect(reading(2 ** 25)).toBe(2 ** 25);
    expect(counted).toEqual([true, true, false]);
  });
});

describe("the deadline", () => {
  it("is what was asked for, else by the file's size, with an end", () => {
    using folder = temporaryFolder();
    const path = folder.write("model.onnx", new Uint8Array(2 ** 21));
    expect(secondsFor({ path, doing: "linting", timeoutSeconds: 7 })).toBe(7);
    expect(secondsFor({ path, doing: "linting" })).toBe(70);
    expect(secondsFor({ path, doing: "fixing" })).toBe(360);
    expect(secondsFor({ path: `${path}/none`, doing: "planning" })).toBe(300);
  });
});
