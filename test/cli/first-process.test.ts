/** @file As the first process of a container, to which the system brings no signal that nobody listens to. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

/** A namespace of processes, as a container has one; whoever is not root has a namespace of users around it. */
const unshare = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"];
const canUnshare = spawnSync("unshare", [...unshare, "true"]).status === 0;
if (!canUnshare) console.warn("skipped: no namespaces of processes here, so no first process");

async function childOf(pid: number | undefined): Promise<number> {
  for (;;) {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    const isNode =
      child !== undefined &&
      child !== "" &&
      readFileSync(`/proc/${child}/cmdline`, "utf8").includes("tc-lint");
    if (isNode) return Number(child);
    await new Promise((wake) => setTimeout(wake, 20));
  }
}

function isThere(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

describe.skipIf(!canUnshare)("the first process", () => {
  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)("ends by %s", async (signal, code) => {
    for (let index = 0; index < 1000; index++) bench.folder.write(`${index}.onnx`, bytesOf(headModel()));
    const args = [...unshare, process.execPath, bench.script, ".", "-j", "1"];
    const child = spawn("unshare", args, { cwd: bench.folder.path, stdio: "ignore" });
    const ended = new Promise<number | null>((resolve) => child.once("exit", (exit) => resolve(exit)));
    const first = await childOf(child.pid);
    // The first process of a namespace loses what comes before it listens, and a busy machine takes a while to start Node.
    const again = setInterval(() => isThere(first) && process.kill(first, signal), 500);
    void ended.then(() => clearInterval(again));
    expect(await ended).toBe(code);
  });
});
