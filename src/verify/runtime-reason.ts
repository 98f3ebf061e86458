/** @file Why ONNX Runtime refuses a model, in a line: the node and what is wrong with it, without the place in its own source. */
import { shortened } from "../ir/format.ts";

/** What a reader takes in at once; names of nodes stand in front. */
const mostShown = 240;

/** Patterns are looked for at every place of it. */
const mostRead = 10_000;

/** `Load model from FILE failed:`, which whoever asks says already. */
const loading = /^Load model from .*? failed:\s*/;
const running = /^Non-zero status code returned while running (\S+) node\. Name:'(.*?)' Status Message: /;
/** `/onnxruntime_src/…/reshape_helper.h:91 onnxruntime::ReshapeHelper::ReshapeHelper(const onnxruntime::TensorShape&, bool) `. */
const place = /\S+\.(?:cc|cpp|cu|cuh|h|hpp):\d+ (?:\S*\w+::[^()]*\([^)]*\)(?: const)? |[A-Za-z_]\w* )?/;
/** `input_shape_size == requested_shape_size was false. `, which the sentence behind it says in words. */
const assertion = /(^|: )[^:"]*? was false\. (?=\S)/;

/** ` index: 1 Got: 3 Expected: 8`: a line an axis, where all others of a message say no more. */
const axis = /^ index: (\d+) Got: (-?\d+) Expected: (-?\d+)$/;
const axesBelow = / for the following indices$/;

export function runtimeReason(error: unknown): string {
  const whole = error instanceof Error ? error.message : String(error);
  const [line = "", ...below] = whole.slice(0, mostRead).split("\n");
  const axes = below.flatMap((each) => {
    const [, index, got, expected] = axis.exec(each) ?? [];
    return index === undefined ? [] : [`axis ${index} is ${got}, expected ${expected}`];
  });
  const first = axes.length === 0 ? line : line.replace(axesBelow, () => `: ${axes.join("; ")}`);
  const reason = first
    .replace(loading, "")
    .replace(
      running,
      (_, operator: string, name: string) => `${operator} "${shortened(name, mostShown / 3)}": `,
    )
    .replace(place, "")
    .replace(assertion, "$1")
    // Sentences go on behind it.
    .replace(/(?<!\.)\.\s?$/, "");
  return shortened(reason, mostShown);
}
