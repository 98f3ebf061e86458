/** @file Minimum cuts of a directed graph with capacities (Dinic's algorithm, without recursion). */

/** More than any sum of finite capacities. */
export const uncuttable = 2 ** 50;

export class FlowNetwork {
  readonly source = 0;
  readonly sink = 1;
  #vertices = 2;
  /** Edges in pairs, each beside its reverse: `to`, what is left of its capacity, and the next edge of its vertex. */
  readonly #to: number[] = [];
  readonly #left: number[] = [];
  readonly #next: number[] = [];
  readonly #first: number[] = [-1, -1];

  addVertex(): number {
    this.#first.push(-1);
    return this.#vertices++;
  }

  /** Cut where `from` stays with the source and `to` goes with the sink. */
  addEdge(from: number, to: number, capacity: number): void {
    if (capacity <= 0 || from === to) return;
    this.#half(from, to, capacity);
    this.#half(to, from, 0);
  }

  /** The smallest set of vertices on the source's side of a minimum cut. */
  sourceSide(): ReadonlySet<number> {
    let levels = this.#levels();
    while ((levels[this.sink] ?? -1) >= 0) {
      this.#saturate(levels);
      levels = this.#levels();
    }
    const side = new Set<number>();
    for (const [vertex, level] of levels.entries()) if (level >= 0) side.add(vertex);
    return side;
  }

  #half(from: number, to: number, capacity: number): void {
    this.#to.push(to);
    this.#left.push(capacity);
    this.#next.push(this.#first[from] ?? -1);
    this.#first[from] = this.#to.length - 1;
  }

  /** Distance of each vertex from the source along edges with capacity left; −1 where there is no way. */
  #levels(): Int32Array {
    const levels = new Int32Array(this.#vertices).fill(-1);
    levels[this.source] = 0;
    const queue = [this.source];
    for (let head = 0; head < queue.length; head++) {
      const vertex = queue[head] ?? 0;
      for (let edge = this.#first[vertex] ?? -1; edge >= 0; edge = this.#next[edge] ?? -1) {
        const to = this.#to[edge] ?? 0;
        if ((this.#left[edge] ?? 0) <= 0 || (levels[to] ?? 0) >= 0) continue;
        levels[to] = (levels[vertex] ?? 0) + 1;
        queue.push(to);
      }
    }
    return levels;
  }

  /** Sends flow along shortest paths until every one of them has a full edge. */
  #saturate(levels: Int32Array): void {
    const open = Int32Array.from(this.#first);
    const path: number[] = [];
    let vertex = this.source;
    for (;;) {
      if (vertex === this.sink) {
        vertex = this.#send(path);
        continue;
      }
      const edge = this.#forward(vertex, levels, open);
      if (edge >= 0) {
        path.push(edge);
        vertex = this.#to[edge] ?? 0;
        continue;
      }
      const back = path.pop();
      if (back === undefined) return;
      // A dead end: its entry is not tried again.
      vertex = this.#to[back ^ 1] ?? 0;
      open[vertex] = this.#next[open[vertex] ?? -1] ?? -1;
    }
  }

  /** The next usable edge of a vertex towards the sink; −1 for none. */
  #forward(vertex: number, levels: Int32Array, open: Int32Array): number {
    let edge = open[vertex] ?? -1;
    while (edge >= 0) {
      const deeper = (levels[this.#to[edge] ?? 0] ?? -1) === (levels[vertex] ?? 0) + 1;
      if (deeper && (this.#left[edge] ?? 0) > 0) break;
      edge = this.#next[edge] ?? -1;
    }
    open[vertex] = edge;
    return edge;
  }

  /** Fills the narrowest edge of a path, shortens the path to before it, and says where it then ends. */
  #send(path: number[]): number {
    const narrowest = path.reduce((least, edge) => Math.min(least, this.#left[edge] ?? 0), Infinity);
    let cut = path.length;
    for (const [index, edge] of path.entries()) {
      this.#left[edge] = (this.#left[edge] ?? 0) - narrowest;
      this.#left[edge ^ 1] = (this.#left[edge ^ 1] ?? 0) + narrowest;
      if (this.#left[edge] === 0 && index < cut) cut = index;
    }
    const full = path[cut] ?? 0;
    path.length = cut;
    return this.#to[full ^ 1] ?? 0;
  }
}
