/** @file What every object inherits is a name like any other in a model: nothing looks it up in a table. */
import { describe, expect, it } from "vitest";
import { model as build, type GraphBuilder } from "../../fixtures/builder.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const inherited = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"] as const;

/** Operators, domains, values, symbols, attributes and texts of that name. */
function named(name: string): Uint8Array {
  return build({ name: "m", domains: { [name]: 1 } }, (graph: GraphBuilder) => {
    graph.input("x", [name, 67]);
    const weight = graph.weight([67, 67], {
      name: `w ${name}`,
      values: new Array<number>(67 * 67).fill(0.1),
    });
    const product = graph.node("MatMul", ["x", weight], {}, { outputs: [name] });
    graph.node(name, [product], { [name]: 1, [`${name}s`]: [1, 2] }, { outputs: ["unknown"] });
    graph.node(name, [product], {}, { domain: name, outputs: ["elsewhere"] });
    graph.node("Relu", [product], { [name]: name }, { outputs: ["y"] });
    graph.output("y");
    graph.output("unknown");
  });
}

const commands = [
  ["--table"],
  ["-f", "json"],
  ["--diff"],
  ["--diff", "--precision", "fp16"],
  ["bench", "--plan"],
  ["bench", "--plan", "--no-fix", "--precision", "fp32"],
] as const;

describe("inherited names", () => {
  it.each(commands.map((args) => [args.join(" "), args] as const))(
    "tc-lint %s says what it says of any other name",
    async (_, args) => {
      const run = async (name: string) => {
        bench.folder.write("m.onnx", named(name));
        const { exitCode, stdout, stderr } = await bench.tcLint([...args, "m.onnx"]);
        // Columns are as wide as names; ONNX Runtime says what it says.
        const neutral = (text: string) =>
          text
            .replaceAll(new RegExp(name, "gi"), "NAME")
            .replaceAll(/ranges of values: .*/g, "")
            .replaceAll(/[ ─]+/g, " ");
        return { exitCode, stdout: neutral(stdout), stderr: neutral(stderr) };
      };
      const plain = await run("zzzordinary");
      expect(plain.stderr).not.toContain("bug in tc-lint");
      for (const name of inherited) expect(await run(name)).toEqual(plain);
    },
  );
});
