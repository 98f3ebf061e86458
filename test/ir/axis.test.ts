import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Atom,
  type Axis,
  atomsOf,
  type PaddedSizes,
  paddedSize,
  sizeOfAxis,
} from "../../src/ir/axis.ts";
import { indexMap } from "../../src/ir/axis-runs.ts";
import { AxisSolver } from "../../src/ir/axis-solver.ts";

function atomOf(axis: Axis): Atom {
  if (axis.kind !== "atom") throw new Error("expected an atom");
  return axis.atom;
}

/** For every padded index of a merge the true index, from the maps of its factors. */
function merged(high: ArrayLike<number>, low: ArrayLike<number>, step: number): number[] {
  return Array.from(high).flatMap((i) => Array.from(low, (j) => (i < 0 || j < 0 ? -1 : i * step + j)));
}

function joined(first: ArrayLike<number>, second: ArrayLike<number>, begin: number): number[] {
  return [...Array.from(first), ...Array.from(second, (index) => (index < 0 ? -1 : index + begin))];
}

function freeAtomsOf(axes: readonly Axis[]): Atom[] {
  return [...new Set(axes.flatMap(atomsOf))].filter(({ blocked }) => blocked === undefined);
}

describe("index maps", () => {
  it("put padding behind an atom", () => {
    const solver = new AxisSolver();
    const axis = solver.atom(3);
    expect([...indexMap(axis, new Map([[atomOf(axis), 5]]))]).toEqual([0, 1, 2, -1, -1]);
  });

  it("leave holes inside a concatenation", () => {
    const solver = new AxisSolver();
    const [a, b] = [solver.atom(2), solver.atom(3)];
    const sizes = new Map([
      [atomOf(a), 3],
      [atomOf(b), 4],
    ]);
    expect([...indexMap(solver.sum([a, b]), sizes)]).toEqual([0, 1, -1, 2, 3, 4, -1]);
  });

  it("interleave padding in a merge", () => {
    const solver = new AxisSolver();
    const [a, b] = [solver.atom(2), solver.atom(2)];
    const sizes = new Map([[atomOf(b), 3]]);
    expect([...indexMap(solver.product([a, b]), sizes)]).toEqual([0, 1, -1, 2, 3, -1]);
  });
});

describe("unify", () => {
  it("splits the larger factor where merges have different factors", () => {
    const solver = new AxisSolver();
    const hidden = solver.atom(320);
    const [heads, depth] = [solver.atom(8), solver.atom(40)];
    solver.unify(hidden, solver.product([heads, depth]), "reshape");
    expect(atomsOf(hidden)).toEqual([atomOf(heads), atomOf(depth)]);
    expect(paddedSize(hidden, new Map([[atomOf(depth), 48]]))).toBe(384);
  });

  it("blocks what has no common factors, for the reason given", () => {
    const solver = new AxisSolver();
    const a = solver.product([solver.atom(4), solver.atom(9)]);
    const b = solver.product([solver.atom(6), solver.atom(6)]);
    solver.unify(a, b, "4 × 9 is no 6 × 6");
    for (const atom of [...atomsOf(a), ...atomsOf(b)]) expect(atom.blocked).toBe("4 × 9 is no 6 × 6");
  });

  it("blocks axes of different sizes", () => {
    const solver = new AxisSolver();
    const [a, b] = [solver.atom(6), solver.atom(7)];
    solver.unify(a, b, "sizes differ");
    expect([atomOf(a).blocked, atomOf(b).blocked]).toEqual(["sizes differ", "sizes differ"]);
  });

  it("blocks an empty axis that would contain itself", () => {
    const solver = new AxisSolver();
    const empty = solver.atom(0);
    solver.unify(empty, { kind: "product", factors: [solver.atom(3), empty] }, "contains itself");
    expect(atomOf(empty).blocked).toBe("contains itself");
  });

  it("blocks factors that change places", () => {
    const solver = new AxisSolver();
    const a = solver.atom(6);
    const [x, rest] = solver.split(a, 2) ?? [a, a];
    solver.unify(a, solver.product([rest, x]), "turned round");
    for (const atom of atomsOf(a)) expect(atom.blocked).toBe("turned round");
  });

  it("hands a block on to what an atom turns out to be", () => {
    const solver = new AxisSolver();
    const fixed = solver.atom(12, "symbolic");
    const parts = solver.sum([solver.atom(5), solver.atom(7)]);
    solver.unify(parts, fixed, "unused");
    for (const atom of atomsOf(parts)) expect(atom.blocked).toBe("symbolic");
  });

  it("takes equal parts of a concatenation as one part, and counts them", () => {
    const solver = new AxisSolver();
    const [a, b] = [solver.atom(58), solver.atom(58)];
    const [count, part] = solver.split(solver.sum([a, b]), 2) ?? [];
    expect(count && atomsOf(count)[0]?.blocked).toBe("counts the parts of a concatenation");
    expect(part && atomsOf(part)).toEqual(atomsOf(a));
    expect(atomsOf(a)).toEqual(atomsOf(b));
  });

  it("takes a common inner factor out of a concatenation", () => {
    const solver = new AxisSolver();
    const [queries, keys] = [solver.atom(6 * 16), solver.atom(2 * 16)];
    const [heads, depth] = solver.split(solver.sum([queries, keys]), 8) ?? [];
    const [atom] = depth === undefined ? [] : atomsOf(depth);
    if (heads === undefined || depth === undefined || atom === undefined)
      throw new Error("does not come apart");
    expect([sizeOfAxis(heads), sizeOfAxis(depth)]).toEqual([8, 16]);
    expect(paddedSize(queries, new Map([[atom, 24]]))).toBe(6 * 24);
    expect(paddedSize(keys, new Map([[atom, 24]]))).toBe(2 * 24);
  });
});

