/**
 * @file Gradient-boosted regression trees: histograms over binned features, the leaf with the best gain grows first.
 *
 * The loss is Huber's, so that a kernel that falls off a cliff does not pull its neighbours along.
 */
import { at, type Binned, binned, binOf } from "./bins.ts";

export interface BoostOptions {
  readonly rounds: number;
  readonly leaves: number;
  readonly learningRate: number;
  readonly minLeaf: number;
  /** Residuals count up to this. */
  readonly clip: number;
  /** Added to a leaf's count: shrinks small leaves. */
  readonly ridge: number;
  readonly featureShare: number;
  readonly rowShare: number;
  readonly bins: number;
  readonly seed: number;
}

/** Preorder; a leaf has feature −1 and its value in `value`. `bin`: left where the row's bin is at most that. */
export interface TreeNode {
  readonly feature: number;
  readonly bin: number;
  readonly value: number;
}

export interface Forest {
  /** By feature, ascending: a value's bin is the number of thresholds below it. */
  readonly thresholds: readonly Float32Array[];
  readonly base: number;
  readonly trees: readonly (readonly TreeNode[])[];
}

export function train(
  rows: readonly (readonly number[])[],
  targets: Float64Array,
  weights: Float64Array,
  options: BoostOptions,
): Forest {
  const data = binned(rows, options.bins);
  const random = generator(options.seed);
  const base = weightedMean(targets, weights);
  const predicted = new Float64Array(data.rows).fill(base);
  const gradients = new Float64Array(data.rows);
  const trees: (readonly TreeNode[])[] = [];
  for (let round = 0; round < options.rounds; round++) {
    for (let row = 0; row < data.rows; row++) {
      const residual = at(targets, row) - at(predicted, row);
      gradients[row] = Math.max(-options.clip, Math.min(options.clip, residual)) * at(weights, row);
    }
    trees.push(new TreeGrower(data, gradients, weights, predicted, options, random).grow());
  }
  return { thresholds: data.thresholds, base, trees };
}

export function predict(forest: Forest, row: readonly number[]): number {
  const bins = forest.thresholds.map((thresholds, feature) => binOf(thresholds, at(row, feature)));
  let sum = forest.base;
  for (const tree of forest.trees) sum += leafValue(tree, bins);
  return sum;
}

function leafValue(tree: readonly TreeNode[], bins: readonly number[]): number {
  let index = 0;
  for (;;) {
    const node = at(tree, index);
    if (node.feature < 0) return node.value;
    index = at(bins, node.feature) <= node.bin ? index + 1 : skip(tree, index + 1);
  }
}

/** The index behind the subtree that starts at `index`. */
function skip(tree: readonly TreeNode[], index: number): number {
  let open = 1;
  let next = index;
  while (open > 0) {
    open += at(tree, next).feature < 0 ? -1 : 1;
    next++;
  }
  return next;
}

interface Split {
  readonly gain: number;
  readonly feature: number;
  readonly bin: number;
}

interface Leaf {
  readonly rows: Int32Array;
  readonly sums: Float64Array;
  readonly counts: Float64Array;
  readonly split: Split | undefined;
}

interface Grown {
  split?: { readonly at: Split; readonly left: Grown; readonly right: Grown };
  leaf: Leaf;
}

class TreeGrower {
  readonly #data: Binned;
  readonly #gradients: Float64Array;
  readonly #weights: Float64Array;
  readonly #predicted: Float64Array;
  readonly #options: BoostOptions;
  readonly #random: () => number;
  readonly #features: readonly number[];

  constructor(
    data: Binned,
    gradients: Float64Array,
    weights: Float64Array,
    predicted: Float64Array,
    options: BoostOptions,
    random: () => number,
  ) {
    this.#data = data;
    this.#gradients = gradients;
    this.#weights = weights;
    this.#predicted = predicted;
    this.#options = options;
    this.#random = random;
    const all = Array.from({ length: data.features }, (_, index) => index);
    this.#features = all.filter(() => random() < options.featureShare);
  }

