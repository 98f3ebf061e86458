import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InputError } from "../../src/ir/errors.ts";
import { readNpz, writeNpz } from "../../src/verify/npz.ts";
import { type ArrayType, arrays, countOf, isSharedType, type Tensor } from "../../src/verify/tensor.ts";

const types = (Object.keys(arrays) as ArrayType[]).filter(isSharedType);

const anyTensor: fc.Arbitrary<Tensor> = fc
  .record({ dtype: fc.constantFrom(...types), dims: fc.array(fc.nat({ max: 4 }), { maxLength: 4 }) })
  .chain(({ dtype, dims }) => {
    const bytes = countOf(dims) * arrays[dtype].BYTES_PER_ELEMENT;
    const byte = fc.nat({ max: dtype === "bool" ? 1 : 255 });
    return fc.array(byte, { minLength: bytes, maxLength: bytes }).map((values): Tensor => {
      return { dtype, dims, data: new arrays[dtype](Uint8Array.from(values).buffer) };
    });
  });

const anyTensors = fc
  .uniqueArray(fc.tuple(fc.string({ minLength: 1, maxLength: 12, unit: "grapheme" }), anyTensor), {
    selector: ([name]) => name,
    maxLength: 4,
  })
  .map((entries) => new Map(entries));

function bytesOf({ data }: Tensor): Buffer {
  if (!ArrayBuffer.isView(data)) throw new Error("strings");
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

describe("npz", () => {
  it("gives back what was written", () => {
    fc.assert(
      fc.property(anyTensors, fc.boolean(), (tensors, compress) => {
        const again = readNpz(writeNpz(tensors, { compress }), "x.npz");
        expect([...again.keys()]).toEqual([...tensors.keys()]);
        for (const [name, tensor] of tensors) {
          const read = again.get(name);
          expect(read).toMatchObject({ dtype: tensor.dtype, dims: tensor.dims });
          if (read !== undefined) expect(bytesOf(read)).toEqual(bytesOf(tensor));
        }
      }),
    );
  });

  it("answers any damage with an error that names the file", () => {
    const archive = writeNpz(new Map([["x", { dtype: "float32", dims: [8], data: new Float32Array(8) }]]), {
      compress: true,
    });
    fc.assert(
      fc.property(
        fc.nat({ max: archive.length - 1 }),
        fc.nat({ max: 255 }),
        fc.boolean(),
        (at, byte, cut) => {
          const damaged = Buffer.from(cut ? archive.subarray(0, at) : archive);
          if (!cut) damaged[at] = byte;
          try {
            readNpz(damaged, "x.npz");
          } catch (error) {
            expect(error).toBeInstanceOf(InputError);
            expect(String(error)).toContain("x.npz");
          }
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("does not unpack more than it may", () => {
    const large: Tensor = { dtype: "float32", dims: [1 << 20], data: new Float32Array(1 << 20) };
    const archive = writeNpz(new Map([["x", large]]), { compress: true });
    expect(archive.length).toBeLessThan(1 << 14);
    expect(() => readNpz(archive, "x.npz", 1 << 20)).toThrow(/more than 1048576 bytes/);
    // The directory says less than what comes out.
    const lying = Buffer.from(archive);
    const central = lying.lastIndexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]));
    lying.writeUInt32LE(64, central + 24);
    expect(() => readNpz(lying, "x.npz", 1 << 20)).toThrow(/cannot be unpacked/);
  });
});

const numpy = spawnSync("python3", ["-c", "import numpy"]).status === 0;
if (!numpy) console.warn("skipped: npz against NumPy, which is not here");

describe.skipIf(!numpy)("npz, against NumPy", () => {
  it("reads what NumPy writes, and NumPy reads what it writes", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-npz-"));
    const [ours, theirs] = [path.join(folder, "ours.npz"), path.join(folder, "theirs.npz")];
    const tensors = new Map<string, Tensor>([
      ["a", { dtype: "float32", dims: [2, 3], data: Float32Array.of(0, 1, 2, 3, 4, 5) }],
      ["b", { dtype: "int64", dims: [], data: BigInt64Array.of(-7n) }],
    ]);
    writeFileSync(ours, writeNpz(tensors, { compress: true }));
    const script = `
import numpy as np
given = np.load(r"${ours}")
assert given["a"].dtype == np.float32 and given["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
assert given["b"].shape == () and int(given["b"]) == -7
np.savez_compressed(r"${theirs}", a=given["a"], f=np.asfortranarray(np.arange(24.).reshape(2, 3, 4)), big=np.arange(3, dtype=">i4"), h=np.float16([1.5]), t=np.array([True, False]))
`;
    const { status, stderr } = spawnSync("python3", ["-c", script], { encoding: "utf8" });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const read = readNpz(readFileSync(theirs), "theirs.npz");
    rmSync(folder, { recursive: true });
    expect(read.get("a")).toEqual(tensors.get("a"));
    expect(read.get("f")).toEqual({
      dtype: "float64",
      dims: [2, 3, 4],
      data: Float64Array.from({ length: 24 }, (_, i) => i),
    });
    expect(read.get("big")?.data).toEqual(Int32Array.of(0, 1, 2));
    expect(read.get("h")?.data).toEqual(Uint16Array.of(0x3e00));
    expect(read.get("t")?.data).toEqual(Uint8Array.of(1, 0));
  });
});
