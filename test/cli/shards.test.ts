import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { zoo } from "../zoo.ts";
import { bytesOf, cleanModel, headModel, lfsPointer } from "./models.ts";
import type { Run } from "./run.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const count = 4;
const small = readdirSync(zoo).filter(
  (name) => name.endsWith(".onnx") && statSync(path.join(zoo, name)).size < 60_000,
);

/** Some sixty models: real ones, misaligned ones, one of each that cannot be linted. */
function writeModels(): void {
  for (const name of small) {
    bench.folder.write(`models/zoo/${name}`, "");
    copyFileSync(path.join(zoo, name), path.join(bench.folder.path, "models/zoo", name));
  }
  for (let index = 0; index < 34; index++) {
    const n = 50_257 + 8 * index + (index % 3);
    const metadata = index === 5 ? { "tc-lint.ignore": "TC401" } : {};
    bench.folder.write(`models/heads/${index}.onnx`, bytesOf(headModel({ n, rows: "batch", metadata })));
  }
  bench.folder.write("models/clean.onnx", bytesOf(cleanModel()));
  bench.folder.write("models/broken.onnx", "not a model");
  bench.folder.write("models/pointer.onnx", lfsPointer);
  bench.folder.write("models/empty.onnx", "");
}

async function lintShards(args: readonly string[]): Promise<Run[]> {
  const runs: Run[] = [];
  for (let index = 1; index <= count; index++)
    runs.push(
      await bench.tcLint([
        ...["models", "--no-color", "--shard", `${index}/${count}`],
        ...["-f", `blob=${index}.blob`, ...args],
      ]),
    );
  return runs;
}

const blobs = ["3.blob", "1.blob", "4.blob", "2.blob"];

function textOf(file: string): string {
  return readFileSync(path.join(bench.folder.path, file), "utf8");
}

/** Both reports in each format, to files, and what goes to stdout and stderr. */
async function expectEqual(args: readonly string[], formats: readonly string[]): Promise<Run> {
  const to = (name: string) => formats.flatMap((format) => ["-f", `${format}=${name}.${format}`]);
  const mergeAs = formats.filter((format) => format === "csv" || format === "html");
  const whole = await bench.tcLint(["models", "--no-color", "-f", "text", ...args, ...to("whole")]);
  const shards = await lintShards([...args, ...mergeAs.flatMap((format) => ["--merge-as", format])]);
  for (const { stdout } of shards) expect(stdout).toBe("");
  const merged = await bench.tcLint(["merge-reports", "--no-color", "-f", "text", ...blobs, ...to("merged")]);
  expect(merged).toEqual(whole);
  for (const format of formats) expect(textOf(`merged.${format}`)).toBe(textOf(`whole.${format}`));
  return merged;
}

