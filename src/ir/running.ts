/**
 * @file Whose code runs, where it is not tc-lint's own. What is stopped from outside runs no `finally`: what it was in is still here then, and
 * is said.
 */

let now: string | undefined;
let mirror: SharedText | undefined;

/** `what` names the code: `plugin "acme" (acme.mjs): rule acme/no-softmax`. */
export function during<T>(what: string, work: () => T): T {
  const before = now;
  set(what);
  try {
    return work();
  } finally {
    set(before);
  }
}

/** What was running when work was stopped; undefined where that was tc-lint's own. */
export function stoppedIn(): string | undefined {
  return now;
}

/** New work begins: what an earlier one was stopped in is over. */
export function forgetStopped(): void {
  set(undefined);
}

/** From now on another thread knows, too. */
export function shareRunning(shared: SharedText): void {
  mirror = shared;
}

function set(what: string | undefined): void {
  if (what === now) return;
  now = what;
  mirror?.write(what);
}

const headBytes = Int32Array.BYTES_PER_ELEMENT;
const mostBytes = 2048;

/** A text that two threads see: of one that loops, no message arrives. */
export class SharedText {
  readonly buffer: SharedArrayBuffer;
  readonly #length: Int32Array;
  readonly #bytes: Uint8Array;
  #written = { text: "", bytes: 0 };

  constructor(buffer = new SharedArrayBuffer(headBytes + mostBytes)) {
    this.buffer = buffer;
    this.#length = new Int32Array(buffer, 0, 1);
    this.#bytes = new Uint8Array(buffer, headBytes);
  }

  write(text: string | undefined): void {
    // A rule is asked at many nodes, one after another.
    if (text !== undefined && text !== this.#written.text) {
      const bytes = new TextEncoder().encode(text).subarray(0, mostBytes);
      this.#bytes.set(bytes);
      this.#written = { text, bytes: bytes.length };
    }
    Atomics.store(this.#length, 0, text === undefined ? 0 : this.#written.bytes);
  }

  read(): string | undefined {
    const length = Atomics.load(this.#length, 0);
    return length === 0 ? undefined : new TextDecoder().decode(this.#bytes.slice(0, length));
  }
}
