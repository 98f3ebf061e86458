/**
 * @file Constants that are made twice in the same way become one: every iteration of an unrolled loop packs its weights
 * anew, and so does every call of a function.
 */
import { addressesIn, withViews } from "../ir/params.ts";
import { type Launch, type Step, touched } from "../ir/step.ts";
import type { DeviceBuffer, View } from "../ir/view.ts";

/** `prepare` without the steps that make again what is there, and `steps` that read what is left. */
export function withoutDuplicates(
  prepare: readonly Step[],
  steps: readonly Step[],
): { readonly prepare: Step[]; readonly steps: Step[] } {
  const same = duplicatesIn(prepare);
  if (same.size === 0) return { prepare: [...prepare], steps: [...steps] };
  const isLeft = (step: Step) => touched(step.action)[1].every(({ buffer }) => !same.has(buffer));
  const redirect = (step: Step) => redirected(step, same);
  return { prepare: prepare.filter(isLeft).map(redirect), steps: steps.map(redirect) };
}

/** What a buffer that only constants go into is written by, in order; undefined where that does not say all of it. */
type Writers = Map<DeviceBuffer, Launch[] | undefined>;

/** From a buffer to the one before it with the same content. */
function duplicatesIn(prepare: readonly Step[]): Map<DeviceBuffer, DeviceBuffer> {
  const same = new Map<DeviceBuffer, DeviceBuffer>();
  const known = new Map<string, DeviceBuffer>();
  for (const [buffer, launches] of writersIn(prepare)) {
    if (launches === undefined) continue;
    const content = launches.map((launch) => signatureOf(launch, same)).join("\n");
    const first = known.get(content);
    if (first === undefined) known.set(content, buffer);
    else same.set(buffer, first);
  }
  return same;
}

/** Buffers in the order in which they are finished. */
function writersIn(prepare: readonly Step[]): Writers {
  const writers: Writers = new Map();
  const read = new Set<DeviceBuffer>();
  for (const { action } of prepare) {
    const [reads, writes] = touched(action);
    for (const { buffer } of reads) read.add(buffer);
    const buffers = new Set(writes.map(({ buffer }) => buffer));
    for (const buffer of buffers) {
      const before = writers.has(buffer) ? writers.get(buffer) : [];
      // Written after it was read, or beside another one: its content is not told by its writers alone.
      const isPlain =
        action.kind === "launch" &&
        isToldByParams(action.launch) &&
        buffer.kind === "temporary" &&
        buffers.size === 1 &&
        !read.has(buffer);
      writers.delete(buffer);
      writers.set(buffer, isPlain && before !== undefined ? [...before, action.launch] : undefined);
    }
  }
  return writers;
}

/** Whether the parameters point at all that the launch touches. */
function isToldByParams({ reads, writes, params }: Launch): boolean {
  const pointed = new Set(addressesIn(params).map(({ view }) => view.buffer));
  return [...reads, ...writes].every(({ buffer }) => pointed.has(buffer));
}

function signatureOf(launch: Launch, same: ReadonlyMap<DeviceBuffer, DeviceBuffer>): string {
  const { kernel, grid, block, sharedBytes, cluster, params, writes } = launch;
  const own = new Set(writes.map(({ buffer }) => buffer));
  const pointers = addressesIn(params).map(({ at, view, ...map }) => {
    const buffer = own.has(view.buffer)
      ? `to of ${view.buffer.bytes}`
      : (same.get(view.buffer) ?? view.buffer).id;
    return `${at} ${buffer} ${view.offset} ${JSON.stringify(map)}`;
  });
  const bytes = Buffer.from(params.bytes).toString("base64");
  return [kernel.entry, grid, block, sharedBytes, cluster, bytes, ...pointers].join(" ");
}

function redirected(step: Step, same: ReadonlyMap<DeviceBuffer, DeviceBuffer>): Step {
  const { action } = step;
  if (action.kind !== "launch") return step;
  const { launch } = action;
  if (!launch.reads.some(({ buffer }) => same.has(buffer))) return step;
  const view = (from: View): View => ({ ...from, buffer: same.get(from.buffer) ?? from.buffer });
  const params = withViews(launch.params, view);
  return {
    ...step,
    action: { kind: "launch", launch: { ...launch, params, reads: launch.reads.map(view) } },
  };
}
