import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { lockModel } from "../../src/onnx/lock.ts";
import { openModel } from "../../src/onnx/open.ts";
import { sourceState } from "../../src/onnx/source-state.ts";
import { stageModel } from "../../src/onnx/write.ts";
import { type WriteStep, writeSteps } from "../../src/onnx/write-step.ts";
import { type Bundle, bundle } from "../bundle.ts";
import { fixOnce, weightsOf, writeTestModel } from "./write-fix.ts";

let child: Bundle;
let folder: string;
let model: string;

beforeAll(async () => {
  child = await bundle("test/onnx/write-process.ts");
});
afterAll(() => child[Symbol.dispose]());
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-write-"));
  model = writeTestModel(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const original = { inner: 1, outer: 1 };
const fixed = { inner: 2, outer: 2 };
const cleanFiles = [expect.stringMatching(/^model\.[0-9a-f]{16}\.data$/), "model.onnx", "model.weights"];
const allSteps = Object.keys(writeSteps) as WriteStep[];

function run(step: string, turn: number, action: string) {
  return spawnSync(process.execPath, [child.path, model, step, String(turn), action], { encoding: "utf8" });
}

describe("writing a model", () => {
  it("writes the data beside it, named by its content, and keeps the original's data", async () => {
    const before = readFileSync(path.join(folder, "model.weights"));
    await fixOnce(model);
    expect(weightsOf(model)).toEqual(fixed);
    expect(readdirSync(folder)).toEqual(cleanFiles);
    expect(readFileSync(path.join(folder, "model.weights"))).toEqual(before);
  });

  it("goes through every step, in order", async () => {
    const seen: string[] = [];
    await fixOnce(model, { onStep: (step) => seen.push(step) });
    expect([...new Set(seen)].sort()).toEqual([...allSteps].sort());
    expect(seen.indexOf("name-data")).toBeLessThan(seen.indexOf("create-model"));
    expect(seen.at(-1)).toBe("unlock");
  });

  it("writes the same bytes again", async () => {
    const other = mkdtempSync(path.join(tmpdir(), "tc-lint-write-"));
    try {
      await fixOnce(model);
      await fixOnce(writeTestModel(other));
      for (const name of readdirSync(folder)) {
        expect(readFileSync(path.join(other, name))).toEqual(readFileSync(path.join(folder, name)));
      }
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  it("uses a data file of the same content that is there, and refuses one of another", async () => {
    await fixOnce(model);
    const [data = ""] = readdirSync(folder);
    writeTestModel(folder);
    const inode = statSync(path.join(folder, data)).ino;
    await fixOnce(model);
    expect(statSync(path.join(folder, data)).ino).toBe(inode);
    writeTestModel(folder);
    writeFileSync(path.join(folder, data), "something else");
    await expect(fixOnce(model)).rejects.toMatchObject({ code: "name-taken" });
    expect(weightsOf(model)).toEqual(original);
    expect(readFileSync(path.join(folder, data), "utf8")).toBe("something else");
  });

  it("keeps the mode", async () => {
    chmodSync(model, 0o640);
    await fixOnce(model);
    expect(statSync(model).mode & 0o7777).toBe(0o640);
  });

  it("writes elsewhere, taking along what the new model still needs", async () => {
    const target = path.join(folder, "out");
    mkdirSync(target);
    const destination = path.join(target, "fixed.onnx");
    const untouched = { ...(await stageUntouched(destination)) };
    expect(untouched.files).toEqual([expect.stringMatching(/^fixed\.[0-9a-f]{16}\.data$/), "fixed.onnx"]);
    expect(weightsOf(destination)).toEqual(original);
    await fixOnce(model, { destination });
    expect(weightsOf(destination)).toEqual(fixed);
    expect(weightsOf(model)).toEqual(original);
  });

  it("refuses symbolic links, folders and the model's own data as a destination", async () => {
    const link = path.join(folder, "link.onnx");
    symlinkSync("model.onnx", link);
    mkdirSync(path.join(folder, "folder.onnx"));
    for (const name of ["link.onnx", "folder.onnx", "model.weights"]) {
      const destination = path.join(folder, name);
      await expect(fixOnce(model, { destination })).rejects.toMatchObject({ code: "bad-destination" });
    }
    expect(weightsOf(model)).toEqual(original);
  });

  it("leaves the other name of a hard link as it was", async () => {
    const other = path.join(folder, "other.onnx");
    linkSync(model, other);
    await fixOnce(model);
    expect(weightsOf(model)).toEqual(fixed);
    expect(weightsOf(other)).toEqual(original);
  });

  it("removes what it wrote when it is not committed", async () => {
    const stop = () => {
      throw new Error("not proven");
    };
    await expect(fixOnce(model, { beforeCommit: stop })).rejects.toThrow("not proven");
    expect(readdirSync(folder)).toEqual(["model.onnx", "model.weights"]);
    expect(weightsOf(model)).toEqual(original);
  });

  it("offers the whole new model before it is in place", async () => {
    let staged: unknown;
    await fixOnce(model, {
      beforeCommit: (temporary) => {
        staged = weightsOf(temporary);
        expect(weightsOf(model)).toEqual(original);
      },
    });
    expect(staged).toEqual(fixed);
  });
});

/** The same bytes at another place. */
async function stageUntouched(destination: string): Promise<{ files: string[] }> {
  using lock = lockModel(destination);
  using source = openModel(model);
  const copy = { kind: "copy", source: source.source, offset: 0, length: source.source.size } as const;
  const render = () => ({ model: [copy], data: undefined });
  using staged = await stageModel({ source, state: sourceState(source), lock, render });
  staged.commit();
  lock[Symbol.dispose]();
  return { files: readdirSync(path.dirname(destination)) };
}

describe("a writer that is killed", () => {
  for (const step of allSteps) {
    it(`at ${step} leaves the old model or the new one, and the next run clears up`, async () => {
      const { signal } = run(step, 1, "kill");
      expect(signal).toBe("SIGKILL");
      const isReplaced = step === "sync-folder" || step === "unlock";
      expect(weightsOf(model)).toEqual(isReplaced ? fixed : original);
      await fixOnce(model, { value: 3 });
      expect(weightsOf(model)).toEqual({ inner: 3, outer: 3 });
      const data = readdirSync(folder).filter((name) => name.endsWith(".data"));
      // The data of the run before is the original's now, where its model came into place.
      expect(data).toHaveLength(isReplaced ? 2 : 1);
      expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
    });
  }

  it("with half of the new model written leaves the old one", () => {
    writeTestModel(folder, 3 << 20);
    const { signal } = run("write-model", 8, "kill");
    expect(signal).toBe("SIGKILL");
    const half = readdirSync(folder).find((name) => name.endsWith(".tmp")) ?? "";
    expect(statSync(path.join(folder, half)).size).toBeGreaterThan(1 << 20);
    expect(statSync(path.join(folder, half)).size).toBeLessThan(statSync(model).size);
    expect(weightsOf(model)).toEqual(original);
  });

  const asked = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  const steps = allSteps.filter((step) => step !== "unlock" && step !== "sync-folder" && step !== "replace");
  it.each(steps.map((step, index) => [step, asked[index % asked.length] ?? "SIGINT"] as const))(
    "at %s and asked to end by %s leaves nothing but the old model",
    (step, signal) => {
      const { status, signal: died } = run(step, 1, signal);
      // A signal to the own process may arrive after the last step.
      if (status === 0) expect(weightsOf(model)).toEqual(fixed);
      else {
        // Before there is a file, the system's own answer will do.
        expect([128 + constants.signals[signal], signal]).toContain(status ?? died);
        expect(readdirSync(folder)).toEqual(["model.onnx", "model.weights"]);
        expect(weightsOf(model)).toEqual(original);
      }
    },
  );

  it("while the result is compared is asked to end, and leaves nothing but the old model", () => {
    for (const signal of asked) {
      const { status } = run("write-model", 1, signal);
      expect(status).toBe(128 + constants.signals[signal]);
      expect(readdirSync(folder)).toEqual(["model.onnx", "model.weights"]);
    }
  });
});

describe("two writers", () => {
  it("do not work on one model at once", async () => {
    const first = spawn(process.execPath, [child.path, model, "write-model", "1", "wait"]);
    const output = new Promise<string>((resolve) =>
      first.stdout.once("data", (text) => resolve(String(text))),
    );
    expect(await output).toBe("at write-model\n");
    await expect(fixOnce(model)).rejects.toMatchObject({
      code: "locked",
      message: expect.stringContaining(`process ${first.pid}`),
    });
    const ended = new Promise((resolve) => first.once("exit", resolve));
    first.kill("SIGKILL");
    await ended;
    await fixOnce(model);
    expect(weightsOf(model)).toEqual(fixed);
    expect(readdirSync(folder)).toEqual(cleanFiles);
  });

  it("started together end with one whole model, and say so", async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, () => {
        const process_ = spawn(process.execPath, [child.path, model, "none"]);
        let text = "";
        process_.stdout.on("data", (part) => {
          text += String(part);
        });
        return new Promise<string>((resolve) => process_.once("close", () => resolve(text)));
      }),
    );
    expect(outcomes).toContain("done\n");
    for (const outcome of outcomes) expect(["done\n", "locked\n", "file-changed\n"]).toContain(outcome);
    expect(weightsOf(model)).toEqual(fixed);
    expect(readdirSync(folder)).toEqual(cleanFiles);
  });

  it("notice a lock that was taken from them", async () => {
    const steal = () => rmSync(path.join(folder, ".model.onnx.tc-lint.lock"));
    await expect(fixOnce(model, { beforeCommit: steal })).rejects.toMatchObject({ code: "locked" });
    expect(weightsOf(model)).toEqual(original);
  });
});

describe("locks of others", () => {
  const lockPath = () => path.join(folder, ".model.onnx.tc-lint.lock");
  const record = { pid: 1, host: "elsewhere", token: "0", since: "then", made: [] };
  /** What this process writes into a lock of its own. */
  const heldRecord = (): Record<string, unknown> => {
    using _lock = lockModel(model);
    return JSON.parse(readFileSync(lockPath(), "utf8"));
  };

  it("hold, of a process on another host", async () => {
    writeFileSync(lockPath(), JSON.stringify(record));
    await expect(fixOnce(model)).rejects.toMatchObject({
      code: "locked",
      message: expect.stringContaining("elsewhere"),
    });
    expect(existsSync(lockPath())).toBe(true);
  });

  it("give way once their holder has been silent, whoever it was", async () => {
    for (const holder of [record, { ...record, host: "this host, another container" }]) {
      writeFileSync(lockPath(), JSON.stringify(holder));
      utimesSync(lockPath(), 0, 0);
      await fixOnce(model);
      expect(weightsOf(model)).toEqual(fixed);
      expect(existsSync(lockPath())).toBe(false);
    }
  });

  it("of before a reboot give way once silent, though a process has that id again", async () => {
    const { host, ...rest } = heldRecord();
    writeFileSync(lockPath(), JSON.stringify({ ...rest, host, boot: "another", token: "0" }));
    await expect(fixOnce(model)).rejects.toMatchObject({ code: "locked" });
    utimesSync(lockPath(), 0, 0);
    await fixOnce(model);
    expect(weightsOf(model)).toEqual(fixed);
  });

  it("are not waited for where they are pipes", async () => {
    execFileSync("mkfifo", [lockPath()]);
    await expect(fixOnce(model)).rejects.toMatchObject({
      code: "locked",
      message: expect.stringMatching(/is a pipe.*remove it/),
    });
  });

  it("without a record hold while they are young", async () => {
    writeFileSync(lockPath(), '{"pid":');
    await expect(fixOnce(model)).rejects.toMatchObject({ code: "locked" });
    utimesSync(lockPath(), 0, 0);
    await fixOnce(model);
    expect(weightsOf(model)).toEqual(fixed);
  });

  const records: Readonly<Record<string, () => string>> = {
    "that is empty": () => "",
    "of garbage": () => "garbage\u0000",
    "of JSON that is no record": () => "[null]",
    "of half a record": () => JSON.stringify(heldRecord()).slice(0, 40),
    "of another host": () => JSON.stringify(record),
    "of this host, with an id that anyone may have": () => {
      const { start: _, ...rest } = heldRecord();
      return JSON.stringify({ ...rest, pid: 1, token: "0" });
    },
  };
  const years = { past: 0, "to come": Date.now() / 1000 + 3e7 } as const;
  const cases = Object.entries(records).flatMap(([what, text]) =>
    Object.entries(years).map(([when, seconds]) => [what, when, text, seconds] as const),
  );
  it.each(cases)("%s, touched in a year %s, are taken over", async (_what, _when, text, seconds) => {
    writeFileSync(lockPath(), text());
    utimesSync(lockPath(), seconds, seconds);
    await fixOnce(model);
    expect(weightsOf(model)).toEqual(fixed);
    expect(existsSync(lockPath())).toBe(false);
  });

  const noLocks: Readonly<Record<string, readonly [() => void, RegExp]>> = {
    "a folder": [() => mkdirSync(lockPath()), /is a directory, expected a regular file; remove it if/],
    "a link to nothing": [() => symlinkSync("nowhere", lockPath()), /is a symbolic link.*; remove it if/],
    "a link to itself": [() => symlinkSync(lockPath(), lockPath()), /is a symbolic link.*; remove it if/],
    "a link to a file": [() => symlinkSync(model, lockPath()), /is a symbolic link.*; remove it if/],
    megabytes: [() => writeFileSync(lockPath(), Buffer.alloc(3e6)), /has 3000000 bytes.*; remove it if/],
    "of this moment and empty": [() => writeFileSync(lockPath(), ""), /passed over after 10 s, or remove it/],
  };
  it.each(Object.entries(noLocks))("that are %s are named, with what to do", async (_, [make, said]) => {
    make();
    const before = readFileSync(model);
    await expect(fixOnce(model)).rejects.toMatchObject({
      code: "locked",
      message: expect.stringMatching(said),
    });
    expect(readFileSync(model)).toEqual(before);
    expect(readdirSync(folder).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("cannot have files removed that tc-lint did not make", async () => {
    run("write-model", 1, "kill");
    const dead: Record<string, unknown> = JSON.parse(readFileSync(lockPath(), "utf8"));
    const names = ["model.weights", "../x.0123456789abcdef.data", "other.0123456789abcdef.data"];
    writeFileSync(path.join(folder, "other.0123456789abcdef.data"), "");
    writeFileSync(lockPath(), JSON.stringify({ ...dead, made: names }));
    await fixOnce(model);
    expect(existsSync(path.join(folder, "model.weights"))).toBe(true);
    expect(existsSync(path.join(folder, "other.0123456789abcdef.data"))).toBe(true);
  });
});

describe("a source that changes during the run", () => {
  const changes: Record<string, () => void> = {
    "is replaced": () => {
      copyFileSync(model, `${model}.new`);
      renameSync(`${model}.new`, model);
    },
    "is written to in place": () => {
      const bytes = readFileSync(model);
      writeFileSync(model, bytes);
      // The same times as before: the inode's own still tells.
      utimesSync(model, 1, 1);
    },
    "is removed": () => rmSync(model),
    "has its data replaced": () => {
      const weights = path.join(folder, "model.weights");
      copyFileSync(weights, `${weights}.new`);
      renameSync(`${weights}.new`, weights);
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`${what}: nothing is written`, async () => {
      await expect(fixOnce(model, { beforeCommit: change })).rejects.toMatchObject({ code: "file-changed" });
      const left = readdirSync(folder).filter((name) => name.startsWith(".") || name.endsWith(".data"));
      expect(left).toEqual([]);
      if (existsSync(model)) expect(weightsOf(model)).toEqual(original);
    });
  }

  it("and a result that someone else touches", async () => {
    const touch = (temporary: string) => writeFileSync(temporary, "x");
    await expect(fixOnce(model, { beforeCommit: touch })).rejects.toMatchObject({ code: "file-changed" });
    expect(weightsOf(model)).toEqual(original);
  });
});

describe("failing steps", () => {
  for (const step of allSteps.filter((name) => name !== "unlock" && name !== "sync-folder")) {
    it(`${step}: the original is whole, nothing is left, the message names the step`, async () => {
      const onStep = (current: WriteStep) => {
        if (current !== step) return;
        throw Object.assign(new Error("injected"), { code: "EIO", syscall: "write" });
      };
      await expect(fixOnce(model, { onStep })).rejects.toMatchObject({
        code: "unwritable",
        message: expect.stringContaining(`${writeSteps[step]} failed (EIO)`),
      });
      expect(weightsOf(model)).toEqual(original);
      expect(readdirSync(folder)).toEqual(["model.onnx", "model.weights"]);
    });
  }
});

/** A file system of a few blocks, or undefined where none can be mounted, which is said. */
function mount(options: string): (Disposable & { readonly path: string }) | undefined {
  const point = mkdtempSync(path.join(tmpdir(), "tc-lint-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", point], { stdio: "pipe" });
  } catch (error) {
    rmSync(point, { recursive: true });
    console.warn(`skipped: no tmpfs can be mounted here (${String(error).split("\n")[0]})`);
    return undefined;
  }
  return {
    path: point,
    [Symbol.dispose]: () => {
      execFileSync("umount", [point]);
      rmSync(point, { recursive: true });
    },
  };
}

const canMount = (() => {
  using probe = mount("size=64k");
  return probe !== undefined;
})();

describe.skipIf(!canMount)("on a small file system", () => {
  for (const [what, kibibytes] of [
    ["data", 16],
    ["model", 24],
  ] as const) {
    it(`a disk that is full while the ${what} is written leaves the original`, async () => {
      using disk = mount(`size=${kibibytes}k`);
      if (disk === undefined) throw new Error("the second mount failed");
      const there = writeTestModel(disk.path);
      await expect(fixOnce(there)).rejects.toMatchObject({
        code: "disk-full",
        message: expect.stringMatching(what === "data" ? /data file/ : /new model/),
      });
      expect(weightsOf(there)).toEqual(original);
      expect(readdirSync(disk.path)).toEqual(["model.onnx", "model.weights"]);
    });
  }

  it("a read-only one is named", async () => {
    using disk = mount("size=64k");
    if (disk === undefined) throw new Error("the second mount failed");
    const there = writeTestModel(disk.path);
    execFileSync("mount", ["-o", "remount,ro", disk.path]);
    await expect(fixOnce(there)).rejects.toMatchObject({ code: "read-only" });
    expect(weightsOf(there)).toEqual(original);
  });
});

describe("a limit on the size of files", () => {
  it("is an error, never a shorter file", () => {
    const large = writeTestModel(folder, 300_000);
    const before = readFileSync(large);
    // 512 KiB: less than the model, more than everything before it. The first write is short, the second fails.
    const command = `ulimit -f 512; exec "${process.execPath}" "${child.path}" "${large}" none`;
    const { stdout } = spawnSync("bash", ["-c", command], { encoding: "utf8" });
    expect(stdout).toBe("disk-full\n");
    expect(readFileSync(large)).toEqual(before);
    expect(readdirSync(folder)).toEqual(["model.onnx", "model.weights"]);
  });
});
