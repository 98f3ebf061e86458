/** @file Writes the models of startup.ts into a folder: node scripts/run.mjs bench/write-models.ts FOLDER NODES…, synthetic ones by nodes. */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import path from "node:path";
import { inlineWeights } from "./inline.ts";
import { blockNodes, writeSyntheticModel } from "./synthetic.ts";

const [folder = ".", ...sizes] = process.argv.slice(2);
const models = ["resnet50", "video_unet_192"];
const materialize = path.resolve("..", "shared", "zoo", "materialize.mjs");

execFileSync(process.execPath, [materialize, folder, ...models], { stdio: "ignore" });
for (const name of models) {
  inlineWeights(path.join(folder, `${name}.onnx`), path.join(folder, `${name}_inlined.onnx`));
  rmSync(path.join(folder, `${name}.weights`));
}
for (const nodes of sizes.map(Number)) {
  writeSyntheticModel(path.join(folder, `synthetic-${nodes}.onnx`), nodes / blockNodes);
}
