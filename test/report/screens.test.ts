/** A terminal of 80, 100 and 120 columns: what is said first of one model fits it, and every command stands whole on a line. */
import { describe, expect, test } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { findStack, type StackId, stackIds } from "../../src/hardware/stacks.ts";
import { duration } from "../../src/ir/format.ts";
import type { FindingGroup, ModelReport } from "../../src/lint/result.ts";
import type { RenderOptions } from "../../src/report/render.ts";
import { layoutsOf } from "../../src/report/screen.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import textWidth from "../../src/report/text-width.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { options } from "./sample.ts";

const widths = [80, 100, 120];
const screenRows = 25;
/** Of several kinds, on every stack; the others on the default. */
const looked = [
  "resnet50",
  "llama_dynamo",
  "sd_unet",
  "siglip_so400m_d2",
  "gpt2_dynamo",
  "yolo",
  "convnext_tiny",
  "vit_tiny_dynamo",
  "llama",
  "swin_tiny_dynamo",
];

/** As the command line has it, without a configuration. */
async function lintedOn(name: string, stack: StackId): Promise<ModelReport> {
  return { ...(await lint(zooModel(name), { stack })), configFiles: [] };
}

function shown(model: ModelReport, columns: number | undefined, verbose = false): string[] {
  const describeTarget: RenderOptions["describeTarget"] = ({ gpu, stack }) =>
    `${findGpu(gpu)?.name ?? gpu} with ${findStack(stack)?.name ?? stack}`;
  const report = reportOf([model], "0.1.0");
  return renderText(report, { ...options, describeTarget, columns, verbose, stats: false })
    .trimEnd()
    .split("\n");
}

/** As a terminal draws lines: what is longer than it is wide goes on in the next row. */
const rowsDrawn = (lines: readonly string[], columns: number) =>
  lines.reduce((rows, line) => rows + Math.max(1, Math.ceil(textWidth(line) / columns)), 0);

/** All that a report may tell somebody to type. */
function commandsOf({ account, groups }: ModelReport): Set<string> {
  const named = [
    ...account.flatMap(({ command, castsIn, first }) => [command, castsIn, first?.command]),
    ...account.flatMap(({ setting }) => (setting === undefined ? [] : `--stack ${setting.stack}`)),
    ...groups.map(({ fixCommand }) => fixCommand ?? undefined),
  ];
  return new Set([...named.flatMap((command) => command ?? []), "--dim batch=N", "tc-lint explain"]);
}

const timesIn = (text: string, part: string) => text.split(part).length - 1;

function expectWhole(model: ModelReport, columns: number): void {
  for (const isVerbose of [false, true]) {
    const lines = shown(model, columns, isVerbose);
    const joined = lines.map((line) => line.trim()).join(" ");
    for (const command of commandsOf(model)) {
      const onLines = lines.reduce((times, line) => times + timesIn(line, command), 0);
      expect(onLines, `${command} at ${columns} columns:\n${lines.join("\n")}`).toBe(
        timesIn(joined, command),
      );
    }
  }
}

function expectFits(model: ModelReport): void {
  for (const columns of widths) {
    const lines = shown(model, columns);
    expect(rowsDrawn(lines, columns), lines.join("\n")).toBeLessThanOrEqual(screenRows);
    expectWhole(model, columns);
    // What is worst is there, with what it saves.
    const [{ code, saves } = { code: "", saves: null }] = model.groups;
    const said = saves === null ? "" : duration(saves.microseconds);
    if (code !== "") expect(lines.join(" ")).toMatch(new RegExp(` ${code} .*${said}`));
    expectRunnable(model, lines);
    // So is an error, if there is one: the run ends with 1 for it.
    if (model.groups.some(({ severity }) => severity === "error"))
      expect(
        lines.filter((line) => line.startsWith("  error ")),
        lines.join("\n"),
      ).not.toEqual([]);
    // Whom the last line sends elsewhere has seen what it is about.
    const [, explained] = /^tc-lint explain (\S+)/.exec(lines.at(-1) ?? "") ?? [];
    if (explained !== undefined) expect(lines.slice(0, -1).join(" ")).toContain(` ${explained} `);
  }
}

/** What only an author can mend takes no place of what somebody can run, or of what is worse. */
function expectRunnable({ groups }: ModelReport, lines: readonly string[]): void {
  const count = lines.filter((line) => /^ {2}(error|warn|info) +[A-Z]+\d+ /.test(line)).length;
  const [seen, hidden] = [groups.slice(0, count), groups.slice(count)];
  const canRun = ({ fixCommand, setting }: FindingGroup) => fixCommand !== null || setting !== undefined;
  const saved = ({ saves }: FindingGroup) => saves?.microseconds ?? 0;
  const most = Math.max(0, ...groups.filter(canRun).map(saved));
  if (most > 0) expect(Math.max(0, ...seen.filter(canRun).map(saved)), lines.join("\n")).toBe(most);
  const isAuthors = (group: FindingGroup) => group.severity === "info" && !canRun(group);
  if (seen.some(isAuthors)) expect(hidden.filter((group) => !isAuthors(group))).toEqual([]);
}

test("the gap above the notes yields before that above the account", () => {
  const view = { above: ["model"], account: ["as exported"], entries: [["error"]], notes: ["note"] };
  const apart = ["model", "", "as exported"];
  expect([...layoutsOf([() => view])].map(({ head, notes }) => [head, notes])).toEqual([
    [apart, ["", "note"]],
    [apart, ["note"]],
    [["model", "as exported"], ["note"]],
  ]);
});

describe("on the default stack", () => {
  eachModel(zooNames)("%s fits a terminal", async (name) => expectFits(await lintedOn(name, "ort-cuda")));
});

describe.each(stackIds)("on %s", (stack) => {
  eachModel(looked)("%s fits a terminal", async (name) => expectFits(await lintedOn(name, stack)));
});
