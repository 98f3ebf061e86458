/** @file Streams, events on them, and graphs captured from them. */
import type { Driver } from "./driver.ts";

const nonBlocking = 1;
/** Calls that are unsafe during a capture fail only in the thread that captures. */
const threadLocalCapture = 1;

export class Stream implements Disposable {
  readonly #driver: Driver;
  readonly handle: number;

  constructor(driver: Driver) {
    this.#driver = driver;
    this.handle = driver.result((target) => driver.call("cuStreamCreate", target, nonBlocking));
  }

  /** Waits until all that was given to it is done. Throws CudaError where a kernel went wrong. */
  synchronize(): void {
    this.#driver.call("cuStreamSynchronize", this.handle);
  }

  record(event: TimingEvent): void {
    this.#driver.call("cuEventRecord", event.handle, this.handle);
  }

  fill(address: number, byte: number, bytes: number): void {
    if (bytes > 0) this.#driver.call("cuMemsetD8Async", address, byte, bytes, this.handle);
  }

  /** What `work` gives to this stream, as a graph that can be launched again and again. Nothing of it runs now. */
  capture(work: () => void): Graph {
    this.#driver.call("cuStreamBeginCapture_v2", this.handle, threadLocalCapture);
    let isWhole = false;
    try {
      work();
      isWhole = true;
    } finally {
      // A capture has to be ended even where it failed, and then what ending it says is not the news.
      if (!isWhole) this.#abandon();
    }
    const graph = this.#driver.result((target) =>
      this.#driver.call("cuStreamEndCapture", this.handle, target),
    );
    try {
      return new Graph(this.#driver, graph);
    } finally {
      this.#driver.release("cuGraphDestroy", graph);
    }
  }

  #abandon(): void {
    const graph = new BigUint64Array(1);
    this.#driver.binding.invoke("cuStreamEndCapture", [this.handle, graph]);
    if (graph[0] !== 0n) this.#driver.binding.invoke("cuGraphDestroy", [Number(graph[0])]);
  }

  [Symbol.dispose](): void {
    this.#driver.release("cuStreamDestroy_v2", this.handle);
  }
}

export class TimingEvent implements Disposable {
  readonly #driver: Driver;
  readonly handle: number;

  constructor(driver: Driver) {
    this.#driver = driver;
    this.handle = driver.result((target) => driver.call("cuEventCreate", target, 0));
  }

  synchronize(): void {
    this.#driver.call("cuEventSynchronize", this.handle);
  }

  /** From an earlier event to this one, once both have happened. Resolution is half a microsecond. */
  microsecondsSince(start: TimingEvent): number {
    const milliseconds = new Float32Array(1);
    this.#driver.call("cuEventElapsedTime", milliseconds, start.handle, this.handle);
    return 1000 * (milliseconds[0] ?? 0);
  }

  [Symbol.dispose](): void {
    this.#driver.release("cuEventDestroy_v2", this.handle);
  }
}

/** How long work on a stream takes, one piece of it at a time. */
export class StreamClock implements Disposable {
  readonly #stream: Stream;
  readonly #start: TimingEvent;
  readonly #end: TimingEvent;

  constructor(driver: Driver, stream: Stream) {
    this.#stream = stream;
    this.#start = new TimingEvent(driver);
    this.#end = new TimingEvent(driver);
  }

  /** Microseconds of what `work` gives to the stream; waits for it. */
  microsecondsOf(work: () => void): number {
    this.#stream.record(this.#start);
    work();
    this.#stream.record(this.#end);
    this.#end.synchronize();
    return this.#end.microsecondsSince(this.#start);
  }

  [Symbol.dispose](): void {
    this.#end[Symbol.dispose]();
    this.#start[Symbol.dispose]();
  }
}

export class Graph implements Disposable {
  readonly #driver: Driver;
  readonly #handle: number;

  /** Instantiates a captured graph, which stays its caller's. */
  constructor(driver: Driver, graph: number) {
    this.#driver = driver;
    this.#handle = driver.result((target) => driver.call("cuGraphInstantiateWithFlags", target, graph, 0));
  }

  launch(stream: Stream): void {
    this.#driver.call("cuGraphLaunch", this.#handle, stream.handle);
  }

  /** Moves it to the device, so that the first launch takes no longer than others. */
  upload(stream: Stream): void {
    this.#driver.call("cuGraphUpload", this.#handle, stream.handle);
  }

  [Symbol.dispose](): void {
    this.#driver.release("cuGraphExecDestroy", this.#handle);
  }
}
