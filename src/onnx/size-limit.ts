/** @file The size of a file that a model can have: protobuf's, which every runtime shares. Its external data is beside it, and as large as it likes. */
export const maxModelBytes = 2 ** 31 - 1;

const advice = "onnx.save with save_as_external_data puts its weights beside it";

/** What a file is that nothing loads; undefined of others. */
export function oversize(bytes: number): string | undefined {
  if (bytes <= maxModelBytes) return undefined;
  return `the file has ${bytes} bytes, and protobuf reads at most 2 GiB: no runtime loads it; ${advice}`;
}
