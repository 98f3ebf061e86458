/** @file The next multiple of a vector in place of what is a little faster by prediction. */
import { type Atom, goodEnough, type PaddedSizes } from "../../ir/axis.ts";
import { type Alike, alikeIn, vector } from "./sizes-tried.ts";

/** What sizes of a component take, and what is known of that. */
export interface Sizing {
  readonly cost: (sizes: PaddedSizes) => number;
  /** Of what one choice saves beside another. */
  readonly uncertainty: (from: PaddedSizes, to: PaddedSizes) => number;
  readonly candidatesOf: (atom: Atom) => readonly number[];
}

/**
 * The next multiple (of what is one already, none), unless another size saves more beyond doubt, or `most` is given up. A part of a vector is for what is
 * narrower than one: above, it leaves a size that is off the multiple, and one that is not sure to gain is none.
 */
export function plainest(best: Map<Atom, number>, most: number, sizing: Sizing): Map<Atom, number> {
  let kept = best;
  let left = most;
  for (const alike of alikeIn(best)) {
    const plain = plainer(kept, alike, left, sizing);
    if (plain === undefined) continue;
    [kept, left] = [plain.sizes, left - plain.given];
  }
  return kept;
}

interface Plainer {
  readonly sizes: Map<Atom, number>;
  /** Microseconds that it takes more. */
  readonly given: number;
}

function plainer(kept: PaddedSizes, alike: Alike, left: number, sizing: Sizing): Plainer | undefined {
  const [[atom, size]] = alike;
  const next = Math.ceil(atom.size / vector) * vector;
  if (size > next) return largerAsPlain(kept, alike, next, left, sizing);
  const isPart = size < next && atom.size > vector && sizing.candidatesOf(atom).includes(next);
  return isPart ? partAsPlain(kept, alike, next, left, sizing) : undefined;
}

function largerAsPlain(
  kept: PaddedSizes,
  alike: Alike,
  next: number,
  left: number,
  sizing: Sizing,
): Plainer | undefined {
  const [[atom]] = alike;
  const plain = withSize(kept, alike, next);
  const given = sizing.cost(plain) - sizing.cost(kept);
  if (given > sizing.uncertainty(plain, kept)) return undefined;
  // What is a multiple already is let alone, whatever the rest has given up.
  if (next === atom.size) return { sizes: plain, given: 0 };
  return given > left ? undefined : { sizes: plain, given };
}

/**
 * Where products take as long with either size, nothing is uncertain, and what is left between the two is of the passes around them: no reason to stay off the
 * multiple.
 */
function partAsPlain(
  kept: PaddedSizes,
  alike: Alike,
  next: number,
  left: number,
  { cost, uncertainty }: Sizing,
): Plainer | undefined {
  const [[atom]] = alike;
  const [plain, without] = [withSize(kept, alike, next), withSize(kept, alike, atom.size)];
  const now = cost(kept);
  const saves = cost(without) - now;
  const given = cost(plain) - now;
  const isNear = given <= Math.max(uncertainty(plain, kept), (1 - goodEnough) * saves);
  if (isNear && given <= left) return { sizes: plain, given };
  const isSure = saves > uncertainty(without, kept);
  return isSure || saves > left ? undefined : { sizes: without, given: saves };
}

function withSize(sizes: PaddedSizes, alike: Alike, size: number): Map<Atom, number> {
  const changed = new Map(sizes);
  for (const [atom] of alike) {
    if (size === atom.size) changed.delete(atom);
    else changed.set(atom, size);
  }
  return changed;
}
