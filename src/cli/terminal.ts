/** @file What a terminal is shown beside text: colours, and a line that says what takes its time. */
import { writeSync } from "node:fs";
import { printable } from "../ir/format.ts";
import type { ColorLevel } from "../report/render.ts";

export interface ColorContext {
  /** `--color` or `--no-color`. */
  readonly flag: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
}

/** Whether to colour: the flag decides, then FORCE_COLOR, then NO_COLOR, then whether a terminal reads. */
export function colorLevel({ flag, env, isTerminal }: ColorContext): ColorLevel {
  return isColored(flag, env, isTerminal) ? 1 : 0;
}

/** Of a report: the environment speaks for stdout alone, not for files. */
export function reportColor(flag: boolean | undefined, toStdout: boolean): ColorLevel {
  const isTerminal = toStdout && process.stdout.isTTY === true;
  return colorLevel({ flag, env: toStdout ? process.env : {}, isTerminal });
}

function isColored(flag: boolean | undefined, env: ColorContext["env"], isTerminal: boolean): boolean {
  if (flag !== undefined) return flag;
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: term } = env;
  if (force !== undefined) return force !== "0" && force !== "false";
  if (no !== undefined && no !== "") return false;
  return isTerminal && term !== "dumb";
}

const patienceMilliseconds = 1000;
const stderr = 2;
const eraseLine = "\r\u001b[2K";

/** One line on stderr for what takes longer than a second; erased before anything else is printed. */
export class ProgressLine {
  readonly #isTerminal = process.stderr.isTTY === true;
  readonly #columns = process.stderr.columns ?? 80;
  readonly #started = performance.now();
  readonly #eraseAtExit = () => this.erase();
  #shown = false;

  /** Written at once, so that it shows while the thread is busy. Nothing within the first second. */
  show(text: string): void {
    if (!this.#isTerminal || performance.now() - this.#started < patienceMilliseconds) return;
    writeSync(stderr, `${eraseLine}${printable(text).slice(0, this.#columns - 1)}`);
    if (!this.#shown) process.once("exit", this.#eraseAtExit);
    this.#shown = true;
  }

  erase(): void {
    if (!this.#shown) return;
    process.off("exit", this.#eraseAtExit);
    writeSync(stderr, eraseLine);
    this.#shown = false;
  }
}

/** What `work` gives, with what it says of its progress on a line that is gone when it is done. */
export async function withProgress<T>(work: (say: (what: string) => void) => Promise<T>): Promise<T> {
  const progress = new ProgressLine();
  try {
    return await work((what) => progress.show(what));
  } finally {
    progress.erase();
  }
}
