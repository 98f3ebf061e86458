import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { duration, durationRange } from "../../../src/ir/format.ts";
import type { LintReport } from "../../../src/lint/result.ts";
import { accountCells } from "../../../src/report/account-text.ts";
import { unpackLayers } from "../../../src/report/html/layer-data.ts";
import { renderFixHtml } from "../../../src/report/html/page.ts";
import { renderJson } from "../../../src/report/json.ts";
import { savedText } from "../../../src/report/share.ts";
import { errorsOnly, reportOf } from "../../../src/report/summary.ts";
import { zooModel } from "../../zoo.ts";
import { hostile, modelReport, models, options } from "../sample.ts";
import { attacks, hostileModel } from "./hostile.ts";
import { pageOf, reported } from "./pages.ts";
import { type Page, parsePage } from "./parse.ts";

/** What pages load: nothing. */
const loading = new Set([
  "link",
  "img",
  "iframe",
  "object",
  "embed",
  "base",
  "form",
  "video",
  "audio",
  "source",
]);
const loadingAttributes = ["src", "srcset", "data", "action", "formaction", "background", "poster"];

function checkSafe({ tags }: Page): void {
  for (const { name, attributes } of tags) {
    expect(loading.has(name)).toBe(false);
    for (const attribute of attributes.keys()) {
      expect(attribute).not.toMatch(/^on/);
      expect(loadingAttributes).not.toContain(attribute);
    }
    const address = attributes.get("href");
    if (address !== undefined) expect(address).toMatch(/^(#[\w-]+|https:\/\/[^"]+)$/);
  }
}

function balanced({ tags }: Page): void {
  const void_ = new Set(["meta", "input", "br", "rect", "path", "circle"]);
  const open: string[] = [];
  for (const { name, isEnd } of tags) {
    if (isEnd) expect(open.pop()).toBe(name);
    else if (!void_.has(name) && name !== "script" && name !== "style") open.push(name);
  }
  expect(open).toEqual([]);
}

/** Failing tests print these, not a page. */
function missing(wanted: readonly string[], { text }: Page): string[] {
  return wanted.filter((each) => !text.includes(each));
}

describe("a page of models", () => {
  let report: LintReport;
  let page: Page;
  let text: string;
  beforeAll(async () => {
    const paths = ["misaligned_cnn", "seg_unet", "vit_tiny"].map((name) => zooModel(name));
    report = await reported(paths, { verbose: true, minSaving: 0 });
    text = pageOf(report, { script: "1;" });
    page = parsePage(text);
  });

  it("is one file that loads nothing, and runs its own script alone", () => {
    checkSafe(page);
    balanced(page);
    const policy = page.tags.find(
      ({ attributes }) => attributes.get("http-equiv") === "Content-Security-Policy",
    );
    const hash = createHash("sha256").update("1;").digest("base64");
    expect(policy?.attributes.get("content")).toBe(
      `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`,
    );
    expect(page.scripts.at(-1)).toBe("1;");
  });

  it("has names of its own for each part", () => {
    const ids = page.tags.flatMap(({ attributes }) => attributes.get("id") ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    const links = page.tags
      .flatMap(({ attributes }) => attributes.get("href") ?? [])
      .filter((href) => href.startsWith("#"));
    expect(links.filter((link) => !ids.includes(link.slice(1)))).toEqual([]);
  });

  it("has the figures of the report: accounts, findings, predictions", () => {
    const wanted = report.models.flatMap(({ predicted, account, groups, findings }) => [
      duration(predicted.microseconds),
      durationRange(predicted.low, predicted.high),
      ...account.slice(1).flatMap((step) => accountCells(step, account)),
      ...groups.flatMap(({ message, saves }) => [message, saves === null ? "" : savedText(saves)]),
      ...findings.flatMap(({ node, source }) => [node, source === null ? "" : `:${source.line}`]),
    ]);
    expect(wanted.length).toBeGreaterThan(50);
    expect(missing(wanted, page)).toEqual([]);
  });

  it("has every layer, to the last digit", () => {
    const data = page.scripts.slice(0, -1).map((script) => unpackLayers(JSON.parse(script)));
    const layers = report.models.map((model) => model.layers);
    expect(data).toHaveLength(3);
    expect(layers).toEqual(expect.arrayContaining(data));
  });

  it("shows no time that JSON does not have", () => {
    const json: unknown = JSON.parse(renderJson(report));
    const known = new Set(numbersOf(json).flatMap((value) => [duration(value), duration(-value)]));
    // Messages say times, too.
    const said = timesIn(JSON.stringify(json));
    const drawn = text
      .replaceAll(/<span class="ticks">.*?<\/span><\/span>/gs, "")
      .replaceAll(/<section class="rules".*?<\/section>/gs, "");
    const times = parsePage(drawn).texts.flatMap(timesIn);
    expect(times.length).toBeGreaterThan(200);
    expect(
      times.filter((time) => !known.has(time) && !said.includes(time) && !isInRange(time, drawn)),
    ).toEqual([]);
  });

  it("draws the graph around what is found, with the finding in it", () => {
    const drawn = page.tags.filter(
      ({ name, attributes }) => name === "figure" && attributes.get("class") === "graph",
    ).length;
    const wanted = report.models.reduce((sum, { surroundings = [] }) => sum + surroundings.length, 0);
    expect(drawn).toBe(wanted);
    expect(drawn).toBeGreaterThan(3);
    const found = page.tags.filter(({ attributes }) => attributes.get("class") === "node found").length;
    expect(found).toBeGreaterThanOrEqual(drawn);
  });

  it("closes with a table of models only where there are several", () => {
    expect(page.text).toContain("3 models, the worst first");
    const [first] = report.models;
    expect(parsePage(pageOf({ ...report, models: first === undefined ? [] : [first] })).text).not.toContain(
      "the worst first",
    );
  });
});

function timesIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w.])-?\d+(?:\.\d+)? (?:µs|ms|s)(?!\w)/g)].map(([time]) => time);
}

