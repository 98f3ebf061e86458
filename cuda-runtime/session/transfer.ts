/** @file Bytes between host and device, through pinned memory, in chunks. */
import type { Driver } from "../driver/driver.ts";
import { PinnedMemory } from "../driver/memory.ts";
import { type Owned, owning } from "../driver/owned.ts";
import { type Stream, TimingEvent } from "../driver/stream.ts";

/** Larger chunks are no faster. Pinning takes the driver a while, so that who moves little says so. */
const largestChunk = 16 * 2 ** 20;
const smallestChunk = 2 ** 16;
/** Small pieces lie this far apart. */
const pieceAlignment = 16;

interface Stage {
  readonly memory: PinnedMemory;
  /** Happens when the copies from it are done. */
  readonly free: TimingEvent;
  used: number;
}

/** Two blocks take turns: one is filled while the other is copied. */
export class Transfer implements Disposable {
  readonly #driver: Driver;
  readonly #stream: Stream;
  readonly #owned: Owned;
  readonly #chunkBytes: number;
  #current: Stage;
  #other: Stage;

  /** `expectedBytes` is about how much will be moved at once. */
  constructor(driver: Driver, stream: Stream, expectedBytes = largestChunk) {
    const chunkBytes = Math.max(smallestChunk, Math.min(largestChunk, expectedBytes));
    this.#chunkBytes = chunkBytes;
    this.#driver = driver;
    this.#stream = stream;
    [this.#owned, this.#current, this.#other] = owning((owned) => {
      const stage = (): Stage => ({
        memory: owned.use(new PinnedMemory(driver, chunkBytes)),
        free: owned.use(new TimingEvent(driver)),
        used: 0,
      });
      return [owned, stage(), stage()];
    });
  }

  /** Queues `bytes` bytes to `address`; `fill` writes those from `offset` on into its target, now. */
  upload(address: number, bytes: number, fill: (offset: number, target: Uint8Array) => void): void {
    for (let offset = 0; offset < bytes; ) {
      const stage = this.#stageWithRoom();
      const size = Math.min(bytes - offset, this.#chunkBytes - stage.used);
      fill(offset, stage.memory.bytes.subarray(stage.used, stage.used + size));
      const from = stage.memory.address + stage.used;
      this.#driver.call("cuMemcpyHtoDAsync_v2", address + offset, from, size, this.#stream.handle);
      stage.used = Math.ceil((stage.used + size) / pieceAlignment) * pieceAlignment;
      offset += size;
    }
  }

  uploadBytes(address: number, bytes: Uint8Array): void {
    this.upload(address, bytes.length, (offset, target) => {
      target.set(bytes.subarray(offset, offset + target.length));
    });
  }

  /** Waits for all that was queued before. */
  download(address: number, bytes: number): Uint8Array {
    this.flush();
    const { memory } = this.#current;
    const result = new Uint8Array(bytes);
    for (let offset = 0; offset < bytes; offset += this.#chunkBytes) {
      const size = Math.min(this.#chunkBytes, bytes - offset);
      this.#driver.call("cuMemcpyDtoHAsync_v2", memory.address, address + offset, size, this.#stream.handle);
      this.#stream.synchronize();
      result.set(memory.bytes.subarray(0, size), offset);
    }
    return result;
  }

  /** Waits until everything is on the device. */
  flush(): void {
    this.#stream.synchronize();
    this.#current.used = 0;
    this.#other.used = 0;
  }

  #stageWithRoom(): Stage {
    if (this.#current.used < this.#chunkBytes) return this.#current;
    this.#stream.record(this.#current.free);
    [this.#current, this.#other] = [this.#other, this.#current];
    // An event that was never recorded counts as done.
    this.#current.free.synchronize();
    this.#current.used = 0;
    return this.#current;
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}
