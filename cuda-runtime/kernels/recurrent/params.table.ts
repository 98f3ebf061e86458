/** @file The parameters of the kernels of recurrent/. */
import { f32, flag, i32, i32s, list, nested, pointer, StructTable } from "../../ir/param-table.ts";

export const gateFunctionStruct = new StructTable(
  "GateFunction",
  "`kind` is a GateActivation; what `alpha` and `beta` are is its matter.",
  {
    kind: i32(),
    alpha: f32(),
    beta: f32(),
  },
);

export const recurrentStruct = new StructTable(
  "RecurrentParams",
  "What comes after the product with the whole input. Strides are in elements.",
  {
    r: pointer("const void", "[directions, gates · hidden, hidden]."),
    x: pointer("const float", "What the product with the input gave, bias of W added."),
    rBias: pointer("const float", "[directions, gates · hidden]; null for none."),
    peepholes: pointer("const float", "[directions, 3 · hidden]: input, output, forget; null for none."),
    lengths: pointer("const int", "[batch]; null where all are `steps` long."),
    hIn: pointer("const float", "[directions, batch, hidden]."),
    hOut: pointer("float"),
    c: pointer("float", "LSTM: [directions, batch, hidden], changed in place."),
    reset: pointer(
      "float",
      "GRU: r ⊙ h, where the reset comes before the product; [directions, batch, hidden].",
    ),
    update: pointer("float", "GRU: z, likewise."),
    y: pointer("void", "Null where nobody reads it."),
    step: i32("Of a step kernel."),
    steps: i32(),
    batch: i32(),
    hidden: i32(),
    xStrides: i32s(3, { note: "Direction, step, batch; gates and units lie together." }),
    yStrides: i32s(3, { fill: 0 }),
    yType: i32(),
    reversed: list(flag(), [2], false),
    inputForget: flag(),
    clip: f32("Of what goes into the gates; infinite for none."),
    functions: list(nested(gateFunctionStruct), [2, 3]),
  },
);
