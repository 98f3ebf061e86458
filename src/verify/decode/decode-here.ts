/** @file What a decoder should say next, by ONNX Runtime, in the process that calls this. */
import { InputError } from "../../ir/errors.ts";
import { openModel } from "../../onnx/open.ts";
import { openSession, runtimeVersion } from "../ort.ts";
import { checkRunnable } from "../signature.ts";
import { growingFeeds } from "./feeds.ts";
import { type Decoded, decodeGreedily } from "./greedy.ts";
import { decoderPorts } from "./ports.ts";

export interface DecodeTask {
  readonly path: string;
  readonly prompt: readonly number[];
  /** Tokens that are wanted behind it. */
  readonly count: number;
  readonly threads: number | undefined;
}

export interface DecodeReference extends Decoded {
  readonly runtime: string;
}

/** Throws InputError: `usage` for what is no decoder, `onnxruntime-missing`, `weights-missing`, `cannot-run`. */
export async function decodeHere(
  task: DecodeTask,
  onProgress: (what: string) => void,
): Promise<DecodeReference> {
  using model = openModel(task.path);
  checkRunnable(model);
  const ports = decoderPorts(model);
  onProgress("the reference, loading");
  await using session = await openSession(task, { optimization: "basic", threads: task.threads });
  let steps = 0;
  const decoded = await decodeGreedily(ports, growingFeeds(ports), task.prompt, task.count, (inputs) => {
    onProgress(`the reference, token ${++steps} of ${task.count}`);
    return session.run(inputs);
  });
  if (decoded.scores.some((scores) => scores.some(Number.isNaN)))
    throw new InputError("cannot-run", `${task.path}: ONNX Runtime gives scores that are no numbers`);
  return { ...decoded, runtime: await runtimeVersion() };
}
