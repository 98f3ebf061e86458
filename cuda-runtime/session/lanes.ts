/** @file Streams for the lanes of a run while it is captured: what waits for what becomes an edge of the graph. */
import type { Driver } from "../driver/driver.ts";
import { Owned } from "../driver/owned.ts";
import { Stream, TimingEvent } from "../driver/stream.ts";
import type { Step } from "../ir/step.ts";

/** The first lane is `main`, which is captured; the others are forked from it and joined again. */
export class LaneStreams implements Disposable {
  readonly #owned = new Owned();
  readonly #driver: Driver;
  readonly #streams: Stream[];
  /** Steps that those of other lanes wait for, and the events behind them. */
  readonly #awaited: ReadonlySet<number>;
  readonly #over = new Map<number, TimingEvent>();

  constructor(driver: Driver, steps: readonly Step[], main: Stream) {
    this.#driver = driver;
    this.#streams = [main];
    this.#awaited = new Set(steps.flatMap(({ waits = [] }) => waits));
  }

  /** Has `launch` give the run's next step, the `index`th, to its lane's stream. Returns that. */
  launch({ lane = 0, waits = [] }: Step, index: number, launch: (stream: Stream) => void): Stream {
    const stream = this.#streams[lane] ?? this.#owned.use(new Stream(this.#driver));
    this.#streams[lane] = stream;
    for (const wait of waits) {
      const event = this.#over.get(wait);
      if (event !== undefined) this.#wait(stream, event);
    }
    launch(stream);
    if (this.#awaited.has(index)) this.#over.set(index, this.#mark(stream));
    return stream;
  }

  /** `after` goes on once what was given to `before` is over. */
  follow(before: Stream, after: Stream): void {
    this.#wait(after, this.#mark(before));
  }

  /** The first lane goes on once all are over. */
  join(): void {
    const [main, ...others] = this.#streams;
    for (const other of others) if (main !== undefined && other !== undefined) this.follow(other, main);
  }

  #mark(stream: Stream): TimingEvent {
    const event = this.#owned.use(new TimingEvent(this.#driver));
    stream.record(event);
    return event;
  }

  #wait(stream: Stream, event: TimingEvent): void {
    this.#driver.call("cuStreamWaitEvent", stream.handle, event.handle, 0);
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}
