/** @file How long programs take, by the host's clock: it works between the graphs. */
import type { Node } from "../../src/ir/model.ts";
import type { ProgramSession } from "./program-device.ts";
import { type TimeOptions, type Times, timesOf } from "./timing.ts";

const defaults = { warmup: 5, repeats: 50 };
/** As for runs of one graph: nothing of the run before is left in the L2. */
const flushFactor = 2;
const hostRounds = 7;

/** Whole runs, from inputs on the GPU to outputs there, each from a cold L2. A run has been made before. */
export function timeProgram(session: ProgramSession, options: TimeOptions = {}): Times {
  const { warmup = defaults.warmup, repeats = defaults.repeats } = options;
  const { context, stream } = session.device;
  using flush = context.allocate(flushFactor * context.device.l2Bytes);
  return quietly(session, () => {
    const samples: number[] = [];
    for (let run = -warmup; run < repeats; run++) {
      stream.fill(flush.address, 0, flush.bytes);
      session.synchronize();
      const start = performance.now();
      session.launch();
      session.synchronize();
      if (run >= 0) samples.push(1000 * (performance.now() - start));
    }
    return timesOf(samples);
  });
}

export interface HostTimes {
  readonly node: Node;
  readonly times: Times;
}

/** The host's work by node, copies to the host included: of a node in a loop, all iterations together. */
export function timeHost(session: ProgramSession): HostTimes[] {
  return quietly(session, () => {
    const samples = new Map<Node, number[]>();
    for (let round = 0; round < hostRounds; round++) {
      const own = new Map<Node, number>();
      session.launchTelling((node, microseconds) => own.set(node, (own.get(node) ?? 0) + microseconds));
      for (const [node, microseconds] of own) samples.set(node, [...(samples.get(node) ?? []), microseconds]);
    }
    return [...samples].map(([node, all]) => ({ node, times: timesOf(all) }));
  });
}

/** Nothing but the model is timed. */
function quietly<Result>({ device }: ProgramSession, work: () => Result): Result {
  const before = device.isPoisoned;
  device.isPoisoned = false;
  try {
    return work();
  } finally {
    device.isPoisoned = before;
  }
}
