/** Paths that lead nowhere, in circles, or to where nothing may be written: each named, none a bug, nothing lost. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { LintReport } from "../../src/lint/result.ts";
import { writeExternal, writeInline } from "../fix/models.ts";
import { plain } from "./fixing.ts";
import { bytesOf, cleanModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const at = (...parts: string[]) => path.join(bench.folder.path, ...parts);
beforeEach(() => {
  bench.folder.write("good.onnx", bytesOf(cleanModel()));
});

describe("lint", () => {
  it("of a folder with links that circle or dangle goes on with the rest", async () => {
    symlinkSync("loop.onnx", at("loop.onnx"));
    symlinkSync("circle", at("circle"));
    const { exitCode, stdout, stderr } = await bench.tcLint(["."]);
    expect([exitCode, stderr]).toEqual([2, ""]);
    expect(stdout).toMatch(/loop\.onnx: is a loop of symbolic links/);
    expect(stdout).toContain("1 model failed");
  });

  it("of a folder with names that are not UTF-8 names each, and goes on with the rest", async () => {
    const model = readFileSync(at("good.onnx"));
    const raw = (...parts: string[]) => Buffer.from(at(...parts), "latin1");
    mkdirSync(raw("d\xff"));
    for (const place of [raw("caf\xe9.onnx"), raw("d\xff", "in.onnx"), at("café.onnx")]) {
      writeFileSync(place, model);
    }
    writeFileSync(raw("notes\xe9.txt"), "no model");
    for (const args of [["."], ["**/*.onnx"], ["--no-error-on-unmatched-pattern", "."]]) {
      const { exitCode, stdout, stderr } = await bench.tcLint([...args, "-f", "json"]);
      expect([exitCode, stderr]).toEqual([2, ""]);
      const { models } = JSON.parse(stdout) as LintReport;
      const byPath = new Map(models.map(({ path: shown, error }) => [shown, error?.code]));
      expect(byPath).toEqual(
        new Map([
          ["café.onnx", undefined],
          ["caf\\xe9.onnx", "not-utf8"],
          ["d\\xff/in.onnx", "not-utf8"],
          ["good.onnx", undefined],
        ]),
      );
    }
    const fix = await bench.tcLint(["--fix-only", "--no-verify", "."]);
    expect([fix.exitCode, fix.stderr]).toEqual([
      2,
      expect.stringMatching(/caf\\xe9\.onnx: its name is not UTF-8/),
    ]);
  });

  it.each([
    ["lint", ["--no-error-on-unmatched-pattern", "loop.onnx"]],
    ["fix", ["--fix", "loop.onnx"]],
    ["diff", ["--diff", "loop.onnx"]],
    ["verify", ["verify", "loop.onnx", "good.onnx"]],
    ["plan", ["bench", "--plan", "loop.onnx"]],
    ["folder", ["loop.onnx/x.onnx"]],
  ])("of a loop of links says that it is one: %s", async (_, args) => {
    symlinkSync("other.onnx", at("loop.onnx"));
    symlinkSync("loop.onnx", at("other.onnx"));
    const { exitCode, stdout, stderr } = await bench.tcLint(args);
    expect(exitCode).toBe(2);
    expect(stdout + stderr).toMatch(/loop\.onnx(\/x\.onnx)?: is a loop of symbolic links/);
  });

  const odd: readonly (readonly [what: string, path: string, said: RegExp])[] = [
    ["a circle", "o", /o: is a loop of symbolic links/],
    ["a name too long", `${"n".repeat(400)}.onnx`, /cannot be opened \(ENAMETOOLONG\)/],
    ["a file for a folder", "good.onnx/x.onnx", /good\.onnx\/x\.onnx: no such file/],
  ];
  it.each(odd)("of %s is an error with its name, and so is its repair", async (_, name, said) => {
    symlinkSync("o", at("o"));
    const lint = await bench.tcLint([name]);
    expect([lint.exitCode, lint.stdout]).toEqual([2, expect.stringMatching(said)]);
    const diff = await bench.tcLint(["--diff", name]);
    expect([diff.exitCode, diff.stderr]).toEqual([2, expect.stringMatching(said)]);
    expect(lint.stderr + diff.stderr).not.toContain("bug");
  });
});

describe("reports", () => {
  it("do not replace a model, nor what is read-only", async () => {
    const model = readFileSync(at("good.onnx"));
    const slip = await bench.tcLint(["good.onnx", "-o", "good.onnx"]);
    expect([slip.exitCode, slip.stderr]).toEqual([2, expect.stringMatching(/is named like a model/)]);
    expect(readFileSync(at("good.onnx"))).toEqual(model);
    symlinkSync("good.onnx", at("link.json"));
    writeFileSync(at("weights"), Buffer.alloc(64));
    writeFileSync(at("own.json"), "{}");
    for (const [given, said] of [
      [["-f", "json=link.json"], /leads to ".*good.onnx"/],
      [["-f", "json=weights"], /holds data that no report is/],
      [["--config", "own.json", "-o", "own.json"], /is read by this very command/],
      [["-o", "new.onnx"], /is named like a model/],
    ] as const) {
      const { exitCode, stderr } = await bench.tcLint(["good.onnx", ...given]);
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(said)]);
    }
    expect(readFileSync(at("good.onnx"))).toEqual(model);
    expect([readFileSync(at("weights")).length, readFileSync(at("own.json"), "utf8")]).toEqual([64, "{}"]);
    writeFileSync(at("report.json"), "kept", { mode: 0o444 });
    const kept = await bench.tcLint(["good.onnx", "-f", "json=report.json"]);
    expect([kept.exitCode, kept.stderr]).toEqual([2, expect.stringMatching(/report\.json: is read-only/)]);
    expect(readFileSync(at("report.json"), "utf8")).toBe("kept");
  });
});

