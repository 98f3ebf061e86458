/** Names in a model say anything they like. None of it reaches a terminal, a workflow or a spreadsheet as more than text. */
import { beforeEach, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

/** Colour, the window's title, a new line with a workflow command, text that runs backwards, a formula, a link. */
const evil = {
  escape: "\u001b[31mred\u001b]0;title\u0007",
  command: "x\n::error file=a::boo\n##[error]boo",
  bidi: "a\u202etxt.exe",
  formula: '=HYPERLINK("http://x","y")',
  link: "[click](http://evil.example)",
  leading: "::set-output name=a::b",
} as const;

/** Misaligned products with evil names, an operator nobody knows, and one of a very long name; `ending` follows each name. */
function hostile(ending = ""): Uint8Array {
  return model({ name: "hostile", opset: 17, metadata: { [evil.escape]: evil.command } }, (graph) => {
    let h = graph.input(`in ${evil.bidi}`, [64, 67]);
    for (const [index, name] of Object.values(evil).entries()) h = product(graph, h, name + ending, index);
    graph.node(
      "Custom",
      [h],
      {},
      { domain: evil.escape, name: evil.command + ending, outputs: [`c ${evil.escape}`] },
    );
    graph.node("x".repeat(1 << 20), [h], {}, { domain: "far", outputs: [`d ${evil.command}`] });
    graph.node("Relu", [h], {}, { name: evil.leading, outputs: [`out ${evil.command}`] });
    graph.output(`out ${evil.command}`);
  });
}

/** What the planner knows, of names and a size that end so. */
function known(ending: string): Uint8Array {
  return model({ name: "known", opset: 17 }, (graph) => {
    const input = graph.input("in", [`rows${ending}`, 67]);
    graph.node("Relu", [product(graph, input, `first${ending}`, 0)], {}, { outputs: [`out${ending}`] });
    graph.output(`out${ending}`);
  });
}

function product(graph: GraphBuilder, h: string, name: string, index: number): string {
  const columns = 67 + (index % 2) * 62;
  const rows = 67 + ((index + 1) % 2) * 62;
  const width = index === 0 ? 67 : rows;
  const values = new Array<number>(width * columns).fill(0.01);
  const weight = graph.weight([width, columns], { name: `w ${name}`, values });
  return graph.node("MatMul", [h, weight], {}, { name, outputs: [`v${index} ${name}`] });
}

beforeEach(() => {
  bench.folder.write("hostile.onnx", hostile());
});

const raw = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const commands = [
  ["hostile.onnx", "--min-saving", "0"],
  ["hostile.onnx", "--min-saving", "0", "--table", "--stats"],
  ["hostile.onnx", "--min-saving", "0", "-f", "markdown"],
  ["hostile.onnx", "-f", "csv"],
  ["hostile.onnx", "--min-saving", "0", "-f", "gitlab"],
  ["hostile.onnx", "--min-saving", "0", "-f", "rdjson"],
  ["hostile.onnx", "--min-saving", "0", "-f", "junit"],
  ["hostile.onnx", "--min-saving", "0", "-f", "checkstyle"],
  ["--diff", "hostile.onnx"],
  ["--fix-output", "fixed.onnx", "--no-verify", "hostile.onnx"],
  ["--fix-output", "half.onnx", "--unsafe-fixes", "--no-verify", "hostile.onnx"],
  ["verify", "hostile.onnx", "hostile.onnx"],
  ["bench", "--plan", "hostile.onnx"],
  ["bench", "--plan", "--no-fix", "--precision", "fp32", "hostile.onnx"],
] as const;

describe("names that attack", () => {
  it.each(commands.map((args) => [args.join(" "), args] as const))("tc-lint %s", async (_, args) => {
    const { stdout, stderr } = await bench.tcLint(args);
    for (const line of [...stdout.split(/\r?\n/), ...stderr.split("\n")]) {
      expect(line).not.toMatch(raw);
      expect(line.trimStart()).not.toMatch(/^(::|##\[)/);
      expect(line.length).toBeLessThan(10_000);
    }
    expect(stderr).not.toContain("bug in tc-lint");
    expect(stdout.length + stderr.length).toBeGreaterThan(100);
  });

  it("are no commands among GitHub's annotations either", async () => {
    const { stdout } = await bench.tcLint(["hostile.onnx", "--min-saving", "0", "-f", "github"]);
    const lines = stdout.trimEnd().split("\n");
    for (const line of lines) expect(line).toMatch(/^::(error|warning|notice) [^:]*::/);
    for (const line of lines) expect(line).not.toMatch(raw);
  });

  it("are no formulas in a table", async () => {
    const { stdout } = await bench.tcLint(["hostile.onnx", "-f", "csv"]);
    expect(stdout).toContain("HYPERLINK");
    expect(stdout).not.toMatch(/(^|,|")=/m);
  });

  it("are no links in SARIF's messages", async () => {
    const { stdout } = await bench.tcLint(["hostile.onnx", "--min-saving", "0", "-f", "sarif"]);
    const { runs } = JSON.parse(stdout) as { runs: { results: { message: { text: string } }[] }[] };
    const texts = (runs[0]?.results ?? []).map(({ message }) => message.text);
    expect(texts.some((text) => text.includes("click"))).toBe(true);
    for (const text of texts) {
      expect(text).not.toMatch(raw);
      expect(text).not.toMatch(/(?<!\\)\[click/);
    }
  });

  const forPrograms = [
    ["hostile.onnx", "--min-saving", "0", "--table", "-f", "json"],
    ["hostile.onnx", "--min-saving", "0", "-f", "sarif"],
    ["--fix-output", "fixed.onnx", "--no-verify", "hostile.onnx", "-f", "json"],
    ["--fix-only", "--no-verify", "hostile.onnx", "-f", "json"],
    ["verify", "known.onnx", "known.onnx", "-f", "json"],
    ["print-config", "hostile.onnx"],
    ["bench", "--plan", "--no-fix", "known.onnx", "-f", "json"],
  ] as const;
  it.each(forPrograms.map((args) => [args.join(" "), args] as const))(
    "are cut by tc-lint %s",
    async (_, args) => {
      bench.folder.write("hostile.onnx", hostile("n".repeat(1 << 20)));
      bench.folder.write("known.onnx", known("n".repeat(1 << 20)));
      const { stdout } = await bench.tcLint(args);
      expect(() => JSON.parse(stdout)).not.toThrow();
      for (const line of stdout.split("\n")) {
        expect(line).not.toMatch(raw);
        expect(line.length).toBeLessThan(40_000);
      }
    },
  );

  it("that are long keep the fingerprints that they had", async () => {
    bench.folder.write("hostile.onnx", hostile("n".repeat(100_000)));
    const { models } = await bench.jsonOf(["hostile.onnx", "--min-saving", "0"]);
    expect(models).toHaveLength(1);
    const findings = models.flatMap((each) => each.findings);
    const long = findings.filter(({ node }) => node.includes("…"));
    expect(long.length).toBeGreaterThan(1);
    expect(new Set(long.map(({ fingerprint }) => fingerprint)).size).toBe(long.length);
  });

  it("are cut where they are long, in the message of an error too", async () => {
    bench.folder.write("long.onnx", hostile().slice(0, -1));
    const { exitCode, stderr } = await bench.tcLint(["long.onnx", "--dim", `${"y".repeat(100_000)}=3`]);
    expect(exitCode).toBe(2);
    expect(stderr.length).toBeLessThan(5000);
  });
});