/** `1.7 to 2.1 ms`: the first has its unit from the second. */
function isInRange(time: string, page: string): boolean {
  return page.includes(` to ${time}`);
}

function numbersOf(value: unknown): number[] {
  if (typeof value === "number") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(numbersOf) : [];
}

describe("names that attack", () => {
  it("change no tag of the page: it is built as that of a model of plain names", async () => {
    const [evil, plain] = await Promise.all([
      reported([hostileModel()]),
      reported([hostileModel((_, index) => `n${index}`)]),
    ]);
    const [page, expected] = [parsePage(pageOf(evil)), parsePage(pageOf(plain))];
    checkSafe(page);
    balanced(page);
    const structure = ({ tags }: Page) =>
      tags
        .filter(({ name }) => name !== "text")
        .map(({ name, isEnd, attributes }) => [name, isEnd, [...attributes.keys()].join()].join(" "));
    expect(evil.models[0]?.groups.length).toBeGreaterThan(0);
    expect(structure(page)).toEqual(structure(expected));
    expect(missing(attacks.slice(0, 6), page)).toEqual([]);
  });

  it("are text in any place of a report", () => {
    const page = pageOf(
      reportOf(
        [
          ...models,
          modelReport({
            path: attacks[0] + hostile,
            producer: hostile,
            error: { code: hostile, message: hostile },
          }),
        ],
        "0.0.0-test",
      ),
    );
    checkSafe(parsePage(page));
    balanced(parsePage(page));
  });
});

describe("odd reports", () => {
  it("are pages too: none, failed, not linted, errors only, without layers", () => {
    const all = [
      reportOf([], "1.0.0"),
      reportOf([modelReport({ error: { code: "not-onnx", message: "a.onnx: <no>" }, nodes: 0 })], "1.0.0"),
      errorsOnly(reportOf(models, "1.0.0")),
      reportOf([modelReport({ layers: [] })], "1.0.0"),
    ];
    for (const report of all) {
      const page = parsePage(pageOf(report));
      checkSafe(page);
      balanced(page);
    }
    expect(pageOf(all[1] ?? reportOf([], ""))).toContain("a.onnx: &lt;no&gt;");
  });

  it("of repairs show before and after", () => {
    const account = modelReport().account;
    const fix = {
      path: "a.onnx",
      destination: "b.onnx",
      changed: true,
      written: false,
      microseconds: { before: 100, after: 80 },
      account,
      assumed: { batch: 1 },
      notes: [{ pass: "align", kind: "done", message: "padded <conv>" }],
      diff: {
        nodes: [{ name: "conv", op: "Conv", kind: "changed" as const, details: ["group 116 → 128"] }],
        tensors: [{ name: "w", before: "float32[3]", after: "float32[4]" }],
        addedInside: 0,
        addedElements: 1,
      },
      error: null,
    };
    const tool = { name: "tc-lint", version: "1" };
    const page = parsePage(renderFixHtml({ tool, fixes: [fix] }, options));
    balanced(page);
    const wanted = [
      "100 µs",
      "80 µs",
      "priced at batch=1 (assumed)",
      "padded <conv>",
      "group 116 → 128",
      "float32[3] → float32[4]",
    ];
    expect(missing(wanted, page)).toEqual([]);
    const proof = { kind: "unverified", summary: "--no-verify" } as const;
    const written = renderFixHtml({ tool, fixes: [{ ...fix, written: true, proof }] }, options);
    expect(written).toContain("Written; unverified: --no-verify");
  });
});

it("says what budgets come to, where each model begins and above all", () => {
  const target = { gpu: "l4", stack: "ort-cuda", precision: "fp16" } as const;
  const figures = { budget: "maxMicroseconds", target, predicted: 612, low: 540, high: 690 } as const;
  const budgets = [
    { ...figures, limit: 500, verdict: "exceeded" },
    { ...figures, limit: 700, verdict: "kept" },
  ] as const;
  const text = pageOf(reportOf([modelReport({ budgets }), modelReport({ path: "b.onnx" })], "0.0.0-test"));
  expect(text).toContain("1 budget exceeded");
  for (const [limit, verdict] of [
    [500, "exceeded"],
    [700, "kept"],
  ] as const)
    expect(text).toMatch(
      new RegExp(`budget on l4 \\(ort-cuda, fp16\\): at most ${limit} µs; .*: ${verdict}`),
    );
});
