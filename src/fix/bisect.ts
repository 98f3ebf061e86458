/**
 * @file Which parts of a fix hold, when the whole does not: halves are tried, and halves of those that fail, until what
 * fails is a part by itself. One wrong component must not cost the rest.
 */
import { pushAll } from "../ir/lists.ts";
import type { PassName } from "../passes/pass.ts";
import type { LeaveOut, PassParts } from "./pipeline.ts";

/** A part of a pass, or all of one that has no parts. */
export interface Piece {
  readonly pass: PassName;
  readonly part: string | undefined;
}

/** A piece that is not in the result, and why. */
export interface LeftPiece extends Piece {
  readonly reason: string;
  /** It turns a decision between values that half precision does not tell apart. */
  readonly isDecision?: boolean;
}

export interface Bisection {
  readonly kept: readonly Piece[];
  readonly left: readonly LeftPiece[];
}

/** Of what is left without a verdict of its own. */
export const untried = "not tried alone: too many trials of the result failed before";

/** Beyond the logarithm of the number of pieces, trials for a second piece that fails. */
const spareTrials = 8;
/** No new trial after this: each may take as long as the whole did. */
const maxSeconds = 900;

/**
 * The pieces that hold together, of those that failed as a whole with `failure`. `trial` says why pieces do not hold,
 * or nothing where they do; it is asked log₂(n) + 8 times at most. What could not be tried is left.
 */
export async function bisect(
  parts: PassParts,
  failure: string,
  trial: (kept: readonly Piece[]) => Promise<string | undefined>,
): Promise<Bisection> {
  const search = new Search(trial, piecesOf(parts).flat().length);
  await search.split(piecesOf(parts), failure);
  return { kept: search.kept, left: search.left };
}

function piecesOf(parts: PassParts): readonly (readonly Piece[])[] {
  return [...parts].map(([pass, names]) =>
    names.size === 0 ? [{ pass, part: undefined }] : [...names].map((part) => ({ pass, part })),
  );
}

class Search {
  kept: readonly Piece[] = [];
  readonly left: LeftPiece[] = [];
  readonly #trial: (kept: readonly Piece[]) => Promise<string | undefined>;
  readonly #deadline = performance.now() + 1000 * maxSeconds;
  #trials: number;

  constructor(trial: (kept: readonly Piece[]) => Promise<string | undefined>, count: number) {
    this.#trial = trial;
    this.#trials = Math.ceil(Math.log2(Math.max(count, 1))) + spareTrials;
  }

  /** `groups` fail together, with what is kept so far. Passes are told apart before their parts are. */
  async split(groups: readonly (readonly Piece[])[], failure: string): Promise<void> {
    const [first, ...more] = groups;
    if (first === undefined) return;
    const isOne = more.length === 0;
    if (isOne && first.length === 1) {
      pushAll(
        this.left,
        first.map((piece) => ({ ...piece, reason: failure })),
      );
      return;
    }
    const [a, b] = isOne ? halves(first).map((half) => [half]) : halves(groups);
    if (a === undefined || b === undefined) return;
    const isSound = await this.#add(a);
    // Where the first half holds, the second is what fails.
    if (isSound) await this.split(b, failure);
    else await this.#add(b);
  }

  /** Keeps what holds of `groups`; whether that is all. */
  async #add(groups: readonly (readonly Piece[])[]): Promise<boolean> {
    const pieces = groups.flat();
    if (this.#trials === 0 || performance.now() > this.#deadline) {
      pushAll(
        this.left,
        pieces.map((piece) => ({ ...piece, reason: untried })),
      );
      return false;
    }
    this.#trials -= 1;
    const failure = await this.#trial([...this.kept, ...pieces]);
    if (failure === undefined) {
      this.kept = [...this.kept, ...pieces];
      return true;
    }
    await this.split(groups, failure);
    return false;
  }
}

function halves<T>(items: readonly T[]): readonly (readonly T[])[] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

/** Nothing but `kept`: what the passes find besides, when parts are left out, was never held up to the original. */
export function nothingBut(kept: readonly Piece[], left: readonly LeftPiece[]): LeaveOut {
  const partsOf = new Map<PassName, Set<string | undefined>>();
  for (const { pass, part } of kept) partsOf.set(pass, (partsOf.get(pass) ?? new Set()).add(part));
  const reasons = new Map(left.map(({ pass, part, reason }) => [JSON.stringify([pass, part]), reason]));
  return (pass, part) => {
    const own = partsOf.get(pass);
    if (own?.has(undefined) || (own !== undefined && (part === undefined || own.has(part)))) return undefined;
    return reasons.get(JSON.stringify([pass, part])) ?? "left out with a part that failed verification";
  };
}