  grow(): readonly TreeNode[] {
    const chosen: number[] = [];
    for (let row = 0; row < this.#data.rows; row++)
      if (this.#random() < this.#options.rowShare) chosen.push(row);
    const rows = Int32Array.from(chosen);
    const root: Grown = { leaf: this.#leaf(rows, this.#histogram(rows)) };
    const leaves = [root];
    while (leaves.length < this.#options.leaves) {
      const best = this.#bestOf(leaves);
      if (best?.leaf.split === undefined) break;
      const [left, right] = this.#divide(best.leaf, best.leaf.split);
      best.split = { at: best.leaf.split, left, right };
      leaves.splice(leaves.indexOf(best), 1, left, right);
    }
    const nodes: TreeNode[] = [];
    this.#flatten(root, nodes);
    this.#apply(nodes);
    return nodes;
  }

  #bestOf(leaves: readonly Grown[]): Grown | undefined {
    let best: Grown | undefined;
    for (const each of leaves) {
      if (each.leaf.split === undefined) continue;
      if (best === undefined || each.leaf.split.gain > (best.leaf.split?.gain ?? 0)) best = each;
    }
    return best;
  }

  #histogram(rows: Int32Array): { sums: Float64Array; counts: Float64Array } {
    const { bins } = this.#options;
    const sums = new Float64Array(this.#data.features * bins);
    const counts = new Float64Array(this.#data.features * bins);
    for (const feature of this.#features) {
      const column = feature * this.#data.rows;
      const offset = feature * bins;
      for (let index = 0; index < rows.length; index++) {
        const row = rows[index] ?? 0;
        const slot = offset + (this.#data.bins[column + row] ?? 0);
        sums[slot] = (sums[slot] ?? 0) + (this.#gradients[row] ?? 0);
        counts[slot] = (counts[slot] ?? 0) + (this.#weights[row] ?? 0);
      }
    }
    return { sums, counts };
  }

  #leaf(rows: Int32Array, { sums, counts }: { sums: Float64Array; counts: Float64Array }): Leaf {
    return { rows, sums, counts, split: this.#bestSplit(sums, counts) };
  }

  #bestSplit(sums: Float64Array, counts: Float64Array): Split | undefined {
    const { bins, ridge, minLeaf } = this.#options;
    let best: Split | undefined;
    for (const feature of this.#features) {
      const offset = feature * bins;
      let [sum, count] = [0, 0];
      for (let bin = 0; bin < bins; bin++) {
        sum += sums[offset + bin] ?? 0;
        count += counts[offset + bin] ?? 0;
      }
      const parent = (sum * sum) / (count + ridge);
      let [leftSum, leftCount] = [0, 0];
      const last = (this.#data.thresholds[feature]?.length ?? 0) - 1;
      for (let bin = 0; bin <= last; bin++) {
        leftSum += sums[offset + bin] ?? 0;
        leftCount += counts[offset + bin] ?? 0;
        const rightCount = count - leftCount;
        if (leftCount < minLeaf) continue;
        if (rightCount < minLeaf) break;
        const rightSum = sum - leftSum;
        const gain =
          (leftSum * leftSum) / (leftCount + ridge) + (rightSum * rightSum) / (rightCount + ridge) - parent;
        if (gain > 1e-9 && gain > (best?.gain ?? 0)) best = { gain, feature, bin };
      }
    }
    return best;
  }

  #divide(leaf: Leaf, split: Split): [Grown, Grown] {
    const column = split.feature * this.#data.rows;
    const left = leaf.rows.filter((row) => (this.#data.bins[column + row] ?? 0) <= split.bin);
    const right = leaf.rows.filter((row) => (this.#data.bins[column + row] ?? 0) > split.bin);
    const [small, large] = left.length <= right.length ? [left, right] : [right, left];
    const near = this.#histogram(small);
    const far = {
      sums: leaf.sums.map((sum, slot) => sum - (near.sums[slot] ?? 0)),
      counts: leaf.counts.map((count, slot) => count - (near.counts[slot] ?? 0)),
    };
    const [ofSmall, ofLarge] = [{ leaf: this.#leaf(small, near) }, { leaf: this.#leaf(large, far) }];
    return left.length <= right.length ? [ofSmall, ofLarge] : [ofLarge, ofSmall];
  }

  #flatten(grown: Grown, nodes: TreeNode[]): void {
    if (grown.split !== undefined) {
      const { at: split, left, right } = grown.split;
      nodes.push({ feature: split.feature, bin: split.bin, value: 0 });
      this.#flatten(left, nodes);
      this.#flatten(right, nodes);
      return;
    }
    let [sum, count] = [0, 0];
    for (const row of grown.leaf.rows) {
      sum += at(this.#gradients, row);
      count += at(this.#weights, row);
    }
    const value = (sum / (count + this.#options.ridge)) * this.#options.learningRate;
    nodes.push({ feature: -1, bin: 0, value });
  }

  /** Every row moves, also those left out of the growing. */
  #apply(nodes: readonly TreeNode[]): void {
    const right = nodes.map((node, index) => (node.feature < 0 ? 0 : skip(nodes, index + 1)));
    for (let row = 0; row < this.#data.rows; row++) {
      let index = 0;
      let node = at(nodes, 0);
      while (node.feature >= 0) {
        const bin = this.#data.bins[node.feature * this.#data.rows + row] ?? 0;
        index = bin <= node.bin ? index + 1 : at(right, index);
        node = at(nodes, index);
      }
      this.#predicted[row] = at(this.#predicted, row) + node.value;
    }
  }
}

function weightedMean(values: Float64Array, weights: Float64Array): number {
  let [sum, count] = [0, 0];
  for (let index = 0; index < values.length; index++) {
    sum += at(values, index) * at(weights, index);
    count += at(weights, index);
  }
  return sum / Math.max(count, 1e-12);
}

/** Numbers in [0, 1) that depend on the seed alone (mulberry32). */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
