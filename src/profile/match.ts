/** @file Layers of a profile as nodes of the model. */
import { storedTensor } from "../facts/stored.ts";
import { type Node, operatorOf, type Value } from "../ir/model.ts";
import type { Step } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";
import { NodeNames, type Place } from "./nodes.ts";
import type { Mention, Profile, ProfileLayer } from "./profile.ts";

export interface MatchedLayer {
  readonly layer: ProfileLayer;
  /** Empty where no node of the model is known to be in it. */
  readonly places: ReadonlySet<Place>;
}

export interface Match {
  readonly layers: readonly MatchedLayer[];
  /** Of every instance of every graph. */
  readonly places: readonly Place[];
  /** Those that some layer computes. */
  readonly timed: ReadonlySet<Place>;
}

export function matchLayers(profile: Profile, workload: Workload): Match {
  const names = new NodeNames(workload);
  const claims = new Claims(names, profile.layers);
  claims.named();
  claims.wide();
  if (profile.tool === "onnxruntime") claims.absorb();
  if (profile.tool === "tc-lint") claims.absorbLaunches();
  return { layers: claims.layers, places: names.places, timed: claims.timed };
}

function isProduct({ node, step }: Place): boolean {
  return step?.product?.node === node;
}

function hasStoredWeight(place: Place): boolean {
  const [, weight] = place.node.inputs;
  return isProduct(place) && weight !== undefined && storedTensor(weight) !== undefined;
}

class Claims {
  readonly layers: readonly { readonly layer: ProfileLayer; readonly places: Set<Place> }[];
  readonly timed = new Set<Place>();
  readonly #names: NodeNames;
  readonly #placeOf = new Map<Node, Place>();
  readonly #layerOf = new Map<Place, Set<Place>>();

  constructor(names: NodeNames, layers: readonly ProfileLayer[]) {
    this.#names = names;
    this.layers = layers.map((layer) => ({ layer, places: new Set<Place>() }));
    for (const place of names.places) this.#placeOf.set(place.node, place);
  }

  /** What layers call by its own name. */
  named(): void {
    for (const { layer, places } of this.layers)
      for (const mention of layer.mentions) {
        const found = this.#own(mention);
        for (const place of found) this.#claim(place, places);
        // The innermost module that the model knows.
        if (mention.kind === "module" && found.length > 0) break;
      }
  }

