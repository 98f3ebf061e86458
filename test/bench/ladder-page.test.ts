import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ladderPage } from "../../bench/ladder-page.ts";
import { type LadderReport, ladderNames } from "../../src/gpu/ladder/report.ts";
import { renderLadderSvg } from "../../src/report/ladder-svg.ts";
import { renderLadderText } from "../../src/report/ladder-text.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
/** Made from formulas, measured nowhere. */
const synthetic: LadderReport = JSON.parse(read("fixtures/ladder/run.json"));
const committed = "bench/results/ladder.json";

function broken(report: LadderReport): LadderReport {
  const [first, ...others] = report.works;
  if (first === undefined) throw new Error("no work");
  const rungs = first.rungs.map((rung) => ({ ...rung, isRight: false }));
  return { ...report, works: [{ ...first, rungs }, ...others] };
}

describe("a ladder's page", () => {
  const page = ladderPage(synthetic, "a run");

  it("has a section, a plot and the sentences of each ladder, and a table of each work", () => {
    for (const name of ladderNames)
      expect(page).toContain(`## ${name}\n\n![${name}: speed of each rung](ladder-${name}.svg)`);
    for (const { work, rungs } of synthetic.works) {
      expect(page).toContain(`### ${work}\n\n| rung |`);
      for (const { name } of rungs) expect(page).toContain(`\n| ${name} |`);
    }
    expect(page).toContain("3. **Winograd F(2, 3)**: What Winograd F(2, 3) adds.");
    expect(page).toContain("| planner's kernel | 20 µs | 200× | 370 | 25.8 MB | 50 % |");
    expect(page).toContain("| PyTorch (cuDNN) | 22 µs |  | 336 |  | 45 % |");
  });

  it("says by how much Winograd wins or loses", () => {
    expect(page).toContain("| FP16 N 32, C 128, 28 × 28, K 128, 3 × 3 | 30 µs | 0.667× | 0.633× | 4.0e-4 |");
  });

  it("is made of no run that is wrong or not whole", () => {
    expect(() => ladderPage(broken(synthetic), "run.json")).toThrow("run.json: a rung is wrong");
    const works = synthetic.works.filter(({ ladder }) => ladder !== "conv");
    expect(() => ladderPage({ ...synthetic, works }, "run.json")).toThrow("run.json: no ladder conv");
  });

  it.skipIf(!existsSync(new URL(committed, root)))("is what the committed run makes of it", () => {
    const run: LadderReport = JSON.parse(read(committed));
    expect(read("docs/ladder.md")).toBe(ladderPage(run, committed));
    for (const name of ladderNames) {
      const works = run.works.filter(({ ladder }) => ladder === name);
      expect(read(`docs/ladder-${name}.svg`)).toBe(renderLadderSvg({ ...run, works }));
    }
  });
});

describe("a ladder's plot", () => {
  it("has a bar a rung, as long as its speed, and what stands beside them", () => {
    const svg = renderLadderSvg(synthetic);
    const bars = [...svg.matchAll(/<rect x="0" y="([\d.]+)" width="([\d.]+)"/g)].map(([, , width]) =>
      Number(width),
    );
    const expected = synthetic.works.map(({ rungs, bounds }) => rungs.length + bounds.length + 1);
    expect(bars).toHaveLength(expected.reduce((a, b) => a + b));
    // The first four are rungs of one work, each faster than the one before.
    expect(bars.slice(0, 4)).toEqual(bars.slice(0, 4).sort((a, b) => a - b));
    expect(svg).toContain(">4 planner&apos;s kernel<");
    expect(svg).toContain(">roofline 740<");
    expect(svg).toContain(">296 at most<");
    expect(svg.match(/>GB\/s</g)).toHaveLength(1);
  });

  it("shows a rung that is wrong as such, and none that was not measured", () => {
    const svg = renderLadderSvg(broken(synthetic));
    expect(svg.match(/, wrong</g)).toHaveLength(synthetic.works[0]?.rungs.length ?? 0);
    const alone = synthetic.works.map((work) => ({
      ...work,
      peer: { ...work.peer, microseconds: undefined },
    }));
    expect(renderLadderSvg({ ...synthetic, works: alone })).not.toContain("cuDNN");
  });
});

describe("a ladder's text", () => {
  it("has a line a rung, with what it takes, and its sentence", () => {
    const text = renderLadderText(synthetic, 0);
    expect(text).toMatch(/^conv: FP16 N 32, C 64, 56 × 56, K 64, 3 × 3\n/);
    expect(text).toMatch(
      /4 planner's kernel +20 µs +200× +370 +1290 +25\.8 MB +50 % +4\.0e-4 +ladder_planner/,
    );
    expect(text).toContain("FFT: no faster than 25 µs. A synthetic bound.");
    expect(text).toContain("PyTorch (cuDNN): 22 µs, 1.1× of the last rung's.");
    expect(renderLadderText(broken(synthetic), 0)).toContain("WRONG: 4.0e-4");
  });
});
