/**
 * @file Writes docs/ladder.md and its plots from a run of the ladders on a GPU, which is committed beside it:
 *
 *     tc-lint bench --ladder conv,resample,attention --torch -f json -o bench/results/ladder.json
 *     node scripts/run.mjs bench/ladder-docs.ts
 */
import { readFileSync, writeFileSync } from "node:fs";
import { ladderNames } from "../src/gpu/ladder/report.ts";
import { renderLadderSvg } from "../src/report/ladder-svg.ts";
import { type KeptLadders, ladderPage } from "./ladder-page.ts";

const source = "bench/results/ladder.json";
const report: KeptLadders = JSON.parse(readFileSync(source, "utf8"));
writeFileSync("docs/ladder.md", ladderPage(report, source));
for (const name of ladderNames) {
  const works = report.works.filter(({ ladder }) => ladder === name);
  writeFileSync(`docs/ladder-${name}.svg`, renderLadderSvg({ ...report, works }));
}
