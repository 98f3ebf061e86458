/**
 * @file The built command line in a process that stays (resident.ts): each run evaluates the program anew in an isolate that has it compiled.
 * A run is over when nothing keeps the process, as with one of its own. What a later run could tell from a new process (a module of a
 * project, a package, a child that is still there, standard input) is left to the process's own end, which follows.
 *
 * Arguments: the program's script, what stands behind a run's output. Descriptor 3 takes a `Request` a line, and tells exit codes.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import type { EventEmitter } from "node:events";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import type { Worker } from "node:worker_threads";
import { keptCodePath, readKeptCode } from "../src/cli/kept-code.ts";
import { optimizeLater, wrappedText } from "../src/cli/load-program.ts";
import type { Program } from "../src/cli/program.ts";
import { importModule } from "../src/ir/import-module.ts";

export interface Request {
  readonly args: readonly string[];
  readonly cwd: string;
  /** All of it. */
  readonly env: Readonly<Record<string, string>>;
}

const mostResidentBytes = 500e6;
const [, , script = "", mark = ""] = process.argv;
const url = pathToFileURL(script);
const require = createRequire(url);
const loadedBefore = new Set(Object.keys(require.cache));
let isUsedUp = false;

optimizeLater();
const keptPath = keptCodePath(script);
const kept = keptPath === undefined ? undefined : readKeptCode(keptPath);
const compiled = new Script(wrappedText(script), {
  filename: script,
  ...(kept && { cachedData: kept.code }),
});

/** The program, which knows nothing of runs before. */
function load(): Program {
  const module = { exports: {} };
  compiled.runInThisContext()(
    module.exports,
    require,
    module,
    script,
    path.dirname(script),
    (named: string) => {
      isUsedUp = true;
      return importModule(named);
    },
  );
  return module.exports as Program;
}

const { stdin } = process;
Object.defineProperty(process, "stdin", {
  get: () => {
    isUsedUp = true;
    return stdin;
  },
});

/** Those that have not ended. */
const [workers, children] = [new Set<Worker>(), new Set<ChildProcess>()];
process.on("worker", (worker) => {
  workers.add(worker);
  worker.once("exit", () => workers.delete(worker));
});
subscribe("child_process", (message) => {
  const { process: child } = message as { readonly process: ChildProcess };
  children.add(child);
  child.once("exit", () => children.delete(child));
});

const emitters: readonly EventEmitter[] = [process, process.stdout, process.stderr];
function listeners(): Set<unknown> {
  return new Set(emitters.flatMap((each) => each.eventNames().flatMap((name) => each.rawListeners(name))));
}
function forgetListeners(before: ReadonlySet<unknown>): void {
  for (const each of emitters)
    for (const name of each.eventNames())
      for (const listener of each.rawListeners(name))
        if (!before.has(listener)) each.off(String(name), listener as () => void);
}

const control = new Socket({ fd: 3 });
let finish: (() => void) | undefined;
process.on("beforeExit", () => finish?.());

function begin({ args, cwd, env }: Request): void {
  const before = listeners();
  control.unref();
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  finish = () => {
    const isLarge = process.memoryUsage.rss() > mostResidentBytes;
    if (isUsedUp || hasPackages() || isLarge || children.size > 0) return;
    finish = undefined;
    void end(before);
  };
  void load().run(args, new URL("../worker.js", url), () => {});
}

/** Whether code of packages was loaded. Their manifests are read anew. */
function hasPackages(): boolean {
  const loaded = Object.keys(require.cache).filter((file) => !loadedBefore.has(file));
  for (const file of loaded) if (file.endsWith(".json")) delete require.cache[file];
  return loaded.some((file) => !file.endsWith(".json"));
}

/** As the process would end, and with it the threads that do not keep it. */
async function end(before: ReadonlySet<unknown>): Promise<void> {
  control.ref();
  process.emit("exit", Number(process.exitCode ?? 0));
  const exitCode = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  await Promise.all([...workers].map((worker) => worker.terminate()));
  forgetListeners(before);
  process.stdout.write(mark);
  process.stderr.write(mark);
  control.write(`${exitCode}\n`);
}

let pending = "";
control.setEncoding("utf8").on("data", (text: string) => {
  const lines = `${pending}${text}`.split("\n");
  pending = lines.pop() ?? "";
  for (const line of lines) begin(JSON.parse(line));
});
