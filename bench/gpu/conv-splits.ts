/**
 * @file Convolutions of few results, cut along k: as one launch, as splits that a second launch adds up, as clusters that add up.
 *
 *     node dist/gpu/conv-splits.js [--only PART,…] [--apart N] [--clusters N]
 *
 * Writes $OUT/conv-splits.json: of each layer the ways that are predicted best of each kind, with what they take and what
 * they were predicted to. Kernels of halves, channels last, with bias. `alone`: with so much shared memory that a multiprocessor has no
 * second block.
 */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { emitCheapest } from "../../cuda-runtime/cost/candidate.ts";
import type { Emitter } from "../../cuda-runtime/ir/emitter.ts";
import { OperandError } from "../../cuda-runtime/ir/operand-error.ts";
import type { Launch } from "../../cuda-runtime/ir/step.ts";
import type { ConvChoice } from "../../cuda-runtime/kernels/conv/choose.ts";
import { isWgmma, sumsInTeam } from "../../cuda-runtime/kernels/conv/table.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import { type DeepLayer, deepLayers, layerOf } from "./deep-layers.ts";
import { emitLayer, type Operands } from "./operations.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    apart: { type: "string", default: "4" },
    clusters: { type: "string", default: "12" },
    device: { type: "string", default: "0" },
  },
});

const storage = "float16";
const noSecondBlock = 120 * 1024;

interface Way {
  readonly choice: ConvChoice;
  readonly predicted: number;
}

interface Timed {
  readonly layer: string;
  readonly entry: string;
  readonly splits: number;
  readonly kind: "whole" | "apart" | "cluster" | "alone";
  readonly predicted: number;
  readonly us: number;
}

/** Best first. */
function waysOf(host: HarnessHost, listed: DeepLayer): Way[] {
  const found: Way[] = [];
  emitLayer(new DraftOperands(host.target), layerOf(listed), listed.batch, storage, (choice) => {
    if (choice.copies || !isWgmma(choice.tile)) return true;
    found.push({ choice, predicted: choice.productMicroseconds + choice.sumMicroseconds });
    return true;
  });
  return found.toSorted((a, b) => a.predicted - b.predicted);
}

/** As an emitter of its own: what is launched asks for so much shared memory. */
function alone(emitter: Emitter): Emitter {
  const own: Emitter = {
    target: emitter.target,
    tf32: emitter.tf32,
    launch: (launch: Launch) =>
      emitter.launch({
        ...launch,
        sharedBytes:
          launch.cluster === undefined ? launch.sharedBytes : Math.max(launch.sharedBytes, noSecondBlock),
      }),
    choose: (question) => emitCheapest(own, question),
    clear: (view) => emitter.clear(view),
    temporary: (type, shape, order) => emitter.temporary(type, shape, order),
    constant: (type, shape, values) => emitter.constant(type, shape, values),
    copy: (from, to) => emitter.copy(from, to),
    packed: (view, how) => emitter.packed(view, how),
    evaluate: (expr, shape, type, order) => emitter.evaluate(expr, shape, type, order),
    evaluateInto: (expr, to) => emitter.evaluateInto(expr, to),
    isConstant: (view) => emitter.isConstant(view),
  };
  return own;
}

function microsecondsOf(host: HarnessHost, listed: DeepLayer, choice: ConvChoice, isAlone: boolean): number {
  const { tile, splits, merge } = choice;
  const accepts = (each: ConvChoice) =>
    each.tile === tile && each.splits === splits && each.merge === merge && !each.copies;
  const weightBytes = 2 * listed.filters * listed.channels * 9;
  const calls = Array.from({ length: setCount(weightBytes, host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    const to: Operands = {
      emitter: isAlone ? alone(set.emitter) : set.emitter,
      tensor: (kind, type, shape, seed) => set.tensor(kind, type, shape, seed),
      output: (type, shape) => set.output(type, shape),
    };
    emitLayer(to, layerOf(listed), listed.batch, storage, accepts);
    set.prepare();
    return set;
  });
  try {
    return timeCalls(host, calls);
  } finally {
    for (const set of calls) set[Symbol.dispose]();
  }
}

function kindOf({ tile, splits }: ConvChoice): "whole" | "apart" | "cluster" {
  if (sumsInTeam(tile)) return "cluster";
  return splits === 1 ? "whole" : "apart";
}

function* timedWays(host: HarnessHost, listed: DeepLayer): Generator<Timed> {
  const left = { whole: 1, apart: Number(options.apart), cluster: Number(options.clusters) };
  for (const { choice, predicted } of waysOf(host, listed)) {
    const kind = kindOf(choice);
    // Boxes of fewer channels are for what does not fill whole ones.
    if ((kind === "cluster" && choice.tile.walk?.panels !== 1) || left[kind]-- <= 0) continue;
    const { tile, splits } = choice;
    const row = { layer: listed.from, entry: tile.entry, splits, predicted };
    const mayMeet = kind === "cluster" && splits > 4 && tile.blocks > 1;
    for (const isAlone of mayMeet ? [false, true] : [false]) {
      try {
        const us = microsecondsOf(host, listed, choice, isAlone);
        yield { ...row, kind: isAlone ? "alone" : kind, us };
      } catch (error) {
        if (error instanceof OperandError) continue;
        console.error(`${listed.from}, ${tile.entry}, ${splits} splits: ${String(error)}`);
      }
    }
  }
}

const kernels = new URL("../cuda/", import.meta.url);
using host = await HarnessHost.open({ kernels, device: Number(options.device) });
const parts = options.only?.split(",");
const timed: Timed[] = [];
for (const listed of deepLayers.filter(
  ({ from }) => parts === undefined || parts.some((each) => from.includes(each)),
)) {
  for (const row of timedWays(host, listed)) {
    timed.push(row);
    const { layer, entry, splits, kind, predicted, us } = row;
    console.log(
      `${layer}: ${kind} ${entry} ${splits}: ${us.toFixed(2)} us (predicted ${predicted.toFixed(2)})`,
    );
  }
}
const { OUT } = process.env;
if (OUT !== undefined) writeFileSync(join(OUT, "conv-splits.json"), JSON.stringify(timed, null, 1));
