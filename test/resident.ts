/**
 * @file The built command line without its start, which takes several times as long as a lint does: processes that stay, and run what they
 * are asked (resident-program.ts). test/cli/resident.test.ts holds what they print against what processes of their own print.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import type { Socket } from "node:net";
import path from "node:path";
import { buildSync } from "esbuild";
import type { Request } from "./resident-program.ts";

/** What a process wrote, and how it ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

const scriptName = "resident.mjs";
/** Behind a run's output. */
const mark = "<<the run is over>>";
/** A file that runs more at once starts more. */
const mostIdle = 2;

/** `root` is the checkout, `folder` that of a test run's one build. */
export function buildResident(root: string, folder: string): void {
  buildSync({
    entryPoints: [path.join(root, "test", "resident-program.ts")],
    outfile: path.join(folder, scriptName),
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
  });
}

/** Node, V8, the dynamic linker and libraries read these when a process starts. */
const readAtStart = /^(?:NODE_|LD_|DYLD_|UV_|MALLOC_|OMP_|LC_|LANG|TZ$)/;

export function isForResident(env: Request["env"]): boolean {
  return !Object.keys(env).some((name) => readAtStart.test(name));
}

const idle: Resident[] = [];

/** `folder` is that of a test run's one build. */
export async function runResident(folder: string, request: Request, milliseconds: number): Promise<Ended> {
  const resident = idle.pop() ?? new Resident(folder, request.env);
  const ended = await resident.run(request, milliseconds);
  if (resident.isThere && idle.length < mostIdle) idle.push(resident);
  else resident.leave();
  return ended;
}

class Resident {
  readonly #child: ChildProcess;
  readonly #texts = { exitCode: "", stdout: "", stderr: "" };
  #isClosed = false;
  #look = () => {};

  constructor(folder: string, env: Request["env"]) {
    const bin = path.join(folder, "dist", "bin");
    const program = readdirSync(bin).find((name) => name.startsWith("program-")) ?? "";
    this.#child = spawn(process.execPath, [path.join(folder, scriptName), path.join(bin, program), mark], {
      env,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    for (const [name, stream] of this.#streams) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#texts[name] += text;
        this.#look();
      });
      // Of a process that is gone.
      stream.on("error", () => {});
    }
    this.#child.on("close", () => {
      this.#isClosed = true;
      this.#look();
    });
    this.#isKeeping(false);
  }

  get isThere(): boolean {
    return !this.#isClosed && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Its own input ends, and it does. */
  leave(): void {
    this.#control.end();
  }

  async run(request: Request, milliseconds: number): Promise<Ended> {
    Object.assign(this.#texts, { exitCode: "", stdout: "", stderr: "" });
    this.#isKeeping(true);
    const timer = setTimeout(() => this.#child.kill(), milliseconds);
    try {
      return await new Promise((resolve, reject) => {
        this.#child.once("error", reject);
        this.#look = () => {
          const ended = this.#ended();
          if (ended !== undefined) resolve(ended);
        };
        this.#control.write(`${JSON.stringify(request)}\n`);
      });
    } finally {
      clearTimeout(timer);
      this.#child.removeAllListeners("error");
      this.#look = () => {};
      this.#isKeeping(false);
    }
  }

  /** Undefined while the run goes on. */
  #ended(): Ended | undefined {
    const { exitCode, stdout, stderr } = this.#texts;
    if (this.#isClosed)
      return { exitCode: this.#child.exitCode, signal: this.#child.signalCode, stdout, stderr };
    if (!exitCode.endsWith("\n") || !stdout.endsWith(mark) || !stderr.endsWith(mark)) return undefined;
    const [out, err] = [stdout.slice(0, -mark.length), stderr.slice(0, -mark.length)];
    return { exitCode: Number(exitCode), signal: null, stdout: out, stderr: err };
  }

  /** Whether this process waits for it. */
  #isKeeping(keeps: boolean): void {
    const change = keeps ? "ref" : "unref";
    this.#child[change]();
    for (const [, stream] of this.#streams) stream[change]();
  }

  /** Pipes of a child are sockets. */
  get #streams(): readonly (readonly ["stdout" | "stderr" | "exitCode", Socket])[] {
    const [, stdout, stderr] = this.#child.stdio as unknown as readonly Socket[];
    if (stdout === undefined || stderr === undefined) throw new Error("a child has pipes");
    return [
      ["stdout", stdout],
      ["stderr", stderr],
      ["exitCode", this.#control],
    ];
  }

  get #control(): Socket {
    return this.#child.stdio[3] as Socket;
  }
}
