import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { contentsOf, convolutions, writeInline } from "../fix/models.ts";
import { floats, info, node, type types } from "../onnx/build.ts";
import { plain } from "./fixing.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

const hasScript = spawnSync("script", ["--version"]).status === 0;
if (!hasScript) console.warn("skipped: no `script` here, so no terminal to show progress on");

it.skipIf(!hasScript)("progress is shown on a terminal after a second, and erased", () => {
  writeInline(bench.folder.path, slow(60));
  const command = [process.execPath, bench.script, "--fix-only", "model.onnx", ...plain].join(" ");
  const { stdout } = spawnSync("script", ["-qec", command, "/dev/null"], {
    cwd: bench.folder.path,
    encoding: "utf8",
  });
  const erase = "\r\u001b[2K";
  const lines = stdout.split(erase);
  // A busy machine is still at an earlier phase after a second.
  expect(lines.slice(1, -1)).toContainEqual(expect.stringMatching(/^model\.onnx: comparing the /));
  expect(lines.at(-1)).toMatch(/^model\.onnx\r\n {2}predicted/);
});

it.skipIf(!hasScript)("progress is erased where a signal ends the run", async () => {
  const file = writeInline(bench.folder.path, slow(400));
  const idFile = join(bench.folder.path, "process-id");
  const command = [process.execPath, bench.script, "--fix-only", file, ...plain].join(" ");
  const child = spawn("script", ["-qec", `echo $$ > ${idFile}; exec ${command}`, "/dev/null"]);
  let shown = "";
  const erase = "\r\u001b[2K";
  // Ended once it has said what it does, however long a busy machine takes to say it.
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const before = shown;
    shown += text;
    if (!before.includes("comparing the ") && shown.includes("comparing the ")) {
      process.kill(Number(readFileSync(idFile, "utf8")), "SIGTERM");
    }
  });
  await once(child, "close");
  expect(shown).toContain(`${erase}${file}: comparing the `);
  expect(shown.endsWith(erase)).toBe(true);
});

describe("an interrupted fix", () => {
  it("while models are compared removes what it staged, and ends with 130", async () => {
    writeInline(bench.folder.path, slow(400));
    const before = contentsOf(bench.folder.path);
    const staged = () => readdirSync(bench.folder.path).some((name) => name.endsWith(".tmp"));
    const child = spawn(process.execPath, [bench.script, "--fix", "model.onnx", ...plain], {
      cwd: bench.folder.path,
      stdio: "ignore",
    });
    const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
    let running = true;
    void ended.then(() => {
      running = false;
    });
    // The lock says that writing began, the temporary model that it is nearly done.
    while (running && !staged()) await new Promise((wake) => setTimeout(wake, 5));
    expect(running).toBe(true);
    await new Promise((wake) => setTimeout(wake, 300));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(contentsOf(bench.folder.path)).toEqual(before);
  });

  it("at any moment leaves the old model or the new one, and the next run clears up", async () => {
    const file = writeInline(bench.folder.path);
    const original = readFileSync(file);
    await bench.tcLint(["--fix-only", "--no-verify", "model.onnx", ...plain]);
    const fixed = readFileSync(file);
    for (const milliseconds of [150, 250, 350, 450, 550, 700]) {
      writeFileSync(file, original);
      await bench.tcLint(["--fix-only", "--no-verify", "model.onnx", ...plain], {
        interruptAfterMilliseconds: milliseconds,
      });
      const now = readFileSync(file);
      expect(now.equals(original) || now.equals(fixed)).toBe(true);
    }
    await bench.tcLint(["--fix-only", "--no-verify", "model.onnx", ...plain]);
    expect(readFileSync(file).equals(fixed)).toBe(true);
    expect(readdirSync(bench.folder.path)).toEqual(["model.onnx"]);
  });
});

/** Convolutions, and a chain of products that takes a while to run. */
function slow(length: number): types.IGraphProto {
  const graph = convolutions();
  const ones = new Array<number>(512 * 512).fill(1 / 512);
  const products = Array.from({ length }, (_, index) => {
    const from = index === 0 ? "m" : `m${index - 1}`;
    return node("MatMul", [from, "big"], [index === length - 1 ? "z" : `m${index}`]);
  });
  return {
    node: [...(graph.node ?? []), ...products],
    input: [...(graph.input ?? []), info("m", [512, 512])],
    output: [...(graph.output ?? []), info("z", [512, 512])],
    initializer: [...(graph.initializer ?? []), floats("big", [512, 512], ones)],
  };
}
