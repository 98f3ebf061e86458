/** @file Things that go together: given back in reverse order, also where making a later one failed. */

/** What DisposableStack is in Node 24. */
export class Owned implements Disposable {
  readonly #items: Disposable[] = [];

  use<Item extends Disposable>(item: Item): Item {
    this.#items.push(item);
    return item;
  }

  [Symbol.dispose](): void {
    for (let item = this.#items.pop(); item !== undefined; item = this.#items.pop()) item[Symbol.dispose]();
  }
}

/** Runs `make` with an owner that is emptied if it throws. */
export function owning<Result>(make: (owned: Owned) => Result): Result {
  const owned = new Owned();
  try {
    return make(owned);
  } catch (error) {
    owned[Symbol.dispose]();
    throw error;
  }
}
