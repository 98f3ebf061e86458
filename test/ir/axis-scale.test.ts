/** Axes of many parts, in long chains, and of sizes that no memory holds. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Axis, atomsOf, type PaddedSizes, paddedSize, sizeOfAxis } from "../../src/ir/axis.ts";
import { indexMap, indexRuns, isPaddedAtEnd } from "../../src/ir/axis-runs.ts";
import { AxisSolver } from "../../src/ir/axis-solver.ts";
import { LiveSizes } from "../../src/passes/align/live-sizes.ts";

/** More than a stack has frames for. */
const many = 12_000;

describe("long structures", () => {
  it("follow a chain of axes that are one, and shorten it", () => {
    const solver = new AxisSolver();
    const axes = Array.from({ length: many }, () => solver.atom(12));
    for (const [at, axis] of axes.entries()) solver.unify(axes[at - 1] ?? axis, axis, "operands");
    const [first, last] = [axes[0], axes.at(-1)];
    expect(first && last && atomsOf(first)).toEqual(last && atomsOf(last));
    expect(first && paddedSize(first, new Map(atomsOf(first).map((atom) => [atom, 16])))).toBe(16);
    expect(first?.kind === "atom" && first.atom.binding === last).toBe(true);
  });

  it("cut one axis again and again", () => {
    const solver = new AxisSolver();
    const whole = solver.atom(2 * many);
    for (let rest: Axis = whole; sizeOfAxis(rest) > 2; ) {
      const parts = solver.cut(rest, 2);
      if (parts === undefined) throw new Error("an atom comes apart anywhere");
      rest = parts[1];
    }
    expect(atomsOf(whole).length).toBe(many);
  });

  it("make concatenations of many parts one, part by part", () => {
    const solver = new AxisSolver();
    const parts = (sizes: number[]) => solver.sum(sizes.map((size) => solver.atom(size)));
    const [a, b] = [parts(new Array(many).fill(3)), parts(new Array(many / 2).fill(6))];
    solver.unify(a, b, "operands");
    expect(atomsOf(b)).toEqual(atomsOf(a));
    expect(atomsOf(a).every(({ blocked }) => blocked === undefined)).toBe(true);
  });

  it("are not followed where a value is concatenated with itself again and again", () => {
    const solver = new AxisSolver();
    let axis = solver.atom(1);
    for (let level = 0; level < 40; level++) axis = solver.sum([axis, axis]);
    expect(sizeOfAxis(axis)).toBe(2 ** 40);
    expect(solver.atoms.every(({ blocked }) => blocked !== undefined)).toBe(true);
  });

  it("meet as concatenation and merge without a frame for every part", () => {
    const solver = new AxisSolver();
    const sum = solver.sum(Array.from({ length: many }, (_, at) => solver.atom(at === 0 ? 14 : 7)));
    solver.unify(sum, solver.product([solver.atom(many + 1), solver.atom(7)]), "reshape");
    expect(sizeOfAxis(sum)).toBe(7 * (many + 1));
  });
});

describe("cutAll", () => {
  it("is cut after cut", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(sizes, sizes, (of, into) => {
        const total = of.reduce((sum, size) => sum + size, 0);
        const wanted = fitted(into, total);
        const [all, single] = [axisOf(of), axisOf(of)];
        const parts = all.solver.cutAll(all.axis, wanted);
        expect(parts?.map(sizeOfAxis)).toEqual(wanted);
        expect(atomsOf(all.axis).map(({ size }) => size)).toEqual(cutOneByOne(single, wanted));
        expect(parts?.flatMap((part) => atomsOf(part))).toEqual(atomsOf(all.axis));
      }),
      { numRuns: 300, seed: 3 },
    );
  });

  it("refuses sizes that do not add up, and empty parts", () => {
    const { solver, axis } = axisOf([3, 4]);
    expect(solver.cutAll(axis, [3, 3])).toBeUndefined();
    expect(solver.cutAll(axis, [0, 7])).toBeUndefined();
  });
});

function axisOf(sizes: readonly number[]) {
  const solver = new AxisSolver();
  return { solver, axis: solver.sum(sizes.map((size) => solver.atom(size))) };
}

/** As many of `sizes` as fit, and the rest. */
function fitted(sizes: readonly number[], total: number): number[] {
  const found: number[] = [];
  let left = total;
  for (const size of sizes) {
    if (size >= left) break;
    found.push(size);
    left -= size;
  }
  return [...found, left];
}

