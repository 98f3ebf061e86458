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

/** Misaligned products with evil names, an operator nobody knows, and one of a very long name. */
function hostile(): Uint8Array {
  return model({ name: "hostile", opset: 17, metadata: { [evil.escape]: evil.command } }, (graph) => {
    let h = graph.input(`in ${evil.bidi}`, [64, 67]);
    for (const [index, name] of Object.values(evil).entries()) h = product(graph, h, name, index);
    graph.node("Custom", [h], {}, { domain: evil.escape, name: evil.command, outputs: [`c ${evil.escape}`] });
    graph.node("x".repeat(1 << 20), [h], {}, { domain: "far", outputs: [`d ${evil.command}`] });
    graph.node("Relu", [h], {}, { name: evil.leading, outputs: [`out ${evil.command}`] });
    graph.output(`out ${evil.command}`);
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

  it("are cut where they are long, in the message of an error too", async () => {
    bench.folder.write("long.onnx", hostile().slice(0, -1));
    const { exitCode, stderr } = await bench.tcLint(["long.onnx", "--dim", `${"y".repeat(100_000)}=3`]);
    expect(exitCode).toBe(2);
    expect(stderr.length).toBeLessThan(5000);
  });
});
