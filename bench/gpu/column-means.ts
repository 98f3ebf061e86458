/**
 * @file Means over images of innermost channels, as squeeze and excitation and classifiers have them: every number of lanes and blocks of a
 * team, in one run.
 *
 *     node dist/gpu/column-means.js
 *
 * Writes $OUT/column-means.json: rows {batch, columns, rows, lanes, team, us, warm, predicted, taken}.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { shapeOf } from "../../cuda-runtime/kernels/reduce/reduce.ts";
import { slabLaunch, slabsOf, slabWays } from "../../cuda-runtime/kernels/reduce/slabs.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import { requestOf, shapes } from "./mean-work.ts";

function rounded(value: number): number {
  return Math.round(100 * value) / 100;
}

using host = await HarnessHost.open({ kernels: new URL("../cuda/", import.meta.url), device: 0 });
const rows: object[] = [];
for (const shape of shapes) {
  const [batch, columns, positions] = shape;
  const drafted = requestOf(new DraftOperands(host.target), shape);
  const taken = slabsOf(drafted, shapeOf(drafted), host.target);
  if (taken === undefined) throw new Error(`${shape.join("x")} is not reduced in one launch`);
  const texts: string[] = [];
  for (const slabs of slabWays(drafted, shapeOf(drafted), host.target)) {
    const { lanes, team } = slabs;
    const count = setCount(2 * batch * columns * positions, host.context.device.l2Bytes);
    const calls = Array.from({ length: count }, () => {
      const set = new CallSet(host, false);
      set.emitter.launch(slabLaunch(requestOf(set, shape), slabs));
      set.prepare();
      return set;
    });
    const us = rounded(timeCalls(host, calls));
    const warm = rounded(timeCalls(host, calls.slice(0, 1)));
    for (const set of calls) set[Symbol.dispose]();
    const isTaken = lanes === taken.lanes && team === taken.team;
    const predicted = rounded(slabs.microseconds);
    rows.push({ batch, columns, rows: positions, lanes, team, us, warm, predicted, taken: isTaken });
    texts.push(`${isTaken ? "*" : ""}${lanes}/${team} ${us} ${warm} (${predicted})`);
  }
  console.log(`${shape.join("x")}: ${texts.join(", ")}`);
  writeFileSync(path.join(process.env["OUT"] ?? ".", "column-means.json"), JSON.stringify(rows));
}