/** What was said of axes, to be checked once padded sizes are drawn. */
type Claim = (sizes: PaddedSizes) => void;

interface Step {
  readonly kind: "product" | "sum" | "cut" | "split" | "unify" | "block" | "atom";
  readonly first: number;
  readonly second: number;
  readonly size: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("product", "sum", "cut", "cut", "split", "split", "unify", "unify", "block", "atom"),
  first: fc.nat(),
  second: fc.nat(),
  size: fc.integer({ min: 1, max: 24 }),
});

/** Draws operations on one solver and remembers what each of them promises. */
class Play {
  readonly solver = new AxisSolver();
  readonly axes: Axis[] = [];
  readonly claims: Claim[] = [];

  do({ kind, first, second, size }: Step): void {
    const a = this.axes[first % Math.max(1, this.axes.length)];
    if (kind === "atom" || a === undefined) {
      this.axes.push(this.solver.atom(size));
      return;
    }
    if (kind === "block") return this.block(a);
    if (kind === "cut") return this.cut(a, 1 + (second % sizeOfAxis(a)));
    if (kind === "split") return this.split(a, second);
    const alike = this.axes.filter((axis) => kind !== "unify" || sizeOfAxis(axis) === sizeOfAxis(a));
    const b = alike[second % alike.length];
    if (b === undefined || sizeOfAxis(a) * sizeOfAxis(b) > 600) return;
    if (kind === "unify") this.unify(a, b);
    else this.compose(kind, a, b);
  }

  private block(axis: Axis): void {
    this.solver.block(axis, "blocked");
    this.claims.push((sizes) => expect(paddedSize(axis, sizes)).toBe(sizeOfAxis(axis)));
  }

  private unify(a: Axis, b: Axis): void {
    this.solver.unify(a, b, "unified");
    this.claims.push((sizes) => expect([...indexMap(a, sizes)]).toEqual([...indexMap(b, sizes)]));
  }

  private compose(kind: "product" | "sum", a: Axis, b: Axis): void {
    const whole = kind === "product" ? this.solver.product([a, b]) : this.solver.sum([a, b]);
    this.axes.push(whole);
    this.claimComposed(kind, whole, a, b);
  }

  private claimComposed(kind: "product" | "sum", whole: Axis, a: Axis, b: Axis): void {
    this.claims.push((sizes) => {
      const [first, second] = [indexMap(a, sizes), indexMap(b, sizes)];
      const expected =
        kind === "product" ? merged(first, second, sizeOfAxis(b)) : joined(first, second, sizeOfAxis(a));
      expect([...indexMap(whole, sizes)]).toEqual(expected);
    });
  }

  private cut(axis: Axis, size: number): void {
    const parts = this.solver.cut(axis, size);
    if (parts === undefined) return;
    expect(parts.map(sizeOfAxis)).toEqual([size, sizeOfAxis(axis) - size]);
    this.axes.push(...parts);
    this.claimComposed("sum", axis, ...parts);
  }

  private split(axis: Axis, seed: number): void {
    const size = sizeOfAxis(axis);
    const divisors = Array.from({ length: size }, (_, at) => at + 1).filter((each) => size % each === 0);
    const outer = divisors[seed % divisors.length] ?? 1;
    const parts = this.solver.split(axis, outer);
    if (parts === undefined) return;
    expect(parts.map(sizeOfAxis)).toEqual([outer, size / outer]);
    this.axes.push(...parts);
    this.claimComposed("product", axis, ...parts);
  }
}

describe("relations", () => {
  it("hold in every padded size, whatever is said later", () => {
    const growth = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 64, maxLength: 64 });
    let padded = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 4, maxLength: 40 }), growth, (steps, grown) => {
        const play = new Play();
        for (const each of steps) play.do(each);
        const free = freeAtomsOf(play.axes);
        const sizes = new Map(free.map((atom, at) => [atom, atom.size + (grown[at % grown.length] ?? 0)]));
        for (const claim of play.claims) claim(sizes);
        if ([...sizes].some(([atom, size]) => size > atom.size) && play.claims.length > 3) padded++;
      }),
      { numRuns: 2000, seed: 4 },
    );
    // Blocks must not have emptied the test.
    expect(padded).toBeGreaterThan(1000);
  });

  it("name every true index once and in order", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 4, maxLength: 40 }), (steps) => {
        const play = new Play();
        for (const each of steps) play.do(each);
        const sizes = new Map(freeAtomsOf(play.axes).map((atom) => [atom, atom.size + 2]));
        for (const axis of play.axes) {
          const map = indexMap(axis, sizes);
          expect(map.length).toBe(paddedSize(axis, sizes));
          const truth = [...map].filter((index) => index >= 0);
          expect(truth).toEqual(truth.map((_, at) => at));
          expect(truth.length).toBe(sizeOfAxis(axis));
        }
      }),
      { numRuns: 500, seed: 5 },
    );
  });
});
