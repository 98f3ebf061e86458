/** @file How far work on several models is, in words, as each of them begins and ends. */

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** What is being worked on. */
  readonly running: readonly string[];
}

/** Several at once: as many as a machine has cores. */
const mostNamed = 4;

/** `16 of 54 models: a.onnx, b.onnx`; of one its name. */
export function progressText({ done, total, running }: Progress, noun = "models"): string {
  if (total === 1) return running.join(", ");
  const more = running.length - mostNamed;
  const others = more > 0 ? ` and ${more} more` : "";
  const names = running.length === 0 ? "" : `: ${running.slice(0, mostNamed).join(", ")}${others}`;
  return `${done} of ${total} ${noun}${names}`;
}

/** Counts what begins and ends. */
export class Tally {
  readonly #total: number;
  readonly #report: (progress: Progress) => void;
  readonly #running = new Map<number, string>();
  #done = 0;

  constructor(total: number, report: (progress: Progress) => void) {
    this.#total = total;
    this.#report = report;
  }

  begin(index: number, label: string): void {
    this.#running.set(index, label);
    this.#tell();
  }

  end(index: number): void {
    this.#running.delete(index);
    this.#done += 1;
    this.#tell();
  }

  #tell(): void {
    this.#report({ done: this.#done, total: this.#total, running: [...this.#running.values()] });
  }
}
