/** Every command that a report of several scenarios names is one that runs, for the scenario that it is named in. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { FixEntry } from "../../src/api/fix-report.ts";
import { h200Calibration } from "../../src/cost/coefficients/h200-cudnn.ts";
import { duration } from "../../src/ir/format.ts";
import type { LintReport } from "../../src/lint/result.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

/** As a shell takes it apart. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

function commandsOf({ models }: LintReport): (readonly [scenario: string, command: string, after: number])[] {
  return models.flatMap(({ scenario = "", account, groups }) => {
    const safe = account.find(({ step }) => step === "safe");
    const named = groups.flatMap(({ fixCommand }) => fixCommand ?? []);
    expect(safe?.command).toBe(named[0]);
    return [...new Set(named)].map((command) => [scenario, command, safe?.microseconds ?? 0] as const);
  });
}

/** What a page offers to copy. */
async function copied(args: readonly string[]): Promise<string[]> {
  const { stdout } = await bench.tcLint(["head.onnx", ...args, "-f", "html"]);
  return [...stdout.matchAll(/<code>(tc-lint --fix [^<]*)<\/code>/g)].map(([, text = ""]) =>
    text.replaceAll("&#39;", "'"),
  );
}

async function expectToRun(report: LintReport, kept: readonly string[] = []) {
  for (const [, command, after] of commandsOf(report)) {
    const [, ...flags] = wordsOf(command);
    const { stdout } = await bench.tcLint(["head.onnx", "--diff", ...flags, ...kept, "-f", "json"]);
    const [model] = JSON.parse(stdout).fixes;
    // The scenario's own target and sizes: to the last digit what lint says.
    expect(model.account.find(({ step }: { step: string }) => step === "safe")?.microseconds).toBe(after);
    // And no half beside it, which the finding says nothing of.
    if (!flags.includes("fp16"))
      expect(model.account.map(({ step }: { step: string }) => step)).not.toContain("kept");
  }
}

