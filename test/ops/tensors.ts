/** @file Facts and their text, for tests of operators that move data. */
import { type Dim, symbol } from "../../src/ir/dim.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show } from "./context.ts";

export const n = symbol("N");
export const s = symbol("S");
export const p = symbol("P");

export const float = (...shape: Dim[]) => tensor("float32", shape);
export const ints = (...elements: Dim[]) => tensor("int64", [elements.length], elements);
export const scalar = (element: Dim) => tensor("int64", [], [element]);
/** A vector whose elements only running the model would tell. */
export const computed = (length: Dim) => tensor("int64", [length]);
export const anyRank = tensor("float32", undefined);

export const shown = (options: ContextOptions) => show(inferTensor(options));
export const allShown = (options: ContextOptions) => infer(options).map(show);
