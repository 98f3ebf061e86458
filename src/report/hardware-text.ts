/** @file The rows of GPUs and stacks as text and as JSON. */
import { MiB, wholeGiB } from "../hardware/bytes.ts";
import { ceilingsOf } from "../hardware/ceilings.ts";
import { type Gpu, gpus } from "../hardware/gpus.ts";
import { type Stack, stacks } from "../hardware/stacks.ts";
import { alignColumns } from "./table.ts";

const gpuColumns: readonly (readonly [string, (gpu: Gpu) => string])[] = [
  ["--gpu", ({ id }) => id],
  ["name", ({ name }) => name],
  ["sm", ({ computeCapability }) => computeCapability],
  ["SMs", ({ sms }) => String(sms)],
  ["fp16", ({ tensorTflops }) => rate(tensorTflops.fp16)],
  ["bf16", ({ tensorTflops }) => rate(tensorTflops.bf16)],
  ["tf32", ({ tensorTflops }) => rate(tensorTflops.tf32)],
  ["int8", ({ tensorTflops }) => rate(tensorTflops.int8)],
  ["fp8", ({ tensorTflops }) => rate(tensorTflops.fp8)],
  ["fp32", ({ cudaTflops }) => rate(cudaTflops)],
  ["fp64", ({ float64Tflops: { cuda, tensor } }) => rate(tensor ?? cuda)],
  ["memory GiB", ({ memoryBytes }) => String(wholeGiB(memoryBytes))],
  ["DRAM GB/s", ({ dramGBps }) => String(dramGBps)],
  ["L2 MiB", ({ l2Bytes }) => String(Math.round(l2Bytes / MiB))],
];

function rate(tflops: number | undefined): string {
  return tflops === undefined ? "–" : String(tflops);
}

/** Rates in TFLOP/s (int8: TOP/s), dense; then where each row is from. */
export function gpuTable(): string {
  const rows = [...gpus.values()];
  const cells = [
    gpuColumns.map(([title]) => title),
    ...rows.map((gpu) => gpuColumns.map(([, text]) => text(gpu))),
  ];
  const table = alignColumns(
    cells,
    gpuColumns.map((_, column) => (column < 2 ? "left" : "right")),
  );
  const stackRows = Object.values(stacks);
  return [
    "GPUs: dense TFLOP/s by data type (int8: TOP/s), from their datasheets",
    "",
    ...table,
    "",
    "Stacks",
    "",
    ...alignColumns(
      [["--stack", "name", "channels a multiple of"], ...stackRows.map(stackCells)],
      ["left", "left", "left"],
    ),
    "",
    "Sources",
    "",
    ...alignColumns([...rows, ...stackRows].flatMap(sourceCells), ["left", "left"]),
    "",
  ].join("\n");
}

function stackCells({ id, name, alignment }: Stack): string[] {
  const multiples = Object.entries(alignment).map(([type, multiple]) => `${type} ${multiple}`);
  return [id, name, multiples.join(", ")];
}

function sourceCells({ id, source }: Gpu | Stack): string[][] {
  const measured = ceilingsOf(id);
  return [[id, source], ...(measured === undefined ? [] : [["", `measured: ${measured.source}`]])];
}

export function hardwareJson(): string {
  const rows = [...gpus.values()].map((gpu) => ({ ...gpu, measured: ceilingsOf(gpu.id) ?? null }));
  return `${JSON.stringify({ gpus: rows, stacks: Object.values(stacks) }, undefined, 2)}\n`;
}
