/** @file `-f html` from the command line: the page has its script, and tells of repairs. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { writeInline } from "../fix/models.ts";
import { parsePage } from "../report/html/parse.ts";
import { plain } from "./fixing.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const pageAt = (name: string) => parsePage(readFileSync(path.join(bench.folder.path, name), "utf8"));

it("writes one file, beside other formats, that has layers, the graph around findings and the script", async () => {
  writeInline(bench.folder.path);
  const { exitCode, stderr } = await bench.tcLint([
    "model.onnx",
    "--exit-zero",
    "-f",
    "html=report.html",
    "-f",
    "json=report.json",
  ]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  const page = pageAt("report.html");
  const [model] = JSON.parse(readFileSync(path.join(bench.folder.path, "report.json"), "utf8")).models;
  expect(page.scripts).toHaveLength(2);
  expect(page.scripts[1]?.length).toBeGreaterThan(1000);
  expect(page.scripts[1]).not.toMatch(/<\/script|<!--/i);
  expect(JSON.parse(page.scripts[0] ?? "").rows).toHaveLength(model.layers.length);
  expect(page.tags.filter(({ attributes }) => attributes.get("class") === "graph")).toHaveLength(
    model.surroundings.length,
  );
  expect(page.text).toContain("Roofline");
});

it("shows what a repair would change, and after one what is found then", async () => {
  writeInline(bench.folder.path);
  const diff = await bench.tcLint(["--diff", "model.onnx", ...plain, "-f", "html=diff.html"]);
  expect([diff.exitCode, diff.stderr]).toEqual([1, ""]);
  expect(pageAt("diff.html").text).toContain("float32[32,67,3,3] → float32[32,72,3,3]");
  expect(pageAt("diff.html").text).toContain("Not written");
  const args = ["--fix-output", "fixed.onnx", "--no-verify", "model.onnx", ...plain, "-f", "html=fix.html"];
  const fix = await bench.tcLint(args);
  expect(fix.stderr).toBe("");
  const { text } = pageAt("fix.html");
  expect(text).toContain("float32[32,67,3,3] → float32[32,72,3,3]");
  expect(text).toContain("Layers by time");
});

it("goes to stdout, too, and only text of the report goes there", async () => {
  writeInline(bench.folder.path);
  const { stdout, stderr } = await bench.tcLint(["model.onnx", "--exit-zero", "-f", "html"]);
  expect(stderr).toBe("");
  expect(stdout.startsWith("<!doctype html>")).toBe(true);
  parsePage(stdout);
});

it("is loaded by those who ask for it alone", () => {
  const folder = path.join(path.dirname(bench.script), "..", "chunks");
  const chunks = readdirSync(folder).map((name) => ({
    name,
    text: readFileSync(path.join(folder, name), "utf8"),
  }));
  const [layout, ...others] = chunks.filter(({ text }) => text.includes("network-simplex"));
  expect(others).toEqual([]);
  const name = layout?.name ?? "";
  const readers = chunks.filter(({ text }) => text.includes(name));
  expect(readers.length).toBeGreaterThan(0);
  for (const { text } of readers) expect(text).not.toMatch(new RegExp(`(from|import)\\s*"\\./${name}"`));
});

it("changes no other report of its run", async () => {
  writeInline(bench.folder.path);
  const args = ["model.onnx", "--exit-zero", "--no-color"];
  for (const format of ["text", "markdown"]) {
    const without = await bench.tcLint([...args, "-f", format]);
    expect(await bench.tcLint([...args, "-f", format, "-f", "html=x.html"])).toEqual(without);
    const table = await bench.tcLint([...args, "-f", format, "--table"]);
    expect(await bench.tcLint([...args, "-f", format, "--table", "-f", "html=x.html"])).toEqual(table);
    expect(table.stdout).not.toBe(without.stdout);
  }
});
