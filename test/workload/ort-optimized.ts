/** @file The file that ONNX Runtime's optimizer writes of one, by its CPU provider. */
import { readFileSync } from "node:fs";
import ort from "onnxruntime-node";
import type { temporaryFolder } from "../cli/models.ts";

/** `without`: optimizers that are switched off, as those that the CPU provider alone has. */
export async function optimizedByOrt(
  bytes: Uint8Array,
  folder: ReturnType<typeof temporaryFolder>,
  { level, without = [] }: { readonly level: "basic" | "extended"; readonly without?: readonly string[] },
): Promise<Uint8Array> {
  const optimized = folder.write("optimized.onnx", new Uint8Array());
  const session = await ort.InferenceSession.create(folder.write("written.onnx", bytes), {
    executionProviders: ["cpu"],
    graphOptimizationLevel: level,
    optimizedModelFilePath: optimized,
    logSeverityLevel: 4,
    extra: { optimization: { disable_specified_optimizers: without.join(";") } },
  });
  await session.release();
  return readFileSync(optimized);
}
