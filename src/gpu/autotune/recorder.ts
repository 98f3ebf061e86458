/** @file What a plan asks its chooser: every question once, with all that is needed to try its answers. */
import { cheapest } from "../../../cuda-runtime/cost/candidate.ts";
import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import type { Answer, Asking, Chooser, Question } from "../../../cuda-runtime/ir/question.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";

/** A candidate without its family's words. */
export interface Way {
  readonly name: string;
  readonly variant: string;
  /** Predicted. */
  readonly microseconds: number;
  emit(emitter: Emitter): void;
}

export interface Asked {
  readonly key: string;
  /** By time predicted: the first is what is taken without measuring. */
  readonly ways: readonly Way[];
  /** Nodes that ask it. */
  readonly places: string[];
  readonly operator: string;
  isConstant(view: View): boolean;
}

/** Answers by prediction, and takes notes. */
export class QuestionRecorder implements Chooser {
  readonly #asked = new Map<string, Asked>();

  /** Those that would save most if they were answered better first. */
  get asked(): readonly Asked[] {
    const weight = ({ ways: [best], places }: Asked) => (best?.microseconds ?? 0) * places.length;
    return [...this.#asked.values()].sort((a, b) => weight(b) - weight(a));
  }

  answer<Launch>(
    question: Question<Launch>,
    { label, operator, isConstant }: Asking,
  ): Answer<Launch> | undefined {
    const candidates = [...question.candidates()];
    const best = cheapest(candidates);
    if (best === undefined) return undefined;
    const key = question.key();
    const known = this.#asked.get(key);
    if (known !== undefined) known.places.push(label);
    else {
      const ways = candidates
        .map(
          ({ launch, microseconds }): Way => ({
            name: question.nameOf(launch),
            variant: question.variantOf(launch),
            microseconds,
            emit: (emitter) => question.emit(emitter, launch),
          }),
        )
        .toSorted((a, b) => a.microseconds - b.microseconds);
      this.#asked.set(key, { key, ways, places: [label], operator, isConstant });
    }
    return { ...best, by: "predicted" };
  }
}

/** Answers as was measured; by prediction where nobody did. */
export class MeasuredChoices implements Chooser {
  /** Names of candidates by question. */
  readonly #names: ReadonlyMap<string, string>;

  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
  }

  answer<Launch>(question: Question<Launch>): Answer<Launch> | undefined {
    const candidates = [...question.candidates()];
    const name = this.#names.get(question.key());
    const measured =
      name === undefined
        ? undefined
        : cheapest(candidates.filter(({ launch }) => question.nameOf(launch) === name));
    if (measured !== undefined) return { ...measured, by: "measured" };
    const best = cheapest(candidates);
    return best && { ...best, by: "predicted" };
  }
}
