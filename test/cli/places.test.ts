/** @file Reports of a run anywhere in a repository point at the same places, and know the same findings. */
import { mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { Repository } from "../../src/files/repository.ts";
import type { LintReport } from "../../src/lint/result.ts";
import { zooModel } from "../zoo.ts";
import { bytesOf, headModel } from "./models.ts";
import { onlyHead, useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
beforeEach(() => {
  mkdirSync(path.join(bench.folder.path, ".git"));
  bench.folder.write("sub/models/head.onnx", bytesOf(headModel()));
  bench.folder.write("sub/models/traced.onnx", readFileSync(zooModel("misaligned_cnn_dynamo")));
});

const below = (...names: string[]) => path.join(bench.folder.path, ...names);

async function reportOf(cwd: string, ...args: string[]): Promise<LintReport> {
  const { stdout } = await bench.tcLint([...args, ...onlyHead, "-f", "json"], { cwd });
  return JSON.parse(stdout);
}

describe("a finding is known by the same fingerprint", () => {
  const fingerprints = ({ models }: LintReport) =>
    models.flatMap(({ findings }) => findings.map(({ fingerprint }) => fingerprint));

  test("from another working directory, in another folder, by an absolute path, under another name", async () => {
    bench.folder.write("elsewhere/renamed.onnx", bytesOf(headModel()));
    const [expected, ...more] = fingerprints(await reportOf(below(), "sub/models/head.onnx"));
    expect([expected?.length, more]).toEqual([32, []]);
    const runs: readonly (readonly [cwd: string, model: string])[] = [
      [below("sub"), "models/head.onnx"],
      [below("sub/models"), "head.onnx"],
      [below("elsewhere"), "../sub/models/head.onnx"],
      [below("elsewhere"), "renamed.onnx"],
      ["/", below("sub/models/head.onnx")],
    ];
    for (const [cwd, model] of runs) expect(fingerprints(await reportOf(cwd, model))).toEqual([expected]);
  });

  test("for every target, where the cause is one", async () => {
    const of = async (...args: string[]) =>
      fingerprints(await reportOf(below(), "sub/models/head.onnx", ...args));
    expect(await of("--gpu", "a100", "--precision", "bf16")).toEqual(await of());
    const layouts = async (stack: string) => {
      const args = [zooModel("resnet50"), "--select", "TC301", "--stack", stack, "-f", "json"];
      return fingerprints(JSON.parse((await bench.tcLint(args)).stdout));
    };
    const [expected, ...more] = await layouts("ort-cuda");
    expect([expected?.length, more]).toEqual([32, []]);
    expect(await layouts("cudnn")).toEqual([expected]);
  });
});

describe("annotations and SARIF", () => {
  /** What made `traced.onnx`, as the exporter left it in the file. */
  const sources = () => bench.folder.write("models/backbones.py", "");
  const flags = ["--select", "TC101,TC102"];

  async function placesOf(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
    const base = [...args, ...flags];
    const { stdout: commands } = await bench.tcLint([...base, "-f", "github"], { cwd, env });
    const { stdout: log } = await bench.tcLint([...base, "-f", "sarif"], { cwd, env });
    const [{ artifacts, results }] = JSON.parse(log).runs;
    return {
      annotations: [...commands.matchAll(/file=([^,]*),line=(\d+)/g)].map(
        ([, file, line]) => `${file}:${line}`,
      ),
      artifacts: artifacts.map((each: { location: { uri: string } }) => each.location.uri),
      results: results.map(
        (each: { locations: { physicalLocation: { artifactLocation: { uri: string } } }[] }) =>
          each.locations[0]?.physicalLocation.artifactLocation.uri,
      ),
      related: results.flatMap(
        (each: { relatedLocations?: { physicalLocation: { artifactLocation: { uri: string } } }[] }) =>
          each.relatedLocations?.map(({ physicalLocation }) => physicalLocation.artifactLocation.uri) ?? [],
      ),
    };
  }

  const expected = {
    annotations: ["sub/models/head.onnx:1", expect.stringMatching(/^models\/backbones\.py:\d+$/)],
    artifacts: ["sub/models/head.onnx", "sub/models/traced.onnx"],
    results: ["sub/models/head.onnx", "sub/models/traced.onnx"],
    related: ["models/backbones.py"],
  };

  test.each([
    [".", "sub/models"],
    ["sub", "models"],
    ["sub/models", "."],
  ])("from %s name places from the repository's root", async (cwd, models) => {
    sources();
    expect(await placesOf(below(cwd), [models])).toEqual(expected);
  });

  test("in a workflow its checkout is the root, whatever other repositories are in it", async () => {
    sources();
    mkdirSync(below("sub/.git"));
    const env = { GITHUB_WORKSPACE: below() };
    expect(await placesOf(below("sub"), ["models"], env)).toEqual(expected);
    symlinkSync(below(), below("link"));
    expect(await placesOf(below("sub"), ["models"], { GITHUB_WORKSPACE: below("link") })).toEqual(expected);
  });

  test("a checkout that is elsewhere is none of this run's", async () => {
    sources();
    mkdirSync(below("other"));
    const env = { GITHUB_WORKSPACE: below("other") };
    expect(await placesOf(below("sub"), ["models"], env)).toEqual(expected);
  });

  test("what lies outside keeps its path, and what is installed is nobody's line", async () => {
    mkdirSync(below("inner/.git"), { recursive: true });
    const outside = path.relative(below("inner"), below("sub/models/head.onnx"));
    const { annotations } = await placesOf(realpathSync(below("inner")), [outside]);
    expect(annotations).toEqual(["../sub/models/head.onnx:1"]);
    const repository = new Repository(below(), undefined);
    bench.folder.write("nets/head.py", "");
    expect(repository.sourceOf("/home/somebody/project/nets/head.py")).toBe("nets/head.py");
    expect(repository.sourceOf("/usr/lib/python3/site-packages/nets/head.py")).toBeUndefined();
  });
});
