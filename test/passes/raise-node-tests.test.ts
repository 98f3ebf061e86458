/**
 * ONNX's operator tests, relabelled as the oldest opset from 13 on in which their operators are said to mean the same: ONNX Runtime
 * computes what it computes in theirs. What a test needs that its oldest opset has not (a type, an attribute) is tried in the next.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import onnxProto from "onnx-proto";
import { InferenceSession, type Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodesOf } from "../../src/ir/nodes.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { keepsMeaning } from "../../src/passes/opset/meaning.ts";
import { nodeTestArchive } from "../onnx/node-tests.ts";
import { readFeeds } from "../onnx/test-feeds.ts";
import { difference } from "./folding.ts";

let folder = "";

describe.skipIf(nodeTestArchive === undefined)("ONNX's operator tests in older opsets", () => {
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "raise-nodes-"));
    execFileSync("tar", ["-xJf", nodeTestArchive ?? "", "-C", folder]);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }), 120_000);

  it("mean what they mean in their own", { timeout: 600_000 }, async () => {
    const failures: string[] = [];
    const operators = new Set<string>();
    let compared = 0;
    for (const test of readdirSync(folder).sort()) {
      const bytes = readFileSync(path.join(folder, test, "model.onnx"));
      const feeds = readFeeds(path.join(folder, test), bytes);
      const model = modelFromBytes(bytes);
      const own = model.opsets.get("") ?? 1;
      const nodes = [...nodesOf(model)];
      const isSaid = (opset: number) =>
        nodes.every((node) => node.domain === "" && keepsMeaning(node, opset));
      const older = opsets.filter((opset) => opset < own && isSaid(opset));
      if (feeds === undefined || older.length === 0) continue;
      const expected = await outputsOf(bytes, feeds);
      if (expected === undefined) continue;
      for (const opset of older) {
        const actual = await outputsOf(relabelled(bytes, opset), feeds);
        if (actual === undefined) continue;
        compared += 1;
        for (const { opType } of nodes) operators.add(opType);
        const share = difference(expected, actual);
        if (!(share <= 1e-6)) failures.push(`${test} in opset ${opset}: differs by ${share}`);
        break;
      }
    }
    console.log(
      `${compared} tests of ${operators.size} operators in an older opset: ${[...operators].sort().join(" ")}`,
    );
    expect(failures).toEqual([]);
    expect(operators.size).toBeGreaterThan(90);
  });
});

const opsets = [13, 14, 15, 16, 17, 18, 19];

function relabelled(bytes: Uint8Array, opset: number): Uint8Array {
  const proto = onnxProto.onnx.ModelProto.decode(bytes);
  for (const each of proto.opsetImport) if ((each.domain ?? "") === "") each.version = opset;
  return onnxProto.onnx.ModelProto.encode(proto).finish();
}

async function outputsOf(
  bytes: Uint8Array,
  feeds: Readonly<Record<string, Tensor>>,
): Promise<ReadonlyMap<string, Tensor> | undefined> {
  try {
    const session = await InferenceSession.create(bytes, { logSeverityLevel: 4 });
    try {
      return new Map(Object.entries(await session.run(feeds)));
    } finally {
      await session.release();
    }
  } catch {
    return undefined;
  }
}
