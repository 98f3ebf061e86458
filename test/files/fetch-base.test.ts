/** What a shallow clone lacks of the commit that it is compared with. */
import { chmodSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BaseRevision } from "../../src/files/base-revision.ts";
import { changedFiles, fetchedCommit, fetchLfsObjects, pullRequestBase } from "../../src/files/fetch-base.ts";
import { type Folder, temporaryFolder } from "../cli/models.ts";
import { commitAll, git, lfsPointerOf } from "../cli/repository.ts";

let folder: Folder;
let origin = "";
beforeEach(() => {
  folder = temporaryFolder();
  origin = path.join(folder.path, "origin");
  folder.write("origin/a.onnx", "one");
  git(origin, "init", "-q");
  git(origin, "config", "uploadpack.allowAnySHA1InWant", "true");
  commitAll(origin);
});
afterEach(() => folder[Symbol.dispose]());

const head = (ref = "HEAD") => git(origin, "rev-parse", ref);

function shallow(ref: string): string {
  const clone = path.join(folder.path, "clone");
  git(folder.path, "init", "-q", clone);
  git(clone, "remote", "add", "origin", `file://${origin}`);
  git(clone, "fetch", "-q", "--depth=1", "origin", ref);
  git(clone, "checkout", "-q", "--detach", "FETCH_HEAD");
  return clone;
}

test("a commit, or a branch, is fetched where it is not here; what is here is not asked for", () => {
  const first = head();
  folder.write("origin/a.onnx", "two");
  commitAll(origin);
  git(origin, "branch", "release", first);
  const clone = shallow("main");
  expect(fetchedCommit(clone, first)).toBe(first);
  expect(fetchedCommit(clone, "release")).toBe(first);
  git(clone, "remote", "remove", "origin");
  expect(fetchedCommit(clone, first)).toBe(first);
});

test("what is nowhere is named; what looks like a flag is never one", () => {
  const clone = shallow("main");
  expect(() => fetchedCommit(clone, "f".repeat(40))).toThrow(
    /base f{40}: is not here, and cannot be fetched \(.+\)/,
  );
  expect(() => fetchedCommit(clone, "--upload-pack=touch x")).toThrow(/is no name of a commit/);
});

describe("a pull request's base", () => {
  const branched = () => {
    const old = head();
    git(origin, "checkout", "-q", "-b", "change");
    folder.write("origin/b.onnx", "new");
    commitAll(origin);
    git(origin, "checkout", "-q", "main");
    folder.write("origin/c.onnx", "other");
    commitAll(origin);
    return { base: old, head: head("change") };
  };

  test("of GitHub's merge is what it was merged onto, also where history is cut off", () => {
    const event = branched();
    git(origin, "checkout", "-q", "--detach", "main");
    git(origin, "merge", "-q", "--no-ff", "-m", "merge", "change");
    git(origin, "branch", "merged");
    const clone = shallow("merged");
    const { commit: base, isExact } = pullRequestBase(clone, event);
    expect([base, isExact]).toEqual([head("main"), true]);
    expect([...changedFiles(clone, base)]).toEqual(["b.onnx"]);
  });

  test("of the branch itself is where it left the other", () => {
    const event = branched();
    const clone = shallow("change");
    git(clone, "fetch", "-q", "--unshallow", "origin", "change", "main");
    const base = { commit: event.base, isExact: true };
    expect(pullRequestBase(clone, { ...event, base: head("main") })).toEqual(base);
  });

  test("of a whole clone of the branch alone is where it left the other: what is fetched cuts no history off", () => {
    const event = branched();
    const clone = path.join(folder.path, "whole");
    git(folder.path, "clone", "-q", "--single-branch", "--branch=change", `file://${origin}`, clone);
    const base = { commit: event.base, isExact: true };
    expect(pullRequestBase(clone, { ...event, base: head("main") })).toEqual(base);
  });

  test("of a branch whose history is cut off is not known exactly", () => {
    const event = branched();
    const base = { commit: head("main"), isExact: false };
    expect(pullRequestBase(shallow("change"), { ...event, base: head("main") })).toEqual(base);
  });
});

test("a checkout of the base itself is no change, and is not taken for one that is clean", () => {
  const base = head();
  const clone = shallow("main");
  expect(() => pullRequestBase(clone, { base, head: "f".repeat(40) })).toThrow(
    /the pull request's base, not its change/,
  );
});

test("Git LFS is asked for what the commit has of changed models, and is not here; its lack is not hidden", () => {
  const content = Buffer.from("weights of base");
  folder.write("origin/a, b.onnx", lfsPointerOf(origin, content, false));
  commitAll(origin);
  const base = head();
  folder.write("origin/a, b.onnx", "head");
  commitAll(origin);
  const clone = shallow("main");
  const revision = new BaseRevision(fetchedCommit(clone, base), clone);
  const { PATH } = process.env;
  // In place of git-lfs: notes how it is called, and leaves the object where git-lfs would.
  const lfs = folder.write("bin/git-lfs", `#!/bin/sh\nprintf '%s\\n' "$@" > "${folder.path}/called"\n`);
  chmodSync(lfs, 0o755);
  process.env["PATH"] = `${path.dirname(lfs)}:${PATH}`;
  try {
    fetchLfsObjects(revision);
  } finally {
    process.env["PATH"] = PATH;
  }
  expect(git(folder.path, "hash-object", "called")).toBeTruthy();
  const called = ["fetch", "origin", base, "--include=a? b.onnx", "--exclude="].join("\n");
  writeFileSync(path.join(folder.path, "expected"), `${called}\n`);
  expect(git(folder.path, "hash-object", "called")).toBe(git(folder.path, "hash-object", "expected"));
});