describe("merged shards are the unsharded run, byte for byte", () => {
  test("in every format", { timeout: 240_000 }, async () => {
    writeModels();
    const { exitCode, stdout } = await expectEqual(
      [],
      ["json", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson", "markdown"],
    );
    expect(exitCode).toBe(2);
    expect(stdout).toContain("3 models failed");
    expect(stdout.split("\n").length).toBeLessThan(400);
  });

  test("with all there is to list, drawn", { timeout: 240_000 }, async () => {
    writeModels();
    await expectEqual(["--verbose", "--stats", "--show-suppressed"], ["csv", "html", "json"]);
  });

  test("at several sizes, with suppressions, budgets and limits", { timeout: 240_000 }, async () => {
    writeModels();
    for (const name of ["broken", "pointer", "empty"]) bench.folder.write(`models/${name}.onnx`, "");
    bench.folder.write(
      "tc-lint.config.json",
      JSON.stringify({
        ignores: ["models/broken.onnx", "models/pointer.onnx", "models/empty.onnx", "models/zoo/"],
        overrides: [{ ops: ["Conv"], rules: { TC101: "off" } }],
        budgets: [{ files: ["models/heads/7.onnx"], gpu: "l4", maxMicroseconds: 1 }],
      }),
    );
    const sizes = ["--dim", "batch=1,4096"];
    await bench.tcLint(["models", ...sizes, "--suppress-all"]);
    const suppressions = path.join(bench.folder.path, "tc-lint-suppressions.json");
    const changed = textOf("tc-lint-suppressions.json")
      .replace('"models/heads/0.onnx"', '"models/heads/gone.onnx"')
      .replace(/"count": \d+/, '"count": 9');
    writeFileSync(suppressions, changed);
    const { exitCode, stderr } = await expectEqual(
      [...sizes, "--max-warnings", "0", "--report-unused-suppressions", "--show-suppressed"],
      ["json", "sarif"],
    );
    expect(exitCode).toBe(2);
    expect(stderr).toContain('"models/heads/gone.onnx" is "models/heads/0.onnx" now');
    expect(stderr).toContain("suppresses what is found no more");
    expect(stderr).toContain("switches off what is found nowhere");
  });

  test("without a finding, and with a size that one shard alone has a place for", async () => {
    bench.folder.write("models/a.onnx", bytesOf(headModel({ rows: "batch", n: 4096 })));
    for (const name of ["b", "c", "d"]) bench.folder.write(`models/${name}.onnx`, bytesOf(cleanModel()));
    const { exitCode } = await expectEqual(["--dim", "batch=64", "--ignore", "TC2,TC4"], ["json"]);
    expect(exitCode).toBe(0);
  });
});

describe("shards", () => {
  test("are the same whatever the order of arguments, and hold every model once", async () => {
    for (let index = 0; index < 12; index++)
      bench.folder.write(
        `models/${index}.onnx`,
        bytesOf(headModel({ nodeName: "n".repeat(1 + index * 97) })),
      );
    const namesOf = async (shard: string, paths: readonly string[]) => {
      const { models } = await bench.jsonOf([...paths, "--shard", shard]);
      return models.map((model) => model.path).sort();
    };
    const names: string[] = [];
    for (const shard of ["1/3", "2/3", "3/3"]) {
      const own = await namesOf(shard, ["models"]);
      expect(await namesOf(shard, ["models/9.onnx", "models/3.onnx", "models"])).toEqual(own);
      expect(own.length).toBe(4);
      names.push(...own);
    }
    expect(new Set(names).size).toBe(12);
  });

  test("may be more than there are models", async () => {
    bench.folder.write("models/a.onnx", bytesOf(cleanModel()));
    for (const shard of ["1/2", "2/2"]) {
      const { exitCode } = await bench.tcLint(["models", "--shard", shard, "-f", `blob=${shard[0]}.blob`]);
      expect(exitCode).toBe(0);
    }
    const { stdout } = await bench.tcLint(["merge-reports", "."]);
    expect(stdout).toContain("no findings in 1 model\n");
  });

  test.each([["html,csv"], ["html", "csv"]])(
    "are merged to what --merge-as %s %s names",
    async (...formats) => {
      bench.folder.write("models/a.onnx", bytesOf(cleanModel()));
      const mergeAs = formats.flatMap((format) => ["--merge-as", format]);
      await bench.tcLint(["models", "-f", "blob=1.blob", ...mergeAs]);
      const merged = await bench.tcLint(["merge-reports", "1.blob", "-f", "html=x.html", "-f", "csv=x.csv"]);
      expect(merged).toMatchObject({ exitCode: 0, stderr: "" });
    },
  );

  test("--merge-as takes one value, as its help says", async () => {
    bench.folder.write("models/a.onnx", bytesOf(cleanModel()));
    const { stderr } = await bench.tcLint(["-f", "blob=1.blob", "--merge-as", "html", "csv", "models"]);
    expect(stderr).toBe("tc-lint: csv: no such file\n");
    const { stdout } = await bench.tcLint(["--help"]);
    const [, help = ""] = /--merge-as([\s\S]*?)\n\s*(?:--|\n)/.exec(stdout) ?? [];
    expect(help).toContain("html,csv");
    expect(help).not.toContain("[array]");
  });

  test.each([
    ["0/4", 'found "0/4", expected I/N'],
    ["5/4", 'found "5/4", expected I/N'],
    ["1", 'found "1", expected I/N'],
  ])("--shard %s is named", async (shard, message) => {
    const { exitCode, stderr } = await bench.tcLint(["models", "--shard", shard]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) });
  });

  test.each([
    [["--shard", "1/2", "--fix"], "--shard: found beside --fix"],
    [["--shard", "1/2", "--suppress-all"], "--shard: found beside a flag that writes suppressions"],
    [["-f", "blob"], "blob goes to one file"],
    [["--merge-as", "csv"], "--merge-as: found without -f blob=PATH"],
  ])("%j is refused", async (args, message) => {
    bench.folder.write("models/a.onnx", bytesOf(cleanModel()));
    const { exitCode, stderr } = await bench.tcLint(["models", ...args]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) });
  });
});

