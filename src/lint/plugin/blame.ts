/** @file What goes wrong inside a rule of a plugin: said with the plugin, the rule, the model and the node, never passed over. */
import { InputError } from "../../ir/errors.ts";
import { describeNode, type Node } from "../../ir/model.ts";
import { during } from "../../ir/running.ts";
import { quoted, WrongAnswer } from "../pattern/answers.ts";

/** Whose code runs. */
export interface PluginOrigin {
  readonly plugin: string;
  /** As messages name it: its file, or "given". */
  readonly from: string;
  /** Errors that are not the plugin's, though they come through it. */
  readonly isOurs: (error: unknown) => boolean;
}

/** Runs a part of a rule. Throws InputError `plugin-failed` for what it throws. */
export class Blame {
  readonly #origin: PluginOrigin;
  /** `plugin "acme" (lint/acme.mjs): rule acme/no-softmax`. */
  readonly #what: string;

  constructor(origin: PluginOrigin, code: string) {
    this.#origin = origin;
    this.#what = `plugin "${origin.plugin}" (${origin.from}): rule ${code}`;
  }

  run<T>(model: string, node: Node | undefined, work: () => T): T {
    try {
      return during(this.#what, work);
    } catch (error) {
      throw error instanceof InputError || this.#origin.isOurs(error)
        ? error
        : this.error(model, node, messageOf(error, this.#origin.from), error);
    }
  }

  error(model: string, node: Node | undefined, what: string, cause?: unknown): InputError {
    const where = node === undefined ? "" : ` at ${describeNode(node)}`;
    return new InputError("plugin-failed", `${model}: ${this.#what} failed${where}: ${what}`, { cause });
  }
}

/** With the line of the plugin's own that led there: what its author looks for. */
function messageOf(error: unknown, from: string): string {
  if (error instanceof WrongAnswer) return error.message;
  if (!(error instanceof Error)) return `it threw ${quoted(error)}`;
  const places = [...(error.stack ?? "").matchAll(/^\s+at (?:.*\()?(?:file:\/\/)?([^\s()]+:\d+:\d+)\)?$/gm)];
  const [, place] = places.find(([, each = ""]) => each.includes(from)) ?? places[0] ?? [];
  const [first = ""] = error.message.split("\n");
  return `${error.name}: ${first}${place === undefined ? "" : ` (${place})`}`;
}
