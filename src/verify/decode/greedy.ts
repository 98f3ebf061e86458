/** @file Greedy decoding: each token is the likeliest behind all before it. */
import { numbersOf, type Tensor, type Tensors } from "../tensor.ts";
import type { Feeds } from "./feeds.ts";
import type { DecoderPorts } from "./ports.ts";

export interface Decoded {
  readonly tokens: readonly number[];
  /** Of every token: what it was chosen from. */
  readonly scores: readonly Float32Array[];
}

/** `forced`: what is fed back instead of the own choice, so that two decoders can be compared step by step. */
export async function decodeGreedily(
  ports: DecoderPorts,
  feeds: Feeds,
  prompt: readonly number[],
  count: number,
  run: (inputs: Tensors) => Promise<Tensors>,
  forced?: readonly number[],
): Promise<Decoded> {
  let outputs = await run(feeds.prompt(prompt));
  const scores = [lastScores(outputs.get(ports.logits))];
  const tokens = [likeliest(scores[0] ?? new Float32Array())];
  while (tokens.length < count) {
    const seen = prompt.length + tokens.length - 1;
    const at = tokens.length - 1;
    const token = forced?.[at] ?? tokens[at] ?? 0;
    outputs = await run(new Map([...feeds.next(token, seen), ...feeds.caches(outputs, seen)]));
    const own = lastScores(outputs.get(ports.logits));
    scores.push(own);
    tokens.push(likeliest(own));
  }
  return { tokens, scores };
}

/** Of the last position of [batch, positions, vocabulary]. */
export function lastScores(logits: Tensor | undefined): Float32Array {
  if (logits === undefined) throw new Error("tc-lint bug: a step without scores");
  const width = logits.dims.at(-1) ?? 0;
  return Float32Array.from(numbersOf(logits)).slice(-width);
}

/** The first of equals. */
export function likeliest(scores: Float32Array): number {
  let best = 0;
  for (let at = 1; at < scores.length; at++) if ((scores[at] ?? 0) > (scores[best] ?? 0)) best = at;
  return best;
}
