/** @file The worker that lints: ended to cancel, and started anew when it is needed again. Its code is part of the page. */
import type { Answer, Job } from "../protocol.ts";
import { element } from "./elements.ts";

export type Settled = Exclude<Answer, { readonly kind: "progress" }>;

export class Engine {
  /** There before it is asked for: to read its code takes longer than to lint most models. */
  #worker: Worker | undefined = started();
  #cancel: (() => void) | undefined;

  get isRunning(): boolean {
    return this.#cancel !== undefined;
  }

  /** Undefined where it was cancelled, or another job took its place. */
  run(job: Job, onProgress: (what: string) => void): Promise<Settled | undefined> {
    this.cancel();
    this.#worker ??= started();
    const worker = this.#worker;
    return new Promise((resolve) => {
      this.#cancel = () => resolve(undefined);
      worker.onmessage = ({ data }: MessageEvent<Answer>) => {
        if (data.kind === "progress") onProgress(data.what);
        else this.#settle(resolve, data);
      };
      // Out of memory, or of a stack: nothing is left of the worker to say so.
      worker.onerror = ({ message }) => {
        worker.terminate();
        this.#worker = undefined;
        const what = message === "" ? "the browser ended the work, for want of memory perhaps" : message;
        this.#settle(resolve, { kind: "failed", code: "internal-error", message: what });
      };
      worker.postMessage(job);
    });
  }

  cancel(): void {
    if (this.#cancel === undefined) return;
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#cancel();
    this.#cancel = undefined;
  }

  #settle(resolve: (answer: Settled) => void, answer: Settled): void {
    this.#cancel = undefined;
    resolve(answer);
  }
}

function started(): Worker {
  const code = element("engine", HTMLScriptElement).textContent ?? "";
  // Its address stays: not every browser has read the code when the worker is made.
  return new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
}
