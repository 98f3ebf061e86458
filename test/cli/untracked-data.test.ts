/** @file --fail-on-untracked-data: a model that Git has, whose external data it has not, does not pass a hook. */
import { spawnSync } from "node:child_process";
import { renameSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { writeExternal } from "../fix/models.ts";
import { commitAll, git } from "./repository.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const at = (...names: string[]) => path.join(bench.folder.path, ...names);
const hook = ["--fail-on-untracked-data", "--fail-on", "fixable", "--min-saving", "0"];

async function codeOf(...args: string[]) {
  const { exitCode, stderr } = await bench.tcLint([...args, ...hook]);
  return [exitCode, stderr];
}

function gitBytes(folder: string, object: string): Buffer {
  return spawnSync("git", ["cat-file", "blob", object], { cwd: folder }).stdout;
}

function start() {
  git(at(), "init", "-q");
  writeExternal(at());
}

describe("data of a model that Git tracks", () => {
  test("new data of a fix fails until it is added", async () => {
    start();
    git(at(), "add", "-A");
    const [code, said] = await codeOf("model.onnx", "--fix");
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/^tc-lint: model\.onnx: its data is not in Git: git add (model\.\w+\.data)\n$/),
    ]);
    git(at(), "add", "-u");
    const [again, why] = await codeOf("model.onnx");
    expect([again, why]).toEqual([1, said]);
    expect((await codeOf("model.onnx", "--fix-only"))[0]).toBe(1);
    expect((await codeOf("model.onnx", "--exit-zero"))[0]).toBe(0);
    git(at(), "add", "-A");
    expect(await codeOf("model.onnx")).toEqual([0, ""]);
  });

  test("data that Git ignores is kept elsewhere on purpose, and a model that Git has not either is nobody's commit", async () => {
    start();
    expect((await codeOf("model.onnx", "--exit-zero"))[1]).toBe("");
    writeFileSync(at(".gitignore"), "*.weights\n");
    git(at(), "add", "-A");
    expect((await codeOf("model.onnx", "--exit-zero"))[1]).toBe("");
  });

  test("names that a shell would part are quoted, and folders count from where the run stands", async () => {
    start();
    const text = "my models";
    bench.folder.write(`${text}/.keep`, new Uint8Array(0));
    for (const name of ["model.onnx", "model.weights"]) renameSync(at(name), at(text, name));
    git(at(), "add", `${text}/model.onnx`);
    const [code, said] = await codeOf(text);
    expect([code, said]).toEqual([1, expect.stringContaining(`git add "my models/model.weights"`)]);
  });

  test("data that a fix leaves is named until it is gone, where no model refers to it", async () => {
    start();
    commitAll(at());
    const told =
      /^tc-lint: model\.onnx: nothing in it, nor in a model beside it, refers to data that Git has: git rm model\.weights\n/;
    expect((await codeOf("model.onnx"))[1]).not.toMatch(told);
    expect((await codeOf("model.onnx", "--fix"))[1]).toMatch(told);
    git(at(), "add", "-A");
    const [code, said] = await codeOf("model.onnx");
    expect([code, said]).toEqual([0, expect.stringMatching(told)]);
    // Another model has its weights there, or nobody knows.
    bench.folder.write("broken.onnx", new Uint8Array([1]));
    expect((await codeOf("model.onnx"))[1]).toBe("");
    writeFileSync(at("broken.onnx"), gitBytes(at(), "HEAD:model.onnx"));
    expect((await codeOf("model.onnx"))[1]).toBe("");
    unlinkSync(at("broken.onnx"));
    git(at(), "rm", "-q", "model.weights");
    expect((await codeOf("model.onnx"))[1]).toBe("");
  });

  test("outside of a repository there is nothing to say", async () => {
    writeExternal(at());
    expect((await codeOf("model.onnx", "--exit-zero"))[1]).toBe("");
  });
});
