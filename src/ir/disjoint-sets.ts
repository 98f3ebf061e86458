/** @file Union-find: which things belong together, as that is found out. */

interface Parents<T> {
  get(item: T): T | undefined;
  set(item: T, parent: T): unknown;
}

/** Sets of things that are told apart by identity; one that nobody joined is a set by itself. */
export class DisjointSets<T> {
  readonly #parent: Parents<T>;

  /** `parents` is where they are kept; a Map unless given. */
  constructor(parents: Parents<T> = new Map()) {
    this.#parent = parents;
  }

  /** The thing that stands for the set of `item`. Paths are compressed: chains stay short however long they grew. */
  rootOf(item: T): T {
    let root = item;
    for (let up = this.#parent.get(root); up !== undefined; up = this.#parent.get(root)) root = up;
    for (let each = item; each !== root; ) {
      const next = this.#parent.get(each) ?? root;
      this.#parent.set(each, root);
      each = next;
    }
    return root;
  }

  /** The set of `item` becomes part of that of `into`, whose root stands for both. */
  join(item: T, into: T): void {
    const [from, to] = [this.rootOf(item), this.rootOf(into)];
    if (from !== to) this.#parent.set(from, to);
  }
}
