import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { fixtureModel } from "../profile/files.ts";
import { zoo } from "../zoo.ts";
import { bytesOf, cleanModel, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const at = (...parts: readonly string[]) => path.join(bench.folder.path, ...parts);
const entriesIn = (folder: string) => readdirSync(at(folder)).filter((name) => name.endsWith(".lint"));
const cached = ["--cache", "--cache-location", "kept"];

/** How many of how many models were known, by what a run with --verbose says. */
async function hitsOf(args: readonly string[]): Promise<string | undefined> {
  const { stderr } = await bench.tcLint([...args, "--verbose"]);
  return /--cache: (\d+ of \d+) models? known/.exec(stderr)?.[1];
}

test("a cached run prints the bytes of one without, over the zoo", { timeout: 240_000 }, async () => {
  for (const name of readdirSync(zoo).filter((each) => each.endsWith(".onnx")))
    if (statSync(path.join(zoo, name)).size < 100_000) {
      mkdirSync(at("models"), { recursive: true });
      copyFileSync(path.join(zoo, name), at("models", name));
    }
  const args = ["models", "--gpu", "h200,l4", "-f", "text", "-f", "json=report.json"];
  const read = () => readFileSync(at("report.json"), "utf8");
  const plain = await bench.tcLint(args);
  const json = read();
  for (const strategy of ["content", "content", "metadata"]) {
    expect(await bench.tcLint([...args, ...cached, "--cache-strategy", strategy])).toEqual(plain);
    expect(read()).toBe(json);
  }
  const all = 2 * readdirSync(at("models")).length;
  expect(await hitsOf([...args, ...cached])).toBe(`0 of ${all}`);
  expect(await hitsOf([...args, ...cached])).toBe(`${all} of ${all}`);
});

describe("what is kept is passed over", () => {
  const twoModels = () => {
    bench.folder.write("a.onnx", bytesOf(headModel({ rows: "batch" })));
    bench.folder.write("b.onnx", bytesOf(cleanModel()));
  };
  const warm = async (args: readonly string[] = []) => {
    twoModels();
    expect(await hitsOf([".", ...cached, ...args])).toBe("0 of 2");
    expect(await hitsOf([".", ...cached, ...args])).toBe("2 of 2");
  };

  test("where the model, its configuration, a flag or its data changed", { timeout: 120_000 }, async () => {
    await warm();
    bench.folder.write("a.onnx", bytesOf(headModel({ rows: "batch", n: 50_259 })));
    expect(await hitsOf([".", ...cached])).toBe("1 of 2");
    expect(await hitsOf([".", ...cached, "--gpu", "l4"])).toBe("0 of 2");
    expect(await hitsOf([".", ...cached, "--dim", "batch=8"])).toBe("0 of 2");
    bench.folder.write("head.weights", Buffer.alloc(2 * 4096 * 50_259));
    expect(await hitsOf([".", ...cached])).toBe("1 of 2");
    expect(await hitsOf([".", ...cached])).toBe("2 of 2");
    const { stdout } = await bench.tcLint([".", ...cached]);
    expect(stdout).toBe((await bench.tcLint(["."])).stdout);
    bench.folder.write("tc-lint.config.json", JSON.stringify({ rules: { TC102: "off" } }));
    expect(await hitsOf([".", ...cached])).toBe("0 of 2");
  });

  test("where what was measured changed", async () => {
    copyFileSync(fixtureModel("misaligned_cnn"), at("c.onnx"));
    const args = ["c.onnx", "--profile", "p.json", "--exit-zero", "--table"];
    for (const averageMs of [0.12, 0.24]) {
      bench.folder.write(
        "p.json",
        Buffer.from(JSON.stringify([{ count: 9 }, { name: "/b/b.0/Conv", averageMs }])),
      );
      const plain = await bench.tcLint(args);
      for (let run = 0; run < 2; run++)
        expect((await bench.tcLint([...args, "--cache"])).stdout).toBe(plain.stdout);
    }
    const { stderr } = await bench.tcLint([...args, "--cache", "--verbose"]);
    expect(stderr).toContain(
      "--cache: 1 model linted anew in every run, because of rules of plugins or a profile",
    );
  });

  test("whatever the time says, but with --cache-strategy metadata", async () => {
    await warm();
    const touch = () => utimesSync(at("a.onnx"), new Date(), new Date());
    touch();
    expect(await hitsOf([".", ...cached])).toBe("2 of 2");
    expect(await hitsOf([".", ...cached, "--cache-strategy", "metadata"])).toBe("2 of 2");
    const { mtime } = statSync(at("a.onnx"));
    const text = readFileSync(at("a.onnx"), "latin1").replace("lm_head", "mm_head");
    writeFileSync(at("a.onnx"), text, "latin1");
    utimesSync(at("a.onnx"), mtime, mtime);
    expect(await hitsOf([".", ...cached])).toBe("1 of 2");
  });

  test("where an entry is cut, damaged, empty, a link or a folder", { timeout: 120_000 }, async () => {
    await warm();
    const names = entriesIn("kept");
    const plain = await bench.tcLint(["."]);
    const spoil: readonly ((file: string) => void)[] = [
      (file) => truncateSync(file, 40),
      (file) => truncateSync(file, 0),
      (file) => appendFileSync(file, "x"),
      (file) => {
        const bytes = readFileSync(file);
        bytes[50] = (bytes[50] ?? 0) ^ 255;
        writeFileSync(file, bytes);
      },
      (file) => {
        copyFileSync(file, at("elsewhere"));
        rmSync(file);
        symlinkSync(at("elsewhere"), file);
      },
    ];
    for (const damage of spoil) {
      for (const name of names) damage(at("kept", name));
      expect(await hitsOf([".", ...cached])).toBe("0 of 2");
      expect(await bench.tcLint([".", ...cached])).toEqual(plain);
    }
    for (const name of names) {
      rmSync(at("kept", name));
      mkdirSync(at("kept", name));
    }
    const { stdout, exitCode } = await bench.tcLint([".", ...cached]);
    expect({ stdout, exitCode }).toEqual({ stdout: plain.stdout, exitCode: plain.exitCode });
  });

  test("of a model that --fix has repaired", async () => {
    const head = headModel({ n: 4097, k: 4096 });
    const [weights] = head.graph?.initializer ?? [];
    if (weights === undefined) throw new Error("the model has weights");
    Object.assign(weights, { externalData: [], dataLocation: 0, rawData: Buffer.alloc(2 * 4096 * 4097) });
    bench.folder.write("a.onnx", bytesOf(head));
    const before = await bench.tcLint(["a.onnx", ...cached]);
    await bench.tcLint(["a.onnx", "--fix", "--no-verify", ...cached]);
    const after = await bench.tcLint(["a.onnx", ...cached]);
    expect(after.stdout).not.toBe(before.stdout);
    expect(after).toEqual(await bench.tcLint(["a.onnx"]));
  });

  test("of a model that fails: it is looked at again", async () => {
    bench.folder.write("a.onnx", "no model");
    for (let run = 0; run < 2; run++) {
      const { exitCode } = await bench.tcLint(["a.onnx", ...cached]);
      expect(exitCode).toBe(2);
    }
    expect(entriesIn("kept")).toEqual([]);
  });
});

describe("the cache lies", () => {
  test("in node_modules/.cache of the project, else with the user's own", async () => {
    bench.folder.write("a.onnx", bytesOf(cleanModel()));
    const env = { XDG_CACHE_HOME: at("xdg"), HOME: at("home") };
    await bench.tcLint(["a.onnx", "--cache"], { env });
    expect(entriesIn("xdg/tc-lint/lint")).toHaveLength(1);
    bench.folder.write("package.json", "{}");
    mkdirSync(at("node_modules"));
    await bench.tcLint(["a.onnx", "--cache"], { env });
    expect(entriesIn("node_modules/.cache/tc-lint")).toHaveLength(1);
  });

  test("nowhere that a link of the project leads", async () => {
    bench.folder.write("a.onnx", bytesOf(cleanModel()));
    bench.folder.write("package.json", "{}");
    mkdirSync(at("node_modules"));
    mkdirSync(at("outside"));
    symlinkSync(at("outside"), at("node_modules/.cache"));
    const { stderr } = await bench.tcLint(["a.onnx", "--cache"], { env: { XDG_CACHE_HOME: at("xdg") } });
    expect(stderr).toContain("node_modules/.cache is a link, or no folder");
    expect(readdirSync(at("outside"))).toEqual([]);
    expect(entriesIn("xdg/tc-lint/lint")).toHaveLength(1);
  });

  test("within its bound, the entries that were used last", async () => {
    for (let index = 0; index < 4; index++)
      bench.folder.write(`${index}.onnx`, bytesOf(headModel({ n: 4097 + index })));
    await bench.tcLint([".", ...cached], { env: { TC_LINT_CACHE_MB: "0.003" } });
    const left = entriesIn("kept");
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(4);
  });

  // Where mkdir fails with ENOENT in a folder that is there.
  test.skipIf(!existsSync("/proc/self"))("in no file system that has no place for it", async () => {
    bench.folder.write("a.onnx", bytesOf(cleanModel()));
    const refused = await bench.tcLint(["a.onnx", "--cache", "--cache-location", "/proc/nope/below"]);
    expect(refused.exitCode).toBe(0);
    expect(refused.stderr).toMatch(/--cache: nothing is kept: \S+ cannot be made \(ENOENT\)/);
  });

  test("where nothing can be written, nothing is kept, and that is said", async () => {
    bench.folder.write("a.onnx", bytesOf(cleanModel()));
    bench.folder.write("file", "");
    const refused = await bench.tcLint(["a.onnx", "--cache", "--cache-location", "file"]);
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr).toContain('--cache-location: "file" is no folder');
    const below = await bench.tcLint(["a.onnx", "--cache", "--cache-location", "file/below"]);
    expect(below.exitCode).toBe(0);
    expect(below.stderr).toContain("--cache: nothing is kept: file/below cannot be made (ENOTDIR)");
    const alone = await bench.tcLint(["a.onnx", "--cache-location", "kept"]);
    expect(alone.stderr).toContain("--cache-location: found without --cache");
    expect(existsSync(at("kept"))).toBe(false);
  });
});

test("runs at once share it", async () => {
  for (let index = 0; index < 6; index++)
    bench.folder.write(`${index}.onnx`, bytesOf(headModel({ n: 4097 + index })));
  const plain = await bench.tcLint(["."]);
  const runs = await Promise.all([1, 2, 3].map(() => bench.tcLint([".", ...cached])));
  for (const run of runs) expect(run).toEqual(plain);
  expect(await hitsOf([".", ...cached])).toBe("0 of 6");
  expect(readdirSync(at("kept")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
});