function cutOneByOne({ solver, axis }: ReturnType<typeof axisOf>, sizes: readonly number[]): number[] {
  let rest = axis;
  for (const size of sizes.slice(0, -1)) {
    const parts = solver.cut(rest, size);
    if (parts === undefined) throw new Error("a concatenation of atoms comes apart anywhere");
    rest = parts[1];
  }
  return atomsOf(axis).map(({ size }) => size);
}

describe("runs", () => {
  it("are as many as the structure has, whatever the size", () => {
    const solver = new AxisSolver();
    for (const size of [1e9, 2 ** 33, 2 ** 40]) {
      const [long, short] = [solver.atom(size), solver.atom(5)];
      const axis = solver.sum([long, solver.product([solver.atom(2), short])]);
      const sizes = new Map([...atomsOf(long), ...atomsOf(short)].map((atom) => [atom, atom.size + 3]));
      expect(indexRuns(axis, sizes)).toEqual([
        { from: 0, length: size },
        { from: -1, length: 3 },
        { from: size, length: 5 },
        { from: -1, length: 3 },
        { from: size + 5, length: 5 },
        { from: -1, length: 3 },
      ]);
      expect(isPaddedAtEnd(axis, sizes)).toBe(false);
      // Lanes lie between all of its rows: told without a list of them.
      expect(isPaddedAtEnd(solver.product([long, short]), sizes)).toBe(false);
    }
  });

  it("name every position, merged as far as they can be, and tell where padding is", () => {
    fc.assert(
      fc.property(drawnAxis, fc.array(fc.nat(2), { minLength: 8, maxLength: 8 }), (shape, growth) => {
        const axis = built(shape, new AxisSolver());
        const sizes = grown(axis, growth);
        const runs = indexRuns(axis, sizes);
        const map = runs.flatMap(({ from, length }) =>
          Array.from({ length }, (_, at) => (from < 0 ? -1 : from + at)),
        );
        expect(map).toEqual([...indexMap(axis, sizes)]);
        expect(map.length).toBe(paddedSize(axis, sizes));
        expect(map.filter((index) => index >= 0)).toEqual([...new Array(sizeOfAxis(axis)).keys()]);
        const first = map.indexOf(-1);
        expect(isPaddedAtEnd(axis, sizes)).toBe(first < 0 || map.slice(first).every((index) => index < 0));
        const joining = runs.filter(
          ({ from, length }, at) => runs[at + 1]?.from === (from < 0 ? -1 : from + length),
        );
        expect(joining).toEqual([]);
      }),
      { numRuns: 200, seed: 7 },
    );
  });
});

describe("live sizes", () => {
  it("are the padded sizes, after any changes", () => {
    const change = fc.tuple(fc.nat(), fc.nat(4));
    fc.assert(
      fc.property(drawnAxis, drawnAxis, fc.array(change, { maxLength: 20 }), (one, other, changes) => {
        const solver = new AxisSolver();
        const axes = [built(one, solver), built(other, solver)];
        axes.push(solver.sum([...axes, ...axes]));
        const atoms = axes.flatMap((axis) => atomsOf(axis));
        const live = new LiveSizes();
        const followed = axes.map((axis) => live.axis(axis));
        for (const [pick, more] of changes) {
          const atom = atoms[pick % atoms.length];
          if (atom !== undefined) live.set(atom, atom.size + more);
        }
        const padded = (sizes: PaddedSizes) => axes.map((axis) => paddedSize(axis, sizes));
        expect(followed.map(({ size }) => size)).toEqual(padded(live.sizes));
        live.assign(new Map());
        expect(followed.map(({ size }) => size)).toEqual(padded(new Map()));
      }),
      { numRuns: 200, seed: 11 },
    );
  });
});

type Drawn = number | { readonly kind: "product" | "sum"; readonly of: readonly Drawn[] };

const { drawnAxis } = fc.letrec<{ drawnAxis: Drawn }>((tie) => ({
  drawnAxis: fc.oneof(
    { maxDepth: 3 },
    fc.integer({ min: 1, max: 4 }),
    fc.record({
      kind: fc.constantFrom("product" as const, "sum" as const),
      of: fc.array(tie("drawnAxis"), { minLength: 1, maxLength: 3 }),
    }),
  ),
}));

function built(drawn: Drawn, solver: AxisSolver): Axis {
  if (typeof drawn === "number") return solver.atom(drawn);
  const inner = drawn.of.map((each) => built(each, solver));
  return drawn.kind === "product" ? solver.product(inner) : solver.sum(inner);
}

function grown(axis: Axis, growth: readonly number[]): PaddedSizes {
  return new Map(atomsOf(axis).map((atom, at) => [atom, atom.size + (growth[at % growth.length] ?? 0)]));
}
