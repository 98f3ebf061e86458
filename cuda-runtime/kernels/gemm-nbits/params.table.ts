/** @file The parameter of gemm-nbits.cu. */
import { i32, nested, pointer, StructTable } from "../../ir/param-table.ts";
import { gemmStruct } from "../gemm/params.table.ts";

export const nbitsStruct = new StructTable(
  "NBitsParams",
  "A product of few rows with weights of 4 bits in blocks along k, one row of them a column of the result.",
  {
    codes: pointer("const uint8_t", "[n, blocks, blockSize / 2], packed, a byte's low bits first."),
    scales: pointer("const void", "[n, blocks], of the operands' type."),
    zeros: pointer("const uint8_t", "[n, (blocks + 1) / 2], two to a byte like codes; null: 8."),
    blocks: i32("Of one row."),
    blockShift: i32("A block is 2^blockShift codes, 32 or more."),
    p: nested(gemmStruct, "Rows, output and what is done to each sum; b and its strides are not read."),
  },
);
