/** @file What each step of a run has to wait for. */
import { type Step, touched } from "../ir/step.ts";
import type { DeviceBuffer, View } from "../ir/view.ts";
import { viewsOf } from "./arena.ts";
import { mayOverlap, type Spot, spotOf } from "./overlap.ts";

/** Of a buffer, so far. */
interface Accesses {
  readonly reads: Access[];
  readonly writes: Access[];
}

interface Access {
  readonly step: number;
  readonly spot: Spot;
}

/** By step, the steps before it whose results it reads, or whose operands it writes: in order, those that others wait for themselves among them. */
export function needsOf(steps: readonly Step[]): readonly (readonly number[])[] {
  const known = new Map<DeviceBuffer, Accesses>();
  const accessesAt = ({ buffer }: Spot): Accesses => {
    const accesses = known.get(buffer) ?? { reads: [], writes: [] };
    known.set(buffer, accesses);
    return accesses;
  };
  let meeting: number | undefined;
  return steps.map((step, index) => {
    const [reads, writes] = accessesOf(step);
    const needs = new Set<number>([
      ...[...reads, ...writes].flatMap((spot) => meetingIn(accessesAt(spot).writes, spot)),
      ...writes.flatMap((spot) => meetingIn(accessesAt(spot).reads, spot)),
    ]);
    for (const spot of reads) accessesAt(spot).reads.push({ step: index, spot });
    for (const spot of writes) accessesAt(spot).writes.push({ step: index, spot });
    if (waitsForItsBlocks(step)) {
      // Two whose blocks wait for each other, on half of a GPU each, would wait for ever; and all count in the same memory.
      if (meeting !== undefined) needs.add(meeting);
      meeting = index;
    }
    return [...needs].sort((a, b) => a - b);
  });
}

function meetingIn(accesses: readonly Access[], spot: Spot): number[] {
  return accesses.flatMap(({ step, spot: other }) => (mayOverlap(spot, other) ? [step] : []));
}

/** What it reads and what it writes. What its parameters alone point at, all of that memory, may be either. */
function accessesOf(step: Step): readonly [readonly Spot[], readonly Spot[]] {
  const [reads, writes] = touched(step.action);
  const named = new Set([...reads, ...writes].map(({ buffer }) => buffer));
  const others = viewsOf(step).filter(({ buffer }) => !named.has(buffer));
  const pointedAt = others.map(({ buffer }) => wholeOf(buffer));
  return [reads.map(spotOf), [...writes, ...pointedAt].map(spotOf)];
}

function wholeOf(buffer: DeviceBuffer): View {
  return { buffer, type: "uint8", shape: [buffer.bytes], strides: [1], offset: 0 };
}

function waitsForItsBlocks({ action }: Step): boolean {
  return action.kind === "launch" && action.launch.isAtOnce === true;
}