describe("reports that go to where no folder is", () => {
  const places = [
    ["none/x/report.json", /its folder "none\/x" is not there: make it first/],
    ["good.onnx/report.json", /"good\.onnx" is no folder/],
    ["folder", /folder: is a folder/],
    ["/proc/none/report.json", /its folder "\/proc\/none" is not there/],
  ] as const;
  const commands: readonly (readonly [...string[]])[] = [
    ["good.onnx", "-f", "json", "-o"],
    ["--fix", "odd.onnx", "-f", "json", "-o"],
    ["--diff", "odd.onnx", "-f", "json", "-o"],
    ["verify", "good.onnx", "good.onnx", "-o"],
    ["verify", "good.onnx", "good.onnx", "--save-inputs"],
    ["bench", "--plan", "good.onnx", "-o"],
    ["bench", "good.onnx", "-o"],
    ["validate", "good.onnx", "-o"],
    ["calibrate", "-o"],
  ];
  const cases = places.flatMap(([place, said]) =>
    commands.map((args) => [args.join(" "), place, args, said] as const),
  );
  it.each(cases)(
    "%s %s: said before anything is done, and no folder is made",
    async (_, place, args, said) => {
      writeFileSync(at("odd.onnx"), readFileSync(writeInline(bench.folder.path)));
      mkdirSync(at("folder"));
      const before = readFileSync(at("odd.onnx"));
      const { exitCode, stdout, stderr } = await bench.tcLint([...args, place]);
      expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringMatching(said)]);
      expect(existsSync(at("none"))).toBe(false);
      expect(readFileSync(at("odd.onnx"))).toEqual(before);
    },
  );
});

describe("--fix", () => {
  it("leaves a model that is read-only as it is", async () => {
    const file = writeInline(bench.folder.path);
    chmodSync(file, 0o444);
    const before = readFileSync(file);
    const { exitCode, stderr } = await bench.tcLint(["--fix-only", "--no-verify", "model.onnx", ...plain]);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/model\.onnx: is read-only; make it writable/),
    ]);
    expect(readFileSync(file)).toEqual(before);
    expect(statSync(file).mode & 0o777).toBe(0o444);
  });

  it("into a folder that is not there says so", async () => {
    writeInline(bench.folder.path);
    const args = ["--fix-output", "out/fixed.onnx", "--no-verify", "model.onnx", ...plain];
    const { exitCode, stderr } = await bench.tcLint(args);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringMatching(/out\/fixed\.onnx: its folder is not there/),
    ]);
  });

  it("beside a model whose files are links into a cache takes the data along", async () => {
    mkdirSync(at("blobs"));
    mkdirSync(at("snapshot"));
    writeExternal(at("blobs"));
    for (const name of ["model.onnx", "model.weights"]) symlinkSync(`../blobs/${name}`, at("snapshot", name));
    const args = ["--fix-output", "snapshot/fixed.onnx", "--no-verify", "snapshot/model.onnx", ...plain];
    const { exitCode, stderr, stdout } = await bench.tcLint(["--fix-only", ...args]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/written to snapshot\/fixed\.[0-9a-f]{16}\.data/);
    expect((await bench.tcLint(["snapshot/fixed.onnx", "--exit-zero"])).exitCode).toBe(0);
  });
});

describe("a path that is none", () => {
  const unread = /found "-", expected a path: models are read from files/;
  const empty = /found "" among the arguments, expected the path of a model/;
  it.each([
    [["-"], unread],
    [["--fix", "-"], unread],
    [["bench", "--plan", "-"], unread],
    [["good.onnx", "-o", "-"], unread],
    [[""], empty],
    [["--fix", ""], empty],
    [["verify", "", "good.onnx"], empty],
    [["bench", "--plan", ""], empty],
    [["good.onnx", "--config", ""], /--config: found "", expected a path/],
    [["good.onnx", "--config="], /--config: found "", expected a path/],
    [["good.onnx", "-o", ""], /-o: found "", expected a path/],
    [["--fix", "good.onnx", "--fix-output", ""], /--fix-output: found "", expected a path/],
    [["--fix", "good.onnx", "--fix-output", "."], /"\." is a folder, expected a file such as good\.onnx/],
    [["print-config", "-f", "text"], /--format: found "text", expected one of json/],
  ] as const)("%j is named, with what was expected", async (args, said) => {
    const { exitCode, stdout, stderr } = await bench.tcLint(args);
    expect([exitCode, stdout, stderr]).toEqual([2, "", expect.stringMatching(said)]);
    expect(stderr).not.toContain("did you mean");
  });

  it("print-config takes -f json", async () => {
    const [plainly, asJson] = [["print-config"], ["print-config", "-f", "json"]].map((args) =>
      bench.tcLint(args),
    );
    expect(await asJson).toEqual(await plainly);
  });
});

describe("limits of numbers", () => {
  it.each([
    ["verify", "good.onnx", "good.onnx", "--seeds", "99999999999"],
    ["lint", "good.onnx", "--jobs", "9999999"],
  ])("%s %s %s %s %s are named", async (...args) => {
    const { exitCode, stderr } = await bench.tcLint(args.filter((arg) => arg !== undefined));
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/expected a whole number, 1 to \d+/)]);
  });

  it("a time-out beyond what timers take is a long one, not none", async () => {
    const args = ["verify", "good.onnx", "good.onnx", "--timeout", "3000000"];
    expect(await bench.tcLint(args)).toMatchObject({ exitCode: 0 });
  });
});
