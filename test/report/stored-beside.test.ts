/** What a command leaves in the types that the file stores is told of that file, too, where its row is of another precision. */
import { expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { eachModel, zooModel } from "../zoo.ts";

const rows = [
  ["misaligned_cnn", "tc-runtime"],
  ["llama_dynamo", "ort-cuda"],
  ["tcn", "inductor"],
  ["shufflenet_v2", "cudnn"],
  ["efficientnet_b0", "ort-cuda"],
  ["convnext_tiny_dynamo", "cudnn"],
  ["mobilevit_xs", "inductor"],
  ["yolo", "tc-runtime"],
] as const;

const digits = /\d[\d.]* [µm]?s → \d/;

eachModel(rows)("%s on %s", async (name, stack) => {
  const { account } = await lint(zooModel(name), { stack });
  for (const step of account) {
    const { command, precision, written } = step;
    if (command === undefined || precision === "as-is" || /--precision/.test(command)) continue;
    // What half needs besides is told of the file in half, in a row of its own.
    if (step.needsHalf === true || (step.step !== "safe" && written === undefined)) continue;
    const [, now, , how] = accountCells(step, account);
    const isAlike = written !== undefined && written.after === step.microseconds;
    expect(isAlike || digits.test(how), `${step.step} ${now}: ${how}`).toBe(true);
  }
});
