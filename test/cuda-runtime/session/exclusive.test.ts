/** @file The lock of measurements: given back whatever happens, and taken over from a process that died. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { exclusively } from "../../../cuda-runtime/session/exclusive.ts";

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-lock-"));
const file = path.join(folder, "lock");

afterEach(() => rmSync(file, { force: true }));

describe("exclusively", () => {
  test("holds the file while the work runs", () => {
    const seen = exclusively(file, () => readFileSync(file, "utf8"));
    expect(Number(seen)).toBe(process.pid);
    expect(existsSync(file)).toBe(false);
  });

  test("gives it back where the work throws", () => {
    const fail = () =>
      exclusively(file, () => {
        throw new Error("measured nothing");
      });
    expect(fail).toThrow("measured nothing");
    expect(existsSync(file)).toBe(false);
  });

  test("takes over what a process that is gone left behind", () => {
    const { pid } = spawnSync(process.execPath, ["--version"]);
    writeFileSync(file, String(pid));
    expect(exclusively(file, () => 7)).toBe(7);
  });

  test("takes over what has been held for longer than anything takes", () => {
    writeFileSync(file, String(process.pid));
    const before = Date.now() / 1000 - 600;
    utimesSync(file, before, before);
    expect(exclusively(file, () => 7)).toBe(7);
  });

  test("needs no file where there is nobody else", () => {
    expect(exclusively(undefined, () => 7)).toBe(7);
  });
});