describe("commands of findings", () => {
  test("name the scenario of a configuration that they are of", async () => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
    const scenarios = [
      { name: "edge", gpu: "h100", dims: { batch: 4096 } },
      { name: "big batch", dims: { batch: 8192 } },
    ];
    bench.folder.write("tc-lint.config.json", JSON.stringify({ scenarios }));
    const report = await bench.jsonOf(["head.onnx"]);
    expect(commandsOf(report).map(([name, command]) => [name, command])).toEqual([
      ["edge", "--fix --scenario edge"],
      ["big batch", "--fix --scenario 'big batch'"],
    ]);
    await expectToRun(report);
    expect(await copied([])).toEqual([
      "tc-lint --fix --scenario 'big batch' head.onnx",
      "tc-lint --fix --scenario edge head.onnx",
    ]);
  });

  test("name of flags that list several values the one that they are of", async () => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
    const listed = ["--gpu", "h200,h100", "--dim", "batch=4096,8192"];
    const report = await bench.jsonOf(["head.onnx", ...listed, "--stack", "cudnn"]);
    expect(commandsOf(report).map(([name, command]) => [name, command])).toEqual([
      ["h200, batch=4096", "--fix --gpu h200 --dim batch=4096 --stack cudnn"],
      ["h200, batch=8192", "--fix --gpu h200 --dim batch=8192 --stack cudnn"],
      ["h100, batch=4096", "--fix --gpu h100 --dim batch=4096 --stack cudnn"],
      ["h100, batch=8192", "--fix --gpu h100 --dim batch=8192 --stack cudnn"],
    ]);
    await expectToRun(report);
    expect(await copied([...listed, "--stack", "cudnn"])).toContain(
      "tc-lint --fix --gpu h100 --dim batch=8192 --stack cudnn head.onnx",
    );
  });

  test.each([
    ["--stack cudnn --dim batch=4096"],
    ["--gpu h100 --stack inductor --dim batch=4096 --no-stack-guard"],
    ["--precision as-is --dim batch=4096 --no-config"],
    ["--shape hidden=4096,4096 --min-saving 0.1%"],
    ["--dim batch=4096 --ignore TC2"],
  ])("of one target say the run's own flags: %s", async (flags) => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
    const report = await bench.jsonOf(["head.onnx", ...wordsOf(flags)]);
    const commands = commandsOf(report).map(([, command]) => wordsOf(command).join(" "));
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands)
      for (const word of wordsOf(flags)) expect(` ${command} `).toContain(` ${word} `);
    await expectToRun(report);
    const stored = await bench.tcLint(["head.onnx", ...wordsOf(flags), "-f", "sarif"]);
    expect(stored.stdout).toContain(`Fix: ${report.models[0]?.groups[0]?.fixCommand}.`);
    const { stdout } = await bench.tcLint(["head.onnx", ...wordsOf(flags)]);
    expect(stdout).toContain(`fixable with ${report.models[0]?.groups[0]?.fixCommand}`);
  });

  test("name a calibration of the target's own GPU, and none of another, which does nothing there", async () => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
    const { coefficients, residuals } = h200Calibration;
    const own = { schema: 1, gpu: "h100", stack: "cudnn", source: "mine", coefficients, residuals };
    bench.folder.write("own.json", JSON.stringify(own));
    const flags = [
      "--calibration",
      "own.json",
      "--stack",
      "cudnn",
      "--no-stack-guard",
      "--dim",
      "batch=8192",
    ];
    for (const gpu of ["h100", "h200"]) {
      const args = ["head.onnx", ...flags, "--gpu", gpu];
      const report = await bench.jsonOf(args);
      const { stdout } = await bench.tcLint(["--diff", ...args, "-f", "json"]);
      const { fixes } = JSON.parse(stdout) as { readonly fixes: readonly FixEntry[] };
      const named = [
        ...commandsOf(report).map(([, command]) => command),
        ...fixes.flatMap(({ account }) => account?.flatMap(({ command }) => command ?? []) ?? []),
      ];
      expect(named.length).toBeGreaterThan(1);
      for (const command of named)
        expect(command.includes("--calibration own.json"), command).toBe(gpu === "h100");
      await expectToRun(report, gpu === "h100" ? [] : ["--calibration", "own.json"]);
      await expectToRun(report);
    }
  });

  test("of what is suppressed name it as well", async () => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
    const overrides = [{ nodes: ["*"], rules: { TC102: "off" } }];
    bench.folder.write("tc-lint.config.json", JSON.stringify({ overrides }));
    const { models } = await bench.jsonOf(["head.onnx", "--dim", "batch=4096,8192", "--show-suppressed"]);
    const commands = models.map(({ suppressions = [] }) => suppressions.map(({ fixCommand }) => fixCommand));
    expect(commands).toEqual([["--fix --dim batch=4096"], ["--fix --dim batch=8192"]]);
  });

  test("name no size that a model has no place for, and a note names that", async () => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
    bench.folder.write("fixed.onnx", bytesOf(headModel()));
    const { models } = await bench.jsonOf([".", "--dim", "batch=4096,8192"]);
    const commands = models.map(({ groups }) => groups.flatMap(({ fixCommand }) => fixCommand ?? []));
    expect(commands).toEqual([["--fix"], ["--fix --dim batch=4096"], ["--fix --dim batch=8192"]]);
    const noted = models.map(({ notices }) => notices.map(({ message }) => message).join("; "));
    expect(noted[0]).toContain('the model has no dimension named "batch": at its own sizes');
    expect(noted.slice(1).join()).not.toContain("no dimension");
  });

  test("of a file that is stored in half stand beside any half", async () => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
    const flags = ["--dim", "batch=4096", "--precision", "fp16,bf16"];
    const report = await bench.jsonOf(["head.onnx", "--select", "TC102", ...flags]);
    expect(commandsOf(report).map(([, command]) => command)).toEqual([
      "--fix --precision fp16 --dim batch=4096 --select TC102",
      "--fix --precision bf16 --dim batch=4096 --select TC102",
    ]);
    expect(report.models.flatMap(({ groups }) => groups.flatMap(({ left }) => left ?? []))).toEqual([]);
    await expectToRun(report);
  });

  test("of a half that flags name are given without it, which stores it, or store it where it is another half", async () => {
    bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch", elemType: 1 })));
    const sized = ["--dim", "batch=4096"];
    const said = " --dim batch=4096 --select TC102";
    const namedBy = async (...args: readonly string[]) => {
      const { models } = await bench.jsonOf(["head.onnx", "--select", "TC102", ...args]);
      return models.map(({ groups, account, notices }) => [
        groups.map(({ fixCommand }) => fixCommand),
        account.find(({ step }) => step === "safe")?.command ?? null,
        groups.flatMap(({ left }) => left ?? []).join(),
        notices.some(({ code }) => code === "fix-beside-precision"),
      ]);
    };
    const stored = (half: string) => {
      const command = `--fix --precision ${half}${said}`;
      return [[command], command, "", false];
    };
    const listed = await namedBy(...sized, "--precision", "fp16,tf32,bf16");
    expect(listed).toEqual([
      [[`--fix${said}`], `--fix${said}`, "", true],
      [[`--fix --precision tf32${said}`], `--fix --precision tf32${said}`, "", false],
      stored("bf16"),
    ]);
    // One flag is a list of one.
    expect(await namedBy(...sized, "--precision", "fp16")).toEqual([listed[0]]);
    expect(await namedBy(...sized, "--precision", "bf16")).toEqual([listed[2]]);
    await expectToRun(await bench.jsonOf(["head.onnx", ...sized, "--precision", "fp16,tf32"]));
    const { stdout } = await bench.tcLint(["head.onnx", "--precision", "bf16", ...sized]);
    expect(stdout).toContain("fixed by --fix --precision bf16 --dim batch=4096");
    // It stores half besides, which is nobody's to call safe.
    expect(stdout).not.toMatch(/--fix leaves|--fix saves|fixable with/);
    bench.folder.write("tc-lint.config.json", JSON.stringify({ precision: "bf16" }));
    expect(await namedBy(...sized)).toEqual([[[`--fix${said}`], `--fix${said}`, "", false]]);
    expect(await namedBy(...sized, "--precision", "fp16,bf16")).toEqual([
      stored("fp16"),
      [[`--fix${said}`], `--fix${said}`, "", true],
    ]);
    expect(await copied(["--precision", "bf16", ...sized])).toEqual([
      "tc-lint --fix --dim batch=4096 --gpu h200 --stack ort-cuda head.onnx",
    ]);
    const scenarios = [{ name: "half", precision: "bf16", dims: { batch: 4096 } }];
    bench.folder.write("tc-lint.config.json", JSON.stringify({ scenarios }));
    expect(await namedBy()).toEqual(
      [["--scenario half", "--select TC102"].join(" ")].map((flags) => [
        [`--fix ${flags}`],
        `--fix ${flags}`,
        "",
        false,
      ]),
    );
  });
});