describe("merge-reports says by name", () => {
  async function mergeError(files: readonly string[], args: readonly string[] = []): Promise<string> {
    const { exitCode, stdout, stderr } = await bench.tcLint(["merge-reports", ...files, ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    return stderr;
  }

  async function twoShards(first: readonly string[] = [], second: readonly string[] = []): Promise<void> {
    for (const [index, args] of [first, second].entries())
      await bench.tcLint([
        ...["models", "--shard", `${index + 1}/2`, "-f", `blob=${index + 1}.blob`, ...args],
      ]);
  }

  function twoModels(): void {
    bench.folder.write("models/a.onnx", bytesOf(cleanModel()));
    bench.folder.write("models/b.onnx", bytesOf(headModel()));
  }

  test("what is missing, there twice, cut, changed, and of another tool", async () => {
    twoModels();
    await twoShards();
    expect(await mergeError(["1.blob"])).toContain("missing: shard 2/2");
    expect(await mergeError(["nowhere.blob"])).toContain("nowhere.blob: no such file");
    copyFileSync(path.join(bench.folder.path, "1.blob"), path.join(bench.folder.path, "again.blob"));
    expect(await mergeError(["1.blob", "again.blob", "2.blob"])).toContain(
      "1.blob and again.blob are both shard 1/2",
    );
    const text = textOf("2.blob");
    for (const bad of [
      text.slice(0, -10),
      text.slice(0, text.length / 2),
      text.slice(0, text.lastIndexOf('{"sha256"')),
      text.replace('"outcomes"', '"outcomec"'),
      `${text}{}\n`,
    ]) {
      bench.folder.write("bad.blob", bad);
      expect(await mergeError(["1.blob", "bad.blob"])).toContain("bad.blob: was cut or changed");
    }
    bench.folder.write("eslint.json", '[{"filePath":"a.js","messages":[]}]');
    expect(await mergeError(["1.blob", "eslint.json"])).toContain("eslint.json: is no report of tc-lint's");
    await bench.tcLint(["models", "-f", "json=own.json"]);
    expect(await mergeError(["1.blob", "own.json"])).toContain(
      "own.json: is a report of tc-lint's for programs",
    );
    expect(await mergeError(["models"])).toContain("models: no file there ends with .blob");
    expect(await mergeError(["1.blob", "2.blob"], ["-f", "csv"])).toContain("lint them with --merge-as csv");
    const other = text.replace(/"version":"[^"]*"/, '"version":"0.0.9"');
    bench.folder.write("other.blob", resealed(other));
    expect(await mergeError(["1.blob", "other.blob"])).toMatch(/not of one run: tc-lint \S+ and 0\.0\.9/);
    expect(await mergeError(["1.blob", "2.blob"], ["-o", "1.blob"])).toContain(
      "is read by this very command",
    );
  });

  test("what differs between runs", async () => {
    twoModels();
    const differing = async (first: readonly string[], second: readonly string[]) => {
      await twoShards(first, second);
      return mergeError(["1.blob", "2.blob"]);
    };
    expect(await differing(["--max-warnings", "1"], ["--max-warnings", "2"])).toContain(
      "--max-warnings: 1 and 2",
    );
    expect(await differing([], ["--gpu", "l4"])).toContain("configurations, targets or sizes differ");
    await twoShards();
    bench.folder.write("models/c.onnx", bytesOf(cleanModel()));
    await bench.tcLint(["models", "--shard", "2/2", "-f", "blob=2.blob"]);
    expect(await mergeError(["1.blob", "2.blob"])).toContain("other models, or models of other sizes");
  });
});

/** With the digest of what it says now. */
function resealed(text: string): string {
  const body = text.slice(0, text.lastIndexOf('{"sha256"'));
  return `${body}${JSON.stringify({ sha256: createHash("sha256").update(body).digest("hex") })}\n`;
}
