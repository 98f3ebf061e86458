/** @file One run of the command line with a fault: in this process, or in one of its own. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { Program } from "../../src/cli/program.ts";
import { arm, type Fault, faultVariable, firedCall, stdoutFailure } from "./injector.ts";
import type { Scenario } from "./scenarios.ts";

export interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The call that failed. */
  readonly fired: string | undefined;
  /** An error that nobody was there to catch. */
  readonly unhandled: string | undefined;
}

/** The executable's program, read once: what keeps its compiled code has a test of its own (test/cli/kept-code.test.ts). */
const programs = new Map<string, Program>();

function programBeside(script: string): Program {
  const known = programs.get(script);
  if (known !== undefined) return known;
  const name = readdirSync(path.dirname(script)).find((each) => /^program-.*\.cjs$/.test(each));
  const program: Program = createRequire(script)(path.join(path.dirname(script), name ?? ""));
  programs.set(script, program);
  return program;
}

/** Runs the program once more in this process: what it has loaded stays. */
export async function runHere(
  script: string,
  { args, env = {} }: Scenario,
  folder: string,
  fault: Fault | undefined,
): Promise<Outcome> {
  using streams = new Streams();
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on("uncaughtException", note).on("unhandledRejection", note);
  const [argv, environment] = [process.argv, process.env];
  const program = programBeside(script);
  const workerUrl = new URL("../worker.js", pathToFileURL(script));
  try {
    process.chdir(folder);
    process.argv = [process.execPath, script, ...args];
    process.env = { PATH: environment["PATH"], TMPDIR: path.join(folder, "..", "tmp"), ...env };
    process.exitCode = undefined;
    arm(fault);
    await program.run(args, workerUrl, () => {}).catch(note);
    const fired = firedCall();
    arm(undefined);
    await new Promise((done) => setImmediate(done));
    const exitCode = Number(process.exitCode ?? 0);
    return { exitCode, ...streams.texts, fired, unhandled: unhandled.map(String)[0] };
  } finally {
    arm(undefined);
    process.off("uncaughtException", note).off("unhandledRejection", note);
    process.argv = argv;
    process.env = environment;
    process.exitCode = 0;
  }
}

/** In the place of the process's own, for as long as it is not disposed of. */
class Streams implements Disposable {
  readonly #own = (["stdout", "stderr"] as const).map(
    (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
  );
  readonly texts = { stdout: "", stderr: "" };

  constructor() {
    for (const [name] of this.#own) {
      const stream = new Writable({
        write: (chunk, _encoding, done) => {
          const error = name === "stdout" ? stdoutFailure() : undefined;
          if (error === undefined) this.texts[name] += String(chunk);
          done(error);
        },
      });
      Object.defineProperty(process, name, { configurable: true, value: stream });
    }
  }

  [Symbol.dispose](): void {
    for (const [name, descriptor] of this.#own) {
      if (descriptor !== undefined) Object.defineProperty(process, name, descriptor);
    }
  }
}

/**
 * A process as users start it. In it, and in each thread and process of its own, the n-th call fails; the fault's marker says
 * whether one did.
 */
export function runInProcess(
  { script, injector }: { readonly script: string; readonly injector: string },
  { args, env = {} }: Scenario,
  folder: string,
  fault: Fault | undefined,
): Omit<Outcome, "fired"> {
  const { PATH = "" } = process.env;
  const { status, stdout, stderr, signal } = spawnSync(process.execPath, [script, ...args], {
    cwd: folder,
    encoding: "utf8",
    timeout: 150_000,
    env: {
      PATH,
      TMPDIR: path.join(folder, "..", "tmp"),
      ...env,
      // Not an argument: processes that it starts are to have it too.
      NODE_OPTIONS: `--import ${pathToFileURL(injector).href}`,
      [faultVariable]: fault === undefined ? "" : JSON.stringify(fault),
    },
  });
  const unhandled = signal === null ? undefined : `the end by ${signal}`;
  return { exitCode: status, stdout, stderr, unhandled };
}
