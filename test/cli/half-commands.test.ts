/** @file Which entries name a command beside `--precision bf16`: those whose nodes it repairs, by the diff of what it writes. */
import { expect, test } from "vitest";
import type { FixEntry } from "../../src/api/fix-report.ts";
import { groupBy } from "../../src/ir/group.ts";
import { labelOf } from "../../src/ir/model.ts";
import type { Finding, FindingGroup, ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { zooModel, zooNames } from "../zoo.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

const inHalf = "--fix --precision bf16";
/** Of rules that safe fixes repair: half changes the types at every node, and has a rule of its own. */
const repairing = new Set(["TC101", "TC102", "TC103", "TC105", "TC410"]);

interface Entry {
  readonly path: string;
  readonly code: string;
  readonly command: string | null;
  readonly findings: readonly Finding[];
  /** Else it may save nothing: no command is named for that, and half that is asked for by name may make it all the same. */
  readonly isClaimed: boolean;
}

function entriesOf({ path, groups, findings, unlisted }: ModelReport): Entry[] {
  const known = [...findings, ...(unlisted?.findings ?? [])];
  const entryOf = ({ code, fixCommand, findings: own }: FindingGroup, isClaimed: boolean): Entry[] => {
    const named = known.filter(({ fingerprint }) => own.includes(fingerprint));
    return repairing.has(code) ? [{ path, code, command: fixCommand, findings: named, isClaimed }] : [];
  };
  return [
    ...groups.flatMap((group) => entryOf(group, true)),
    ...(unlisted?.groups ?? []).flatMap((group) => entryOf(group, false)),
  ];
}

/** Nodes of the main graph that are gone, or read a tensor of other sizes, be it transposed. */
function repairedBy({ path, diff }: FixEntry): ReadonlySet<string> {
  const sizesOf = (type: string | null) => /\[.*\]/.exec(type ?? "")?.[0];
  const resized = new Set(
    diff?.tensors.flatMap(({ name, before, after }) => (sizesOf(before) === sizesOf(after) ? [] : [name])),
  );
  const repaired = new Set(diff?.nodes.filter(({ kind }) => kind === "removed").map(({ name }) => name));
  using model = openModel(path);
  for (const node of model.graph.nodes) {
    if (!node.inputs.some((input) => input !== undefined && resized.has(input.name))) continue;
    repaired.add(labelOf(node));
    if (node.opType === "Transpose") for (const output of node.outputs) resized.add(output?.name ?? "");
  }
  return repaired;
}

async function repairs(command: string, paths: Iterable<string>) {
  const [, ...flags] = command.split(" ");
  const { stdout } = await bench.tcLint(["--diff", ...flags, ...paths, "-f", "json"]);
  const { fixes } = JSON.parse(stdout) as { readonly fixes: readonly FixEntry[] };
  return new Map(fixes.map((entry) => [entry.path, repairedBy(entry)]));
}

test("entries name the command that repairs them, and no others do", { timeout: 240_000 }, async () => {
  const paths = zooNames.map(zooModel);
  const { models } = await bench.jsonOf([...paths, "--precision", "bf16", "--verbose"]);
  const entries = models.flatMap(entriesOf);
  expect(new Set(entries.map(({ command }) => command))).toEqual(new Set(["--fix", inHalf, null]));
  const wrong: unknown[] = [];
  for (const [command, named] of groupBy(entries, ({ command }) => command ?? inHalf)) {
    const repaired = await repairs(command, new Set(named.map(({ path }) => path)));
    for (const { path, code, command, findings, isClaimed } of named) {
      const changed = findings.filter(({ node }) => repaired.get(path)?.has(node) === true);
      const isRight = command === null ? !isClaimed || changed.length === 0 : changed.length > 0;
      if (!isRight) wrong.push([path, code, command, findings.map(({ node }) => node)]);
    }
  }
  expect(wrong).toEqual([]);
});
