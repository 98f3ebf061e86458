/** @file What is damaged: every operator by itself, drawn networks, and small real exports where they are there. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { drawNetwork } from "../fix/drawn.ts";
import { smallModel } from "../onnx/bad-inputs/bytes.ts";
import { contractCases } from "../ops/contract-cases.ts";
import { contractModel } from "../ops/contracts.ts";

export interface Subject {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Larger exports take most of the time for the same operators. */
const maxBytes = 120_000;
const networks = 200;

/** By the number of a run; made once. */
export class Corpus {
  readonly #operators: readonly Subject[] = operatorModels();
  readonly #exports: readonly Subject[];
  readonly #networks = new Map<number, Subject>();

  /** `zoo` is a folder of exports, which may be absent. */
  constructor(zoo: string) {
    this.#exports = [{ name: "small", bytes: smallModel() }, ...exportsIn(zoo)];
  }

  get size(): number {
    return this.#operators.length + this.#exports.length + networks;
  }

  /** Six operators and three networks for each export. */
  pick(random: () => number): Subject {
    const kind = random();
    const at = (list: readonly Subject[]) => list[Math.floor(random() * list.length)];
    const found =
      kind < 0.6
        ? at(this.#operators)
        : kind < 0.9
          ? this.#network(Math.floor(random() * networks))
          : at(this.#exports);
    return found ?? this.#network(0);
  }

  #network(seed: number): Subject {
    const known = this.#networks.get(seed);
    if (known !== undefined) return known;
    const made = {
      name: `network ${seed}`,
      bytes: drawNetwork(seed, seed % 2 === 0 ? "safe" : "nhwc").bytes,
    };
    this.#networks.set(seed, made);
    return made;
  }
}

function operatorModels(): Subject[] {
  return [...contractCases].flatMap(([key, cases]) => {
    const [domain = "", type = ""] = key.includes("::") ? key.split("::") : ["", key];
    return cases.map((each, at) => ({ name: `${key} ${at}`, bytes: contractModel(domain, type, each) }));
  });
}

function exportsIn(folder: string): Subject[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".onnx") && statSync(path.join(folder, name)).size <= maxBytes)
    .map((name) => ({ name, bytes: readFileSync(path.join(folder, name)) }));
}
