/**
 * @file Loads the program with the code that V8 compiled of it in an earlier run: parsing and compiling is most of a short run. Node
 * keeps such code itself from 22.8 on. Imports Node's own alone: a start waits for it.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import * as nodeModule from "node:module";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { getHeapCodeStatistics, setFlagsFromString } from "node:v8";
import * as vm from "node:vm";
import { importModule } from "../ir/import-module.ts";
import { keptCodePath, readKeptCode, writeKeptCode } from "./kept-code.ts";

/**
 * V8 11 optimises a function that ran through 66 KiB of its bytecode. Most functions of a lint run for milliseconds: code optimised
 * for them, and again where their types widen, takes as long as the lint itself, in every worker thread. With this, what is hot for
 * longer is optimised a few milliseconds later. Later versions compile in steps of their own, and know no such flag.
 *
 * V8 optimises beside the thread that runs: where that is the only one, and another processor is idle, sooner is faster, up to this. Code is kept by the
 * flags that there are, so that it is taken and given with those that threads have.
 */
export const laterOptimizing = { v8: "11.3.", budgets: { alone: 300_000, besideOthers: 1_000_000 } } as const;

/** By how much more a run must have compiled than the one that kept its code: the next run like it saves as much time as writing takes. */
const leastGrowth = 1.05;

/** To tell, V8 walks its heap: 3 to 4 ms. Code that has just been kept is of one run, and the next may need more; of older code one run in a few asks. */
const settledMilliseconds = 30_000;
const runsPerLook = 8;

/** A program that was loaded. */
export interface Loaded<Program> {
  readonly program: Program;
  /** Keeps what is compiled by now for runs to come; where about as much is kept, or that is Node's to do, nothing. */
  readonly keepCompiled: () => void;
}

/**
 * `file`: a CommonJS script whose name changes with its text, and whose exports are a `Program`. What a thread compiles is kept until a run of its own
 * comes, which needs more than threads do: what prints, for one.
 */
export function loadProgram<Program>(file: URL, { inThread = false } = {}): Loaded<Program> {
  optimizeLater();
  const require = nodeModule.createRequire(file);
  const path = fileURLToPath(file);
  if ("enableCompileCache" in nodeModule && typeof nodeModule.enableCompileCache === "function") {
    nodeModule.enableCompileCache();
    return { program: require(path), keepCompiled: () => {} };
  }
  const keptPath = keptCodePath(path);
  const kept = keptPath === undefined ? undefined : readKeptCode(keptPath);
  const script = new vm.Script(wrappedText(path), {
    filename: path,
    ...(kept && { cachedData: kept.code }),
  });
  if (!inThread && availableParallelism() > 1) setBudget(laterOptimizing.budgets.alone);
  const module = { exports: {} };
  script.runInThisContext()(module.exports, require, module, path, dirname(path), importModule);
  const keptBytes = script.cachedDataRejected === true ? undefined : kept?.compiledBytes;
  let isDecided = keptPath === undefined;
  return {
    program: module.exports as Program,
    keepCompiled() {
      if (keptPath === undefined || isDecided) return;
      isDecided = true;
      if (inThread && keptBytes !== undefined) return;
      const isSettled = keptBytes !== undefined && (kept?.ageMilliseconds ?? 0) > settledMilliseconds;
      if (isSettled && Math.random() * runsPerLook >= 1) return;
      const compiledBytes = inThread ? 0 : getHeapCodeStatistics().bytecode_and_metadata_size;
      if (keptBytes !== undefined && compiledBytes <= leastGrowth * keptBytes) return;
      optimizeLater();
      writeKeptCode(keptPath, { code: script.createCachedData(), compiledBytes });
    },
  };
}

export function optimizeLater(): void {
  setBudget(laterOptimizing.budgets.besideOthers);
}

/** Of the whole process: a thread that begins decides for those that are there. */
function setBudget(budget: number): void {
  if (process.versions.v8.startsWith(laterOptimizing.v8)) setFlagsFromString(`--interrupt-budget=${budget}`);
}

const before = "(function(exports,require,module,__filename,__dirname,importByLoader){";
const behind = "\n})";

/**
 * As Node wraps CommonJS, and with what imports modules (importModule). In one piece: strings that are joined are copied to V8's heap,
 * megabytes that its collector then counts.
 */
export function wrappedText(path: string): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const text = Buffer.allocUnsafeSlow(before.length + size + behind.length);
    text.write(before, "latin1");
    for (let done = 0; done < size; ) {
      const read = readSync(file, text, before.length + done, size - done, done);
      if (read === 0) throw new Error(`${path} was cut while it was read`);
      done += read;
    }
    text.write(behind, before.length + size, "latin1");
    return text.toString("latin1");
  } finally {
    closeSync(file);
  }
}
