/** @file What takes its time says how far it is, on stderr: one rule for every command and every format. */
import { writeSync } from "node:fs";
import { printable } from "../ir/format.ts";
import { steadyMilliseconds } from "../ir/time.ts";
import { complain, standsUntilSaid } from "./stderr.ts";

/** Where progress is shown. */
export interface Screen {
  /** Whether a line on it can be written over. */
  readonly isTerminal: boolean;
  readonly columns: number;
  /** In a terminal: at once, so that it shows while the thread is busy. */
  readonly write: (text: string) => void;
  /** Elsewhere: a line that stays. */
  readonly log: (line: string) => void;
}

const stderr = 2;
const eraseLine = "\r\u001b[2K";
const milliseconds = 1000;
/** Of the run: less is over before anybody asks. What is logged stays, in logs of CI too: no line of a run as they usually are. */
const patienceSeconds = { terminal: 1, log: 10 } as const;

/**
 * Of one run, however many models it has. In a terminal one line after the first second, written over and gone in the end; elsewhere a line
 * after ten seconds, and another whenever the run has taken twice as long.
 */
export class Progress {
  readonly #screen: Screen;
  readonly #started = steadyMilliseconds();
  readonly #takeDown = () => this.#hide();
  #dueSeconds: number;
  #latest: string | undefined;
  #stage = "";
  #timer: NodeJS.Timeout | undefined;
  #isShown = false;

  constructor(screen = stderrScreen()) {
    this.#screen = screen;
    this.#dueSeconds = screen.isTerminal ? patienceSeconds.terminal : patienceSeconds.log;
  }

  /** Of a run that counts its models more than once: what the next count is of. */
  enter(stage: string): void {
    this.#stage = `${stage}: `;
  }

  /** What the run is at. It is shown when its time has come, be it that nothing is said until then. */
  show(text: string): void {
    this.#latest = `${this.#stage}${text}`;
    this.#tell();
  }

  /** Before anything else is printed, and when the work is done. */
  erase(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#latest = undefined;
    this.#hide();
  }

  #hide(): void {
    if (!this.#isShown) return;
    process.off("exit", this.#takeDown);
    standsUntilSaid(undefined);
    this.#screen.write(eraseLine);
    this.#isShown = false;
  }

  #tell(): void {
    if (this.#latest === undefined) return;
    const seconds = (steadyMilliseconds() - this.#started) / milliseconds;
    if (seconds >= this.#dueSeconds) {
      if (this.#screen.isTerminal) return this.#overwrite(this.#latest);
      this.#screen.log(`after ${Math.floor(seconds)} s: ${this.#latest}`);
      while (this.#dueSeconds <= seconds) this.#dueSeconds *= 2;
    }
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        this.#tell();
      },
      (this.#dueSeconds - seconds) * milliseconds,
    ).unref();
  }

  #overwrite(text: string): void {
    this.#screen.write(`${eraseLine}${printable(text).slice(0, this.#screen.columns - 1)}`);
    if (this.#isShown) return;
    process.once("exit", this.#takeDown);
    standsUntilSaid(this.#takeDown);
    this.#isShown = true;
  }
}

function stderrScreen(): Screen {
  return {
    isTerminal: process.stderr.isTTY === true && process.env["TERM"] !== "dumb",
    columns: process.stderr.columns ?? 80,
    write: (text) => writeSync(stderr, text),
    log: (line) => complain(line),
  };
}

/** What `work` gives, with what it says of its progress, which is gone when it is done. */
export async function withProgress<T>(
  work: (say: (what: string) => void) => T | Promise<T>,
  progress = new Progress(),
): Promise<T> {
  try {
    return await work((what) => progress.show(what));
  } finally {
    progress.erase();
  }
}
