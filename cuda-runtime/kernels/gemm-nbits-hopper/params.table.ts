/** @file The parameter of gemm-nbits-hopper.cu. */
import { nested, StructTable, tensorMap } from "../../ir/param-table.ts";
import { nbitsStruct } from "../gemm-nbits/params.table.ts";

export const nbitsHopperStruct = new StructTable(
  "NBitsHopperParams",
  "A product of one or two rows with weights of 4 bits, which TMA brings.",
  {
    codes: tensorMap("Bytes of a row, rows of weights, one: boxes of 256 codes by 16 rows. Zeros beyond."),
    q: nested(nbitsStruct, "Its pointer to codes is not read."),
  },
);
