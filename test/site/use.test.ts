/** @file The page in the hands of its reader: it tells nobody, is cancelled, dark, used by keyboard, and read aloud. */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Frame, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { writeSyntheticModel } from "../../bench/synthetic.ts";
import { findChromium } from "../report/html/chromium.ts";
import { answered, give, press } from "./page.ts";
import { fixture, Session } from "./session.ts";

const chromium = findChromium();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

describe.skipIf(chromium === undefined)("The page (skipped where no Chromium is on PATH)", () => {
  const site = new Session(chromium);

  it("ends its worker where it is cancelled, and lints again", async () => {
    const large = path.join(site.folder, "nodes.onnx");
    writeSyntheticModel(large, 10_000);
    const worker = site.page.workers()[0] ?? (await site.page.waitForEvent("worker"));
    const ended = new Promise((resolve) => worker.once("close", resolve));
    await site.page.locator("#files").setInputFiles(large);
    await press(site.page, "#cancel");
    await ended;
    expect(await site.status()).toBe("Cancelled.");
    expect(await site.page.locator("#cancel").isVisible()).toBe(false);
    expect(await site.page.locator("#results").isVisible()).toBe(false);
    await give(site.page, [fixture("misaligned-cnn.onnx")]);
    expect(await site.status()).toContain("1 warning");
  });

  it("asks for nothing, and could not if it wanted to", async () => {
    await give(site.page, [fixture("misaligned-cnn.onnx")]);
    expect(site.server.asked.every((each) => each === "/")).toBe(true);
    const before = site.server.asked.length;
    const [worker] = site.page.workers();
    const tried = (address: string) =>
      fetch(address).then(
        () => "sent",
        () => "refused",
      );
    expect(await worker?.evaluate(tried, site.server.address)).toBe("refused");
    expect(await site.page.evaluate(tried, site.server.address)).toBe("refused");
    const frame = await site.report();
    expect(await frame.evaluate(tried, site.server.address)).toBe("refused");
    expect(site.server.asked).toHaveLength(before);
    expect(site.said.length).toBeGreaterThan(0);
    site.isRefused = true;
  });

  it("works where it is opened as a file, without any server", async () => {
    const file = path.join(site.folder, "index.html");
    writeFileSync(file, site.text);
    const opened = await site.open(pathToFileURL(file).href);
    await give(opened.page, [fixture("misaligned-cnn.onnx")]);
    expect(await opened.page.locator("#status").textContent()).toContain("1 warning");
    await opened.page.frameLocator("#report").locator("footer").waitFor();
    expect(opened.said).toEqual([]);
    await opened.page.close();
  });

  it("is dark and light by one button, which the report follows", async () => {
    await give(site.page, [fixture("misaligned-cnn.onnx")]);
    const frame = await site.report();
    const background = (of: Page | Frame) =>
      of.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background(site.page);
    expect(await background(frame)).toBe(light);
    await site.page.getByRole("button", { name: "Dark" }).click();
    const dark = await background(site.page);
    expect(dark).not.toBe(light);
    expect(await background(frame)).toBe(dark);
    expect(await frame.getByRole("button", { name: "Dark" }).count()).toBe(0);
    await press(site.page, "#lint");
    expect(await background(await site.report())).toBe(dark);
  });

  it("is used by keyboard", async () => {
    await site.page.locator("#stack").selectOption("tensorrt");
    await give(site.page, [fixture("misaligned-transformer.onnx")]);
    await site.page.locator("#theme").focus();
    const reached: string[] = [];
    for (let count = 0; count < 10; count++) {
      await site.page.keyboard.press("Tab");
      reached.push(await site.page.evaluate(() => document.activeElement?.id ?? ""));
    }
    expect(reached.slice(0, 9)).toEqual([
      "files",
      "gpu",
      "stack",
      "precision",
      "dims",
      "lint",
      "page",
      "json",
      "fix",
    ]);
    await site.page.locator("#fix").focus();
    await answered(site.page, () => site.page.keyboard.press("Enter"));
    expect(await site.page.locator("#fixed a").count()).toBe(1);
    await site.page.locator("#dims").focus();
    await answered(site.page, () => site.page.keyboard.press("Enter"));
    expect(await site.page.locator("#fixed").isVisible()).toBe(false);
  });

  it.each(["light", "dark"] as const)("has nothing that axe-core finds wrong, %s", async (colorScheme) => {
    await site.page.emulateMedia({ colorScheme });
    expect(await violationsOf(site.page)).toEqual([]);
    await site.page.locator("#stack").selectOption("tensorrt");
    await give(site.page, [fixture("misaligned-transformer.onnx")]);
    expect(await violationsOf(site.page)).toEqual([]);
    await press(site.page, "#fix");
    expect(await violationsOf(site.page)).toEqual([]);
    expect(await violationsOf(await site.report())).toEqual([]);
    await site.page.locator("#dims").fill("oops");
    await press(site.page, "#lint");
    expect(await site.failure()).toContain("usage --dim");
    expect(await violationsOf(site.page)).toEqual([]);
  });

  it("is within its width on a telephone", async () => {
    await give(site.page, [fixture("misaligned-cnn.onnx")]);
    for (const width of [400, 800]) {
      await site.page.setViewportSize({ width, height: 900 });
      expect(await site.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
  });
});

/** The page's policy lets no script in but its own; the debugger is not asked. Of frames, each is asked by itself. */
async function violationsOf(of: Page | Frame): Promise<string[]> {
  await of.evaluate(axe);
  return of.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run(context: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const found = (await checker.run({ exclude: [["iframe"]] })).violations;
    return found.map(({ id, nodes }) => `${id}: ${nodes.length} such as ${nodes[0]?.html.slice(0, 200)}`);
  });
}
