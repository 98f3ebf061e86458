/** @file Runs of the command line whose every call on files is made to fail, and the folders they run in. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeExternal, writeInline } from "../fix/models.ts";

export interface Scenario {
  readonly name: string;
  readonly args: readonly string[];
  /** Contents by path, below the working folder. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly env?: Readonly<Record<string, string>>;
  /** Files that it makes or replaces: as they were, or the whole result. */
  readonly results: readonly string[];
  /** Reports on the run: as they were, or whole, with what failed in them. */
  readonly reports?: readonly string[];
  /** It works in threads or processes of its own, which only a real process can be made to fail in. */
  readonly needsProcess?: boolean;
}

const fixing = ["--no-verify", "--min-saving", "0", "--select", "TC101", "--no-color"];
const linting = ["--select", "TC101", "--no-color"];
const config = Buffer.from('{ "minSaving": 0 }');
const oldReport = Buffer.from("the report of the run before\n");

/** Written once into a folder of their own, and taken from there. */
function modelFiles(): {
  readonly inline: Uint8Array;
  readonly outer: Uint8Array;
  readonly weights: Uint8Array;
} {
  const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-scenario-"));
  try {
    const inline = readFileSync(writeInline(folder));
    const outer = readFileSync(writeExternal(folder));
    return { inline, outer, weights: readFileSync(path.join(folder, "model.weights")) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function scenarios(): readonly Scenario[] {
  const { inline, outer, weights } = modelFiles();
  const own = new Map([["model.onnx", inline]]);
  const external = new Map([
    ["model.onnx", outer],
    ["model.weights", weights],
  ]);
  const configured = new Map([...external, ["tc-lint.config.json", config]]);
  const reported = new Map([
    ...own,
    ["report.json", oldReport],
    ["summary.md", oldReport],
    ["new/keep", oldReport],
  ]);
  const model = "model.onnx";
  return [
    { name: "lint", args: [model, ...linting], files: configured, results: [] },
    {
      name: "lint -o",
      args: [model, ...linting, "-f", "json=report.json", "-f", "sarif=new/report.sarif"],
      files: reported,
      results: [],
      reports: ["report.json", "new/report.sarif"],
    },
    {
      name: "lint of several",
      args: [model, "other.onnx", ...linting, "-j", "1"],
      files: new Map([...configured, ["other.onnx", inline]]),
      results: [],
      needsProcess: true,
    },
    { name: "print-config", args: ["print-config", model], files: configured, results: [] },
    { name: "bench --plan", args: ["bench", "--plan", "--no-color", model], files: configured, results: [] },
    { name: "--diff", args: ["--diff", model, ...fixing], files: configured, results: [] },
    { name: "--fix", args: ["--fix", model, ...fixing], files: own, results: [model] },
    {
      name: "--fix of external data",
      args: ["--fix", model, ...fixing],
      files: configured,
      results: [model],
    },
    {
      name: "--fix-output",
      args: ["--fix-output", "out/fixed.onnx", model, ...fixing],
      files: new Map([...own, ["out/fixed.onnx", inline]]),
      results: ["out/fixed.onnx"],
    },
    {
      name: "--fix-output of external data",
      args: ["--fix-output", "out/fixed.onnx", model, ...fixing, "--fix-only", "-f", "json=report.json"],
      files: new Map([...external, ["report.json", oldReport], ["out/keep", oldReport]]),
      results: ["out/fixed.onnx"],
      reports: ["report.json"],
    },
    {
      name: "verify",
      args: ["verify", model, "other.onnx", "--no-color"],
      files: new Map([...external, ["other.onnx", inline]]),
      results: [],
      needsProcess: true,
    },
    {
      name: "--fix, verified",
      args: ["--fix-only", model, ...fixing.slice(1)],
      files: own,
      results: [model],
      needsProcess: true,
    },
  ];
}