  /** Then parts of the graph, for what is in them and nobody else's. */
  wide(): void {
    for (const { layer, places } of this.layers)
      for (const mention of layer.mentions) {
        if (mention.kind === "module" && places.size > 0) break;
        for (const place of this.#inside(mention)) if (!this.timed.has(place)) this.#claim(place, places);
      }
  }

  /**
   * ONNX Runtime names a fused node after one of its nodes. Where that is another operator than the one that runs, what leads to it runs
   * with it; what is left behind a node that runs, and is no product, does too.
   */
  absorb(): void {
    for (const { layer, places } of this.layers) {
      const op = (layer.op ?? "").replace(/^Fused/, "");
      const [named] = places;
      if (named !== undefined && op !== "" && named.node.opType !== op) this.#absorbBefore(named, op, places);
    }
    for (const place of this.#names.places) this.#join(place, this.#producers(place.node));
  }

  /**
   * A launch of the bundled runtime names one of the nodes that it computes, and the runtime leaves nothing out. So with it run: the rest of
   * the stack's own kernel; of a pattern, which is another operator than its last node, what leads to it; other products of the same
   * operand, which are computed side by side; what is no product behind a node that runs, else what leads to one.
   */
  absorbLaunches(): void {
    this.#absorbKernels();
    // What leads to a pattern is a projection often, whose launch is that of the ones beside it.
    this.#absorbSiblings(hasStoredWeight);
    for (const { layer, places } of this.layers) {
      const [named] = places;
      if (named !== undefined && operatorOf(named.node) !== layer.op) this.#absorbPattern(named, places);
    }
    this.#absorbSiblings(isProduct);
    for (const place of this.#names.places) this.#join(place, this.#producers(place.node));
    const missing = this.#behindMissing();
    for (const place of this.#names.places.toReversed())
      if (!missing.has(place)) this.#join(place, this.#consumers(place.node));
    // Of kernels that a node has just joined, the other nodes.
    this.#absorbKernels();
  }

  /** Products that no launch is for, which are another model's, and what only they lead to. */
  #behindMissing(): Set<Place> {
    const missing = new Set<Place>();
    for (const place of this.#names.places) {
      if (this.timed.has(place)) continue;
      if (isProduct(place) || this.#producers(place.node).some((each) => missing.has(each)))
        missing.add(place);
    }
    return missing;
  }

  #absorbKernels(): void {
    const layerOf = new Map<Step, Set<Place>>();
    for (const [place, places] of this.#layerOf)
      if (place.step !== undefined && !layerOf.has(place.step)) layerOf.set(place.step, places);
    for (const place of this.#names.places) {
      const places = place.step && layerOf.get(place.step);
      if (places !== undefined && !this.timed.has(place)) this.#claim(place, places);
    }
  }

  #absorbPattern(named: Place, places: Set<Place>): void {
    const open = [named];
    for (let place = open.pop(); place !== undefined; place = open.pop())
      for (const before of this.#producers(place.node)) {
        if (this.timed.has(before)) continue;
        this.#claim(before, places);
        open.push(before);
      }
  }

  #absorbSiblings(isOne: (place: Place) => boolean): void {
    const readers = new Map<Value, Set<Place>>();
    for (const [place, places] of this.#layerOf) {
      const [operand] = place.node.inputs;
      if (operand !== undefined && isProduct(place) && !readers.has(operand)) readers.set(operand, places);
    }
    for (const place of this.#names.places) {
      const [operand] = place.node.inputs;
      const places = operand && readers.get(operand);
      if (places !== undefined && isOne(place) && !this.timed.has(place)) this.#claim(place, places);
    }
  }

  /** Into the layer of the first of its neighbours that has one. */
  #join(place: Place, neighbours: readonly Place[]): void {
    if (this.timed.has(place) || isProduct(place)) return;
    const neighbour = neighbours.find((each) => this.timed.has(each));
    const places = neighbour && this.#layerOf.get(neighbour);
    if (places !== undefined) this.#claim(place, places);
  }

  #absorbBefore(named: Place, op: string, places: Set<Place>): void {
    const open = [named];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      if (place !== named && place.node.opType === op) continue;
      for (const before of this.#producers(place.node)) {
        const isOther = before.step?.product?.node === before.node && before.node.opType !== op;
        if (this.timed.has(before) || isOther) continue;
        this.#claim(before, places);
        open.push(before);
      }
    }
  }

  #producers({ inputs }: Node): Place[] {
    return inputs.flatMap((value) => {
      const place = value?.producer && this.#placeOf.get(value.producer);
      return place === undefined ? [] : [place];
    });
  }

  #consumers({ outputs }: Node): Place[] {
    return outputs.flatMap((value) =>
      (value?.consumers ?? []).flatMap((node) => this.#placeOf.get(node) ?? []),
    );
  }

  #own(mention: Mention): readonly Place[] {
    if (mention.kind === "module") return this.#names.ofModule(mention.path);
    if (mention.kind === "label") return this.#names.labelled(mention.label);
    if (mention.kind === "range") return [];
    for (const name of mention.names) {
      const found = this.#names.named(name);
      if (found.length > 0) return found;
    }
    return [];
  }

  #inside(mention: Mention): readonly Place[] {
    if (mention.kind === "range") return this.#names.between(mention.from, mention.to);
    return mention.kind === "module" ? this.#names.insideModule(mention.path) : [];
  }

  #claim(place: Place, places: Set<Place>): void {
    places.add(place);
    this.timed.add(place);
    if (!this.#layerOf.has(place)) this.#layerOf.set(place, places);
  }
}
