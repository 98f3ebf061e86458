/** @file One line on stderr for what takes longer than a second; erased before anything else is printed. */
import { writeSync } from "node:fs";
import { printable } from "../report/format.ts";

const patienceMilliseconds = 1000;
const stderr = 2;
const eraseLine = "\r\u001b[2K";

export class ProgressLine {
  readonly #isTerminal: boolean;
  readonly #columns: number;
  readonly #started = performance.now();
  #shown = false;

  constructor({
    isTerminal,
    columns = 80,
  }: { readonly isTerminal: boolean; readonly columns?: number | undefined }) {
    this.#isTerminal = isTerminal;
    this.#columns = columns;
  }

  /** Written at once, so that it shows while the thread is busy. Nothing within the first second. */
  show(text: string): void {
    if (!this.#isTerminal || performance.now() - this.#started < patienceMilliseconds) return;
    writeSync(stderr, `${eraseLine}${printable(text).slice(0, this.#columns - 1)}`);
    this.#shown = true;
  }

  erase(): void {
    if (this.#shown) writeSync(stderr, eraseLine);
    this.#shown = false;
  }
}
