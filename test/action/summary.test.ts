/** The summary of a step: a comparison and a report as large as they get are one that GitHub takes, and neither pushes the other out. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { addSummary } from "../../src/action/protocol.ts";
import { compareReportOf } from "../../src/compare/summary.ts";
import { compare } from "../../src/index.ts";
import { renderCompareMarkdown } from "../../src/report/compare-markdown.ts";
import { renderMarkdown } from "../../src/report/markdown.ts";
import { reportOf } from "../../src/report/summary.ts";
import { network } from "../compare/models.ts";
import { finding, modelReport, options } from "../report/sample.ts";

const mebibyte = 1024 * 1024;

test("of more models than both have room for, the models of both are shown", async () => {
  const moved = await compare(network(), network({ widths: [256, 250, 512] }), { gpu: "h200" });
  const findings = Array.from({ length: 100 }, (_, index) =>
    finding({ node: `/backbone/stage.${index}/conv`, fingerprint: String(index) }),
  );
  const paths = Array.from({ length: 200 }, (_, index) => `models/team é/net-${index}.onnx`);
  const compared = compareReportOf(
    { base: null, models: paths.map((each) => ({ ...moved, path: each })), unchanged: [] },
    "1.2.3",
  );
  const linted = reportOf(
    paths.map((each) => modelReport({ path: each, findings })),
    "1.2.3",
  );
  const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-summary-"));
  try {
    const file = path.join(folder, "summary.md");
    addSummary({ GITHUB_STEP_SUMMARY: file }, [
      `# Against the base\n\n${renderCompareMarkdown(compared, { ...options, color: 0, verbose: false })}`,
      renderMarkdown(linted, options),
    ]);
    const text = readFileSync(file, "utf8");
    expect(text.length).toBeLessThan(mebibyte);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(mebibyte);
    expect(Buffer.byteLength(text)).toBeGreaterThan(0.8 * mebibyte);
    expect(text).toMatch(/^\*\*.*200 slower/m);
    expect(text.match(/^## `/gm)?.length).toBeGreaterThan(20);
    expect(text).toMatch(/\d+ models are left out/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