/** What a report's sentences say to type: commands with flags behind them. */
function inProse(report: unknown): string[] {
  const found = new Set<string>();
  JSON.stringify(report, (key, value) => {
    if (typeof value === "string" && ["message", "left"].includes(key))
      for (const [command] of value.matchAll(
        /--(?:fix|diff)(?: --[a-z-]+(?: [^\s-]\S*)?)+(?= (?:makes|tells|is))/g,
      ))
        found.add(command.replace(/ (?:makes|tells|is)$/, ""));
    return value;
  });
  return [...found];
}

async function repairOf(path: string, flags: readonly string[]): Promise<FixEntry> {
  const { stdout } = await bench.tcLint([path, "--diff", ...flags, "-f", "json"]);
  return JSON.parse(stdout).fixes[0];
}

describe("commands in sentences", () => {
  eachModel([["tcn", "--gpu h100 --stack cudnn"] as const, ["tcn", "--stack ort-cuda --no-config"] as const])(
    "of lint's notices say the run's own flags, and have the figures that stand beside them: %s %s",
    async (name, flags) => {
      const { models } = await bench.jsonOf([zooModel(name), ...wordsOf(flags)]);
      const notice = models[0]?.notices.find(({ code }) => code === "as-stored")?.message ?? "";
      const commands = inProse(models);
      expect(commands.some((command) => command.startsWith("--diff"))).toBe(true);
      for (const command of commands) {
        expect(command).toContain(`--precision fp16 ${flags}`);
        const { account } = await repairOf(zooModel(name), wordsOf(command).slice(1));
        const { microseconds = 0 } = account?.find(({ step }) => step === "precision")?.saves ?? {};
        expect(notice).toContain(`cost ${duration(-microseconds)} `);
      }
    },
  );

  test("name the scenario that they are of", async () => {
    const scenarios = [
      { name: "here", gpu: "h100", stack: "cudnn" },
      { name: "there", stack: "ort-cuda" },
    ];
    bench.folder.write("tcn.onnx", readFileSync(zooModel("tcn")));
    bench.folder.write("tc-lint.config.json", JSON.stringify({ scenarios }));
    const { stdout } = await bench.tcLint(["tcn.onnx", "-f", "json"]);
    for (const [at, { name }] of scenarios.entries()) {
      const diffs = inProse(JSON.parse(stdout).models[at]).filter((command) => command.startsWith("--diff"));
      expect(diffs).toEqual([`--diff --precision fp16 --scenario ${name}`]);
    }
  });

  eachModel([["bert", ""] as const, ["crnn", " --layout nhwc"] as const])(
    "of a repair take what it leaves to half: %s%s",
    async (name, layout) => {
      const said = ["--stack", "cudnn", ...wordsOf(layout)];
      const commands = inProse((await repairOf(zooModel(name), said)).notes);
      for (const command of commands) expect(command).toBe(`--fix --precision fp16${layout} --stack cudnn`);
      if (layout === "") expect(commands).toHaveLength(1);
    },
  );
});

describe("commands of a repair's account", () => {
  test.each([
    ["tcn", "--precision fp16 --gpu h100 --stack cudnn"],
    ["tcn", "--precision fp16 --stack cudnn --min-saving 3%"],
    ["misaligned_cnn", "--precision fp16 --gpu l4 --ignore TC2"],
    ["misaligned_cnn", "--unsafe-fixes --stack cudnn --no-stack-guard"],
    ["misaligned_cnn", "--precision tf32 --gpu h100 --stack inductor --no-config"],
    ["efficientnet_b0", "--batch 8 --precision fp16 --gpu l4"],
  ])("say the run's own flags, and have the figures of their rows: %s %s", async (name, flags) => {
    const path = zooModel(name);
    const { account } = await repairOf(path, wordsOf(flags));
    const rows = account?.filter(({ command }) => command !== undefined) ?? [];
    expect(rows.length).toBeGreaterThan(0);
    for (const { command = "", step, microseconds } of rows) {
      const words = wordsOf(command).slice(1);
      const typed = (await repairOf(path, words)).account?.find((each) => each.step === step);
      expect(typed?.microseconds, command).toBe(microseconds);
    }
  });
});
