/** @file Another batch than the one that a file fixes: as a number, or as a symbol that the caller binds. */

import type { Facts } from "../../facts/infer.ts";
import type { Shape } from "../../ir/dim.ts";
import { InputError } from "../../ir/errors.ts";
import { counted } from "../../ir/format.ts";
import type { Model, Value } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import { requiredInputs } from "../../ir/symbols.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";
import { Rebinding } from "./rebinding.ts";
import { type Batch, obstacleTo, placeOf } from "./samples.ts";

/** A size, or a symbol. */
export type BatchChoice = number | "dynamic";

export const rebatch: Pass = { name: "batch", safe: false, run };

/** An assumption that is wrong is corrected by what it makes of the graph, from the front to the back. */
const maxRounds = 40;

/** Throws InputError `batch-not-free`: which node holds the batch, what was found and expected. */
function run(context: PassContext): PassResult {
  const { model, options } = context;
  const { batch: choice } = options;
  if (choice === undefined) throw new InputError("usage", `${model.path}: no batch is asked for`);
  const open = choice === "dynamic" ? openBatch(model) : undefined;
  if (open !== undefined) return { patch: new Patch(), notes: [keptNote(`open already ("${open}")`)] };
  const { inputs, size } = fixedBatch(model);
  const batch = { size, symbol: freeSymbol(context) };
  const rebinding = new Rebinding(context, batch, inputs);
  const number = choice === "dynamic" ? undefined : choice;
  if (number === size) return { patch: new Patch(), notes: [keptNote(`${size} already`)] };
  let after = context.preview(rebinding.patch(undefined, undefined));
  for (let round = 0; round < maxRounds && rebinding.correct(after); round++)
    after = context.preview(rebinding.patch(undefined, undefined));
  const obstacle = obstacleTo(context.facts, after, batch) ?? aloneOutput(after, batch);
  if (obstacle !== undefined)
    throw new InputError(
      "batch-not-free",
      `${model.path}: its batch of ${size} cannot be changed: ${obstacle}`,
    );
  return {
    patch: rebinding.patch(after, number),
    notes: [noteOf(rebinding, choice)],
    stacked: { size, inputs: inputs.map(({ name }) => name), outputs: outputAxes(after, batch) },
  };
}

interface ShapedInput {
  readonly value: Value;
  readonly shape: Shape;
}

/** Inputs that have axes. */
function shapedInputs(model: Model): ShapedInput[] {
  return requiredInputs(model).flatMap((value): ShapedInput[] => {
    const shape = value.declared?.kind === "tensor" ? value.declared.shape : undefined;
    return shape === undefined || shape.length === 0 ? [] : [{ value, shape }];
  });
}

function largestOf(shapes: readonly ShapedInput[]): ShapedInput | undefined {
  return shapes.toSorted((a, b) => elements(b.shape) - elements(a.shape))[0];
}

/** The symbol that the leading size of the largest input is; undefined where it is a number. */
export function openBatch(model: Model): string | undefined {
  const size = largestOf(shapedInputs(model))?.shape[0];
  return size === undefined || typeof size === "number" ? undefined : String(size);
}

/** The leading size that the largest input fixes, and all inputs that have it. */
export function fixedBatch(model: Model): { readonly inputs: readonly Value[]; readonly size: number } {
  const shapes = shapedInputs(model);
  const largest = largestOf(shapes);
  const size = largest?.shape[0];
  if (typeof size !== "number" || size === 0) {
    const found =
      size === undefined
        ? "no input has axes"
        : `the batch of input "${largest?.value.name}" is ${typeof size === "number" ? "0" : `open already ("${size}"): --dim ${size}=N prices it at a size`}`;
    throw new InputError("batch-not-free", `${model.path}: ${found}`);
  }
  return { inputs: shapes.flatMap(({ value, shape }) => (shape[0] === size ? [value] : [])), size };
}

function elements(shape: Shape): number {
  return shape.reduce<number>((total, dim) => total * (typeof dim === "number" ? dim : 1), 1);
}

const symbolNames = ["batch", "batch_size", "samples"];

function freeSymbol({ facts, names }: PassContext): string {
  return (
    symbolNames.find((name) => !facts.symbols.has(name) && !facts.bindings.has(name)) ?? names.make("batch")
  );
}

/** What is given for samples has one axis of them. */
function aloneOutput(facts: Facts, batch: Batch): string | undefined {
  if (outputAxes(facts, batch).size > 0) return undefined;
  return `none of ${counted(facts.model.graph.outputs.length, "output")} has an axis of samples`;
}

function outputAxes({ model, root }: Facts, batch: Batch): ReadonlyMap<string, number> {
  return new Map(
    model.graph.outputs.flatMap((output) => {
      const place = placeOf(root.shape(output), batch);
      return place ? [[output.name, place.axis] as const] : [];
    }),
  );
}

function keptNote(what: string): PassNote {
  return { kind: "kept", node: undefined, message: `the batch is ${what}` };
}

function noteOf({ batch, inputs, changes }: Rebinding, choice: BatchChoice): PassNote {
  const what = choice === "dynamic" ? `"${batch.symbol}"` : String(choice);
  const names = inputs.map(({ name }) => `"${name}"`).join(", ");
  const edits = changes === 0 ? "" : `; ${counted(changes, "node")} that held it changed`;
  return { kind: "changed", node: undefined, message: `${names}: ${batch.size} → ${what}${edits}` };
}
