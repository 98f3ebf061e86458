/** @file What the harness of kernels makes of bytes. */
import { expect, test } from "vitest";
import { sliced, type View } from "../../../cuda-runtime/ir/view.ts";
import { writtenIn } from "../../../cuda-runtime/session/view-bytes.ts";

const buffer = { id: 0, kind: "output", bytes: 24, name: "" } as const;
/** Three rows of two elements, and two behind each. */
const whole: View = { buffer, type: "float16", shape: [3, 4], strides: [4, 1], offset: 0 };
const behind = sliced(whole, 1, 2, 2);

test.each([0xff, 0x41])(
  "elements behind rows are unwritten over bytes %i, and each that is written counts",
  (poison) => {
    const bytes = new Uint8Array(24).fill(poison);
    for (const row of [0, 1, 2]) bytes.fill(0x3c, row * 8, row * 8 + 4);
    expect(writtenIn(behind, bytes, poison)).toBe(0);
    expect(writtenIn(whole, bytes, poison)).toBe(6);
    // NaN too, where memory was NaN: one byte is enough.
    bytes[13] = 0x7e;
    expect(writtenIn(behind, bytes, poison)).toBe(1);
  },
);
