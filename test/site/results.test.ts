/** @file What the page finds and makes, in a browser: what the command line does, to the byte. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { fix, type LintOptions, lint } from "../../src/index.ts";
import { renderJson } from "../../src/report/json.ts";
import { reportOf } from "../../src/report/summary.ts";
import { version } from "../../src/version.ts";
import { writeLargeModel } from "../onnx/large-model.ts";
import { findChromium } from "../report/html/chromium.ts";
import { eachModel, zoo, zooModel } from "../zoo.ts";
import { answered, contentOf, give, press } from "./page.ts";
import { fixture, Session } from "./session.ts";

const chromium = findChromium();

describe.skipIf(chromium === undefined)("The page (skipped where no Chromium is on PATH)", () => {
  const site = new Session(chromium);
  const jsonReport = async () => parsed((await contentOf(site.page, "#json")).toString("utf8"));

  eachModel(["resnet50", "bert", "llama_dynamo", "seg_unet", "misaligned_cnn", "mobilevit_xs", "yolo"])(
    "finds in %s what the command line finds",
    async (name) => {
      await give(site.page, [zooModel(name)]);
      expect(await site.failure()).toBe("");
      expect(await jsonReport()).toEqual(await expected(zooModel(name)));
    },
    60_000,
  );

  it("prices the target that is picked, and shows it as -f html does", async () => {
    await site.page.locator("#gpu").selectOption("l4");
    await site.page.locator("#stack").selectOption("tensorrt");
    await site.page.locator("#precision").selectOption("int8");
    await site.page.locator("#dims").fill("batch=4, sequence=64");
    await give(site.page, [zooModel("bert")]);
    expect(await site.failure()).toMatch(/^unknown-dimension /);
    await site.page.locator("#dims").fill("");
    await press(site.page, "#lint");
    const target = { gpu: "l4", stack: "tensorrt", precision: "int8" } as const;
    expect(await jsonReport()).toEqual(await expected(zooModel("bert"), target));
    const frame = await site.report();
    expect(await frame.locator(".tile").allTextContents()).toContainEqual(
      expect.stringContaining("NVIDIA L4 with TensorRT 10"),
    );
    const saved = (await contentOf(site.page, "#page")).toString("utf8");
    expect(saved).toContain("NVIDIA L4 with TensorRT 10");
  });

  it("takes a dropped model, anywhere on the page", async () => {
    const content = readFileSync(fixture("misaligned-cnn.onnx")).toString("base64");
    const transfer = await site.page.evaluateHandle((base64) => {
      const given = new DataTransfer();
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      given.items.add(new File([bytes], "dropped.onnx"));
      return given;
    }, content);
    await answered(site.page, () => site.page.dispatchEvent("body", "drop", { dataTransfer: transfer }));
    expect(await site.status()).toMatch(/^0 errors, 1 warning, 0 infos, in /);
    expect(await site.page.locator("#chosen").textContent()).toMatch(/^dropped\.onnx: \d+ kB$/);
  });

  it("makes the very bytes that --fix --no-verify writes, and does not say that they are verified", async () => {
    const file = path.join(site.folder, "inside.onnx");
    copyFileSync(fixture("misaligned-transformer.onnx"), file);
    const output = path.join(site.folder, "inside.fixed.onnx");
    // Where the engine chooses the types, padding need not gain as it is stored.
    const { changed } = await fix(file, { output, verify: false, stack: "tensorrt" });
    expect(changed).toBe(true);
    await site.page.locator("#stack").selectOption("tensorrt");
    await give(site.page, [file]);
    await press(site.page, "#fix");
    const [link] = await site.page.locator("#fixed a").allTextContents();
    expect(link).toBe("inside.fixed.onnx");
    const made = await contentOf(site.page, "#fixed a");
    expect(Buffer.compare(made, readFileSync(output))).toBe(0);
    const told = await site.page.locator("#fixed").textContent();
    expect(told).toContain("Not verified here");
    expect(told).toContain("tc-lint verify inside.onnx inside.fixed.onnx");
    const frame = await site.report();
    const shown = await frame.locator(".fix").textContent();
    expect(shown).toContain("unverified: not verified here");
  });

  it("makes the same of a model with external data, which is given with it", async () => {
    execFileSync(process.execPath, [path.join(zoo, "materialize.mjs"), site.folder, "misaligned_cnn"]);
    const [file, weights] = ["misaligned_cnn.onnx", "misaligned_cnn.weights"].map((name) =>
      path.join(site.folder, name),
    );
    const before = new Set(readdirSync(site.folder));
    const output = path.join(site.folder, "misaligned_cnn.fixed.onnx");
    await fix(file ?? "", { output, verify: false });
    const written = readdirSync(site.folder).filter((name) => !before.has(name));
    expect(written).toHaveLength(2);
    await give(site.page, [file ?? "", weights ?? ""]);
    await press(site.page, "#fix");
    expect(await site.failure()).toBe("");
    const links = await site.page.locator("#fixed a").allTextContents();
    expect(links.sort()).toEqual(written.sort());
    for (const name of links) {
      const made = await contentOf(site.page, `#fixed a:text-is("${name}")`);
      expect(Buffer.compare(made, readFileSync(path.join(site.folder, name)))).toBe(0);
    }
  });

  it("names what is wrong with files as the command line does", async () => {
    const write = (name: string, content: string | Uint8Array) => {
      const file = path.join(site.folder, name);
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    };
    const model = readFileSync(fixture("misaligned-cnn.onnx"));
    const faults = [
      [[write("text.onnx", "no model at all")], /^not-onnx text\.onnx: is text/],
      [[write("empty.onnx", "")], /^empty /],
      [[write("cut.onnx", model.subarray(0, 900))], /^truncated cut\.onnx: /],
      [[write("a.bin", "a"), write("b.bin", "b")], /^no-models a\.bin, b\.bin: no name ends in \.onnx/],
      [
        [write("m.weights", "0000")],
        /^no-models m\.weights: no name ends in \.onnx; external data goes with its/,
      ],
      [
        [write("one/same.onnx", model), write("two/same.onnx", model)],
        /^same-name same\.onnx: is there twice/,
      ],
    ] as const;
    for (const [files, message] of faults) {
      await give(site.page, files);
      expect(await site.failure()).toMatch(message);
      expect(await site.page.locator("#report").isVisible()).toBe(false);
    }
    await give(site.page, [zooModel("misaligned_cnn")]);
    await press(site.page, "#fix");
    expect(await site.failure()).toMatch(/^weights-missing .*misaligned_cnn\.weights/);
  });

  it("lints several models, and reports the one that is broken among them", async () => {
    const broken = path.join(site.folder, "broken.onnx");
    writeFileSync(broken, "no model at all");
    await give(site.page, [fixture("misaligned-cnn.onnx"), fixture("aligned-mlp.onnx"), broken]);
    expect(await site.status()).toMatch(/^0 errors, 1 warning, \d+ infos?, 1 model failed, in /);
    const frame = await site.report();
    expect(await frame.locator("table.models tbody tr").count()).toBe(3);
    expect(await frame.locator(".failure").textContent()).toContain("not-onnx");
  });

  it("opens a model of 1.6 GB by its metadata alone, and fixes none of it", async () => {
    const file = path.join(site.folder, "large.onnx");
    writeLargeModel(file, 1_600_000_000);
    await give(site.page, [file]);
    expect(await site.failure()).toBe("");
    expect(await site.page.locator("#chosen").textContent()).toBe("large.onnx: 1600.0 MB");
    const frame = await site.report();
    expect(await frame.locator(".model").first().textContent()).toContain("400 M parameters");
    rmSync(file);
  });

  it("says so where a file has gone since it was chosen", async () => {
    const file = path.join(site.folder, "gone.onnx");
    copyFileSync(fixture("misaligned-cnn.onnx"), file);
    await give(site.page, [file]);
    rmSync(file);
    await press(site.page, "#lint");
    expect(await site.failure()).toMatch(/^unreadable gone\.onnx: cannot be read: it was changed or removed/);
  });
});

/** What the command line's JSON has for a model that is linted where it lies. */
async function expected(file: string, options: LintOptions = {}): Promise<unknown> {
  const name = path.basename(file);
  const report = await lint(file, { ...options, name, layers: true, drawings: true });
  // The library names its options where the command line names files.
  return parsed(renderJson(reportOf([{ ...report, configFiles: [] }], version)));
}

/** A report; of its numbers ten digits: logarithms of two releases of V8 differ in the last. */
function parsed(json: string): unknown {
  return JSON.parse(json, (_, value) => (typeof value === "number" ? Number(value.toPrecision(10)) : value));
}
