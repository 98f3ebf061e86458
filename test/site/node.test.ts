/** @file What stands for Node's modules in the page, held against Node's own. */
import { Buffer as NodeBuffer } from "node:buffer";
import { createHash } from "node:crypto";
import path from "node:path";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Buffer, isUtf8 } from "../../src/site/node/buffer.ts";
import { createHash as createOwnHash } from "../../src/site/node/crypto.ts";
import { NotInBrowserError } from "../../src/site/node/missing.ts";
import * as ownPath from "../../src/site/node/path.ts";
import { cwd } from "../../src/site/node/process.ts";
import { inspect } from "../../src/site/node/util.ts";
import { inflateRawSync } from "../../src/site/node/zlib.ts";

const bytes = fc.uint8Array({ maxLength: 400 });

describe("Node's modules in the page", () => {
  it("hash as Node does, in whatever pieces", () => {
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 4 }), fc.string({ unit: "grapheme" }), (pieces, text) => {
        const [own, node] = [createOwnHash("sha256"), createHash("sha256")];
        for (const piece of [...pieces, text]) {
          own.update(piece);
          node.update(piece);
        }
        const whole = NodeBuffer.concat([...pieces, NodeBuffer.from(text)]);
        expect(own.digest("hex")).toBe(node.digest("hex"));
        const once = createOwnHash("sha256").update(whole).digest("base64");
        expect(once).toBe(createHash("sha256").update(whole).digest("base64"));
      }),
    );
    expect(() => createOwnHash("md5")).toThrow(NotInBrowserError);
  });

  it.each([0, 1, 9] as const)("inflate what was deflated at level %i", (level) => {
    const repeated = fc.tuple(bytes, fc.nat(300)).map(([part, times]) => {
      return NodeBuffer.concat(new Array<Uint8Array>(times).fill(part));
    });
    fc.assert(
      fc.property(repeated, bytes, (head, tail) => {
        const whole = NodeBuffer.concat([head, tail]);
        const deflated = deflateRawSync(whole, { level });
        const inflated = inflateRawSync(deflated, { maxOutputLength: whole.length });
        expect(NodeBuffer.compare(inflated, whole)).toBe(0);
        if (whole.length > 0)
          expect(() => inflateRawSync(deflated, { maxOutputLength: whole.length - 1 })).toThrow(RangeError);
      }),
    );
  });

  it("refuse what is no deflated data, or not all of it", () => {
    expect(() => inflateRawSync(Uint8Array.of(7), { maxOutputLength: 9 })).toThrow("broken");
    const cut = deflateRawSync(NodeBuffer.from("the same, the same, the same")).subarray(0, -3);
    expect(() => inflateRawSync(cut, { maxOutputLength: 99 })).toThrow("broken");
  });

  it("read numbers and texts out of bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 64 }), fc.nat(8), (content, offset) => {
        const [own, node] = [Buffer.from([...content]), NodeBuffer.from(content)];
        for (const name of numbers) expect(own[name](offset)).toEqual(node[name](offset));
        for (const encoding of ["latin1", "utf8"] as const)
          expect(own.toString(encoding, offset, 12)).toBe(node.toString(encoding, offset, 12));
        // As Node's, a part is one as well.
        expect((own.subarray(3) as Buffer).readUInt8(1)).toBe(content[4]);
        expect(isUtf8(own)).toBe(node.toString("utf8").includes("\ufffd") === false);
        expect(own.equals(node)).toBe(true);
        expect(own.equals(node.subarray(1))).toBe(false);
      }),
    );
    expect(() => Buffer.alloc(4).toString("hex")).toThrow(NotInBrowserError);
  });

  it("make bytes of texts, lists and parts", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), bytes, (text, content) => {
        const encoded = NodeBuffer.from(content).toString("base64");
        expect([...Buffer.from(encoded, "base64")]).toEqual([...content]);
        expect([...Buffer.from(text)]).toEqual([...NodeBuffer.from(text)]);
        expect(Buffer.byteLength(text)).toBe(NodeBuffer.byteLength(text));
        expect([...Buffer.concat([content, Buffer.from(text)])]).toEqual([
          ...NodeBuffer.concat([content, NodeBuffer.from(text)]),
        ]);
      }),
    );
    expect(() => Buffer.from("00", "hex")).toThrow(NotInBrowserError);
  });

  it("join and part names", () => {
    for (const name of ["model.onnx", "a/b/model.onnx", "/model.onnx"])
      expect(ownPath.dirname(name)).toBe(path.posix.dirname(name));
    for (const folder of [".", "a/b"])
      expect(ownPath.join(folder, "x.data")).toBe(path.posix.join(folder, "x.data"));
  });

  it("say by name what a browser has not", () => {
    for (const absent of [cwd, inspect, ownPath.resolve, ownPath.relative, ownPath.isAbsolute])
      expect(absent).toThrow(NotInBrowserError);
  });
});

const numbers = [
  "readUInt8",
  "readInt8",
  "readUInt16LE",
  "readInt16LE",
  "readUInt32LE",
  "readInt32LE",
  "readBigUInt64LE",
  "readBigInt64LE",
  "readFloatLE",
  "readDoubleLE",
] as const;
