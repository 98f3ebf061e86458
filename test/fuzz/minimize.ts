/** @file A smaller model that fails in the same way: parts left out, one after the other, while it still does. */
import { onnx, type types } from "../onnx/build.ts";

const maxTrials = 600;

/** `fails` says whether some bytes show the defect. What is no message that onnx-proto reads stays as it is. */
export async function minimize(
  bytes: Uint8Array,
  fails: (bytes: Uint8Array) => Promise<boolean>,
): Promise<Uint8Array> {
  let smallest = bytes;
  let trials = 0;
  for (let again = true; again && trials < maxTrials; ) {
    again = false;
    for (const cut of cutsOf(smallest)) {
      trials += 1;
      if (trials > maxTrials) break;
      const smaller = cut();
      if (smaller.length < smallest.length && (await fails(smaller))) {
        smallest = smaller;
        again = true;
        break;
      }
    }
  }
  return smallest;
}

function cutsOf(bytes: Uint8Array): (() => Uint8Array)[] {
  let model: types.IModelProto;
  try {
    model = onnx.ModelProto.decode(bytes);
  } catch (error) {
    if (error instanceof Error) return [];
    throw error;
  }
  const lists = (from: types.IModelProto): unknown[][] => {
    const { graph } = from;
    const all = [
      graph?.node,
      graph?.valueInfo,
      graph?.initializer,
      graph?.output,
      graph?.input,
      from.functions,
      from.metadataProps,
    ];
    const ofNodes = (graph?.node ?? []).map(({ attribute }) => attribute);
    return [...all, ...ofNodes].map((list) => (list ?? []) as unknown[]);
  };
  return lists(model).flatMap((list, at) =>
    spansOf(list.length).map(([from, count]) => () => {
      const copy = onnx.ModelProto.decode(bytes);
      lists(copy)[at]?.splice(from, count);
      return onnx.ModelProto.encode(copy).finish();
    }),
  );
}

/** Halves first, then quarters, down to single entries. */
function spansOf(length: number): [number, number][] {
  const spans: [number, number][] = [];
  for (let size = length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < length && spans.length < 64; from += size) spans.push([from, size]);
  }
  return spans;
}
