/** @file Networks that differ in what a pull request may change: widths, casts, a layer more, names. */
import { model, type Sizes } from "../../fixtures/builder.ts";

export interface NetworkOptions {
  /** Filters of the three convolutions. */
  readonly widths?: readonly [number, number, number];
  readonly batch?: number | string;
  /** A Cast to half and back behind the first layer, and a Transpose there and back. */
  readonly detours?: boolean;
  /** Of the file that holds its weights; left out, they are in the model. */
  readonly weights?: string;
}

/** Three convolutions in half precision, of widths that are multiples of 8 unless they are said to be others. */
export function network({
  widths = [256, 256, 512],
  batch = 1,
  detours = false,
  weights,
}: NetworkOptions = {}): Uint8Array {
  return model({ name: weights ?? "network" }, (graph) => {
    const size = 56;
    let x = graph.input("image", [batch, 64, size, size], "float16");
    let channels = 64;
    const weight = (name: string, sizes: readonly number[]) =>
      weights === undefined && sizes.length === 1
        ? graph.weight(sizes, { dtype: "float16", name, values: sizes.flatMap((n) => Array(n).fill(0.5)) })
        : graph.weight(sizes, { dtype: "float16", name });
    for (const [index, filters] of widths.entries()) {
      const name = `layer${index}`;
      const inputs = [
        x,
        weight(`${name}.weight`, [filters, channels, 3, 3]),
        weight(`${name}.bias`, [filters]),
      ];
      const [conv = ""] = graph.nodes(
        "Conv",
        inputs,
        { pads: [1, 1, 1, 1] },
        { name, outputs: [`${name}.out`] },
      );
      const [relu = ""] = graph.nodes("Relu", [conv], {}, { name: `${name}.relu`, outputs: [`${name}.y`] });
      x = index === 0 && detours ? detour(relu) : relu;
      channels = filters;
    }
    function detour(value: string): string {
      const wide = graph.node("Cast", [value], { to: 1 }, { name: "widen" });
      const turned = graph.node("Transpose", [wide], { perm: [0, 2, 3, 1] }, { name: "turn" });
      const back = graph.node("Transpose", [turned], { perm: [0, 3, 1, 2] }, { name: "turn back" });
      return graph.node("Cast", [back], { to: 10 }, { name: "narrow" });
    }
    graph.nodes("Identity", [x], {}, { name: "out", outputs: ["features"] });
    const sizes: Sizes = [batch, channels, size, size];
    graph.output("features", "float16", sizes);
  });
}
