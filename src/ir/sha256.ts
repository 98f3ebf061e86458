/** @file SHA-256 at once, of little (FIPS 180-4): loading Node's takes longer than a few hundred short texts, and what browsers have answers later. */

const blockBytes = 64;
const encoder = new TextEncoder();
const { roots, cubes } = constants();

/** Words of the fractions of roots of the first primes: the state at the beginning, and the constants of the rounds. */
function constants() {
  const primes: number[] = [];
  for (let number = 2; primes.length < blockBytes; number++)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  const fraction = (root: number) => Math.floor((root - Math.floor(root)) * 2 ** 32);
  return {
    roots: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    cubes: Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
  };
}

export class Sha256 {
  readonly #state = Uint32Array.from(roots);
  readonly #words = new Uint32Array(blockBytes);
  readonly #block = new Uint8Array(blockBytes);
  readonly #view = new DataView(this.#block.buffer);
  #bytes = 0;

  update(data: string | Uint8Array): this {
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    for (let done = 0; done < bytes.length; ) {
      const at = this.#bytes % blockBytes;
      const part = bytes.subarray(done, done + blockBytes - at);
      this.#block.set(part, at);
      this.#bytes += part.length;
      done += part.length;
      if (this.#bytes % blockBytes === 0) this.#mix();
    }
    return this;
  }

  digest(encoding: "hex" | "base64"): string {
    const bits = this.#bytes * 8;
    const padding = new Uint8Array(((119 - (this.#bytes % blockBytes)) % blockBytes) + 9);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    const words = [...this.#state];
    if (encoding === "hex") return words.map((word) => word.toString(16).padStart(8, "0")).join("");
    const bytes = words.flatMap((word) => [24, 16, 8, 0].map((shift) => (word >>> shift) & 255));
    return btoa(bytes.map((byte) => String.fromCharCode(byte)).join(""));
  }

  #mix(): void {
    const words = this.#words;
    for (let index = 0; index < 16; index++) words[index] = this.#view.getUint32(4 * index);
    for (let index = 16; index < blockBytes; index++) {
      const early = words[index - 15] ?? 0;
      const late = words[index - 2] ?? 0;
      const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[index] = (words[index - 16] ?? 0) + first + (words[index - 7] ?? 0) + second;
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = this.#state;
    for (let index = 0; index < blockBytes; index++) {
      const high = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const chosen = (e & f) ^ (~e & g);
      const one = (h + high + chosen + (cubes[index] ?? 0) + (words[index] ?? 0)) | 0;
      const low = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    for (const [index, word] of [a, b, c, d, e, f, g, h].entries())
      this.#state[index] = (this.#state[index] ?? 0) + word;
  }
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
