/** A report that nobody got is a failure, for every command; a reader that went away is none. */
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
beforeEach(() => {
  bench.folder.write("a.onnx", bytesOf(headModel()));
});

const full = "/dev/full";
const commands: readonly (readonly string[])[] = [
  ["--version"],
  ["--help"],
  ["lint", "--help"],
  ["a.onnx"],
  ["a.onnx", "-f", "json"],
  ["a.onnx", "-f", "sarif"],
  ["a.onnx", "-f", "github"],
  ["--print-config", "a.onnx"],
  ["explain"],
  ["gpus"],
  ["predict"],
];

describe.skipIf(!existsSync(full))("stdout on a full disk", () => {
  it.each(commands.map((args) => [args.join(" "), args]))(
    "tc-lint %s exits with 2 and says so",
    (_, args) => {
      const descriptor = openSync(full, "w");
      try {
        const { status, stderr } = spawnSync(process.execPath, [bench.script, ...args], {
          cwd: bench.folder.path,
          stdio: ["pipe", descriptor, "pipe"],
          input: "[]",
          encoding: "utf8",
        });
        expect(stderr).toMatch(/tc-lint: stdout cannot be written to \(ENOSPC\)/);
        expect(stderr).not.toMatch(/ at |bug in tc-lint/);
        expect(status).toBe(2);
      } finally {
        closeSync(descriptor);
      }
    },
  );
});

describe.skipIf(process.platform !== "linux")("a stdout that is closed", () => {
  const inShell = (command: string) =>
    spawnSync("bash", ["-c", `${command}; echo "exit code $?" >&2`], {
      cwd: bench.folder.path,
      input: "[]",
      encoding: "utf8",
    });

  it.each(commands.map((args) => [args.join(" ")]))("tc-lint %s exits with 2 and says so", (args) => {
    const { stderr } = inShell(`"${process.execPath}" "${bench.script}" ${args} >&-`);
    expect(stderr).toBe("tc-lint: stdout cannot be written to: it is closed\nexit code 2\n");
  });

  it("is none where the report goes elsewhere", () => {
    const { stderr } = inShell(
      `"${process.execPath}" "${bench.script}" a.onnx --exit-zero -o report.txt >&-`,
    );
    expect(stderr).toBe("exit code 0\n");
  });

  it("is told from one that is thrown away", () => {
    const { stderr } = inShell(`"${process.execPath}" "${bench.script}" gpus > /dev/null`);
    expect(stderr).toBe("exit code 0\n");
    const { status } = spawnSync(process.execPath, [bench.script, "gpus"], { stdio: "ignore" });
    expect(status).toBe(0);
    // What a shell was begun with by such a program, it hands on.
    const command = `"${process.execPath}" "${bench.script}" gpus; exit $?`;
    expect(spawnSync("bash", ["-c", command], { stdio: "ignore" }).status).toBe(0);
  });
});

describe("a reader that goes away", () => {
  it.each(["--help", "-f json a.onnx", "explain"])("%s stays quiet", (args) => {
    const command = `"${process.execPath}" "${bench.script}" ${args} | head -c 1 > /dev/null; echo \${PIPESTATUS[0]}`;
    const { stdout, stderr } = spawnSync("bash", ["-c", command], {
      cwd: bench.folder.path,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(["0", "1"]).toContain(stdout.trim());
  });
});
