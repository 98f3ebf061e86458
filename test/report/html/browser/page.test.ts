/** @file Pages in a browser: what its reader does with them, whoever the reader is. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { buildReportPage } from "../../../../scripts/report-page.mjs";
import { duration } from "../../../../src/ir/format.ts";
import type { LintReport } from "../../../../src/lint/result.ts";
import { benchOf } from "../../../profile/bench-file.ts";
import { zooModel } from "../../../zoo.ts";
import { findChromium, launch } from "../chromium.ts";
import { hostileModel } from "../hostile.ts";
import { pageOf, reported } from "../pages.ts";

const chromium = findChromium();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

describe.skipIf(chromium === undefined)("a page in Chromium (skipped where none is on PATH)", () => {
  let browser: Browser;
  let folder = "";
  let report: LintReport;
  let reportScript = "";
  let page: Page;
  /** What the browser says of the page. */
  let said: string[] = [];
  const open = async (name: string, hash = "") => {
    await page.goto(pathToFileURL(path.join(folder, name)).href + hash);
  };
  /** Of the first table of layers. */
  const head = (name: string) =>
    page.locator(".layers").first().getByRole("columnheader", { name, exact: true });
  const texts = (selector: string) => page.locator(selector).allTextContents();

  beforeAll(async () => {
    browser = await launch(chromium ?? "");
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-pages-"));
    ({ text: reportScript } = await buildReportPage());
    const script = reportScript;
    const write = (name: string, of: LintReport) =>
      writeFileSync(path.join(folder, name), pageOf(of, { script }));
    const paths = ["vit_tiny", "seg_unet", "misaligned_cnn", "bert"].map((name) => zooModel(name));
    report = await reported(paths, { minSaving: 0 });
    const [first] = report.models;
    write("several.html", report);
    write("one.html", { ...report, models: first === undefined ? [] : [first] });
    write("hostile.html", await reported([hostileModel()], { verbose: true, minSaving: 0 }));
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    page = await browser.newPage({ colorScheme: "light", viewport: { width: 1280, height: 900 } });
    said = [];
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    page.on("request", (request) => {
      if (!request.url().startsWith("file:")) said.push(`asks for ${request.url()}`);
    });
  });
  afterEach(async () => {
    await page.close();
    expect(said).toEqual([]);
  });

  it("sorts layers by any column, either way, and says so", async () => {
    await open("one.html");
    const layers = report.models[0]?.layers ?? [];
    const times = layers.map(({ microseconds }) => microseconds).sort((a, b) => b - a);
    const column = head("Time");
    const cells = () => texts(".layers tbody td:nth-child(9)");
    expect(await column.getAttribute("aria-sort")).toBe("descending");
    expect(await cells()).toEqual(times.slice(0, 100).map(duration));
    await column.getByRole("button").click();
    expect(await column.getAttribute("aria-sort")).toBe("ascending");
    expect(await cells()).toEqual(times.reverse().slice(0, 100).map(duration));
    await head("Node").getByRole("button").click();
    expect(await column.getAttribute("aria-sort")).toBeNull();
    const names = layers.map(({ node }) => node).sort();
    expect((await texts(".layers tbody td:first-child")).map((text) => text.split(" ")[0])).toEqual(
      names.slice(0, 100),
    );
  });

  it("has what was measured and what was predicted in columns of their own", async () => {
    const bench = await benchOf(zooModel("seg_unet"), { precision: "fp16", times: 1.5 });
    const profile = path.join(folder, "bench.json");
    writeFileSync(profile, JSON.stringify(bench));
    const measured = await reported([zooModel("seg_unet")], { stack: "tc-runtime", profile: [profile] });
    writeFileSync(path.join(folder, "measured.html"), pageOf(measured, { script: reportScript }));
    await open("measured.html");
    const layers = measured.models[0]?.layers ?? [];
    expect(await head("Time").count()).toBe(0);
    expect(await head("Measured").getAttribute("aria-sort")).toBe("descending");
    const times = layers.map(({ microseconds }) => microseconds).sort((a, b) => b - a);
    expect(await texts(".layers tbody td:nth-child(9)")).toEqual(times.map(duration));
    await head("Predicted").getByRole("button").click();
    const predicted = layers.map((layer) => layer.predicted ?? -1).sort((a, b) => b - a);
    expect(await texts(".layers tbody td:nth-child(10)")).toEqual(predicted.map(duration));
    expect(times[0]).toBeCloseTo(1.5 * (predicted[0] ?? 0), 6);
    expect(await texts(".tiles .title")).toContain("Measured, one run");
  });

  it("shows all layers to who asks for them", async () => {
    await open("one.html");
    const count = report.models[0]?.layers?.length ?? 0;
    expect(count).toBeGreaterThan(100);
    await page.getByRole("button", { name: `Show ${count - 100} more` }).click();
    expect(await page.locator(".layers tbody tr").count()).toBe(count);
    expect(await texts(".layers .more button:visible")).toEqual([]);
  });

  it("filters layers by words, in names, operators and shapes", async () => {
    await open("one.html");
    const layers = report.models[0]?.layers ?? [];
    await page.getByRole("searchbox", { name: "Filter" }).fill("softmax  BLOCKS.1/");
    const wanted = layers.filter(({ op, node }) => op === "Softmax" && node.includes("blocks.1/"));
    expect(wanted.length).toBeGreaterThan(0);
    expect(await page.locator(".layers tbody tr").count()).toBe(wanted.length);
    expect(await texts(".layers .count")).toEqual([
      `${wanted.length} layer${wanted.length > 1 ? "s" : ""} that match, of ${layers.length}`,
    ]);
    await page.getByRole("searchbox").fill("no such layer");
    expect(await page.locator(".layers tbody tr").count()).toBe(0);
  });

  it("has layers without a finding last, whichever way findings are sorted", async () => {
    await open("several.html", "#model-2");
    const table = page.locator(".layers").nth(1);
    const button = table.getByRole("columnheader", { name: "Findings", exact: true }).getByRole("button");
    const codes = () => table.locator("tbody td:last-child").allTextContents();
    for (const direction of ["up", "down"]) {
      await button.click();
      const shown = await codes();
      const found = shown.findLastIndex((text) => text !== "");
      expect([direction, found > 0, found < shown.length - 1]).toEqual([direction, true, true]);
      expect(shown.slice(0, found + 1)).not.toContain("");
    }
  });

  it("offers nothing that needs a script where none runs", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const still = await context.newPage();
    await still.goto(pathToFileURL(path.join(folder, "one.html")).href);
    expect(await still.locator("#theme").isVisible()).toBe(false);
    expect(await still.getByRole("searchbox").first().isVisible()).toBe(false);
    expect(await still.locator(".layers tbody tr").count()).toBeGreaterThan(10);
    await context.close();
  });

  it("is dark and light by its system, and by its button", async () => {
    await open("one.html");
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    const button = page.getByRole("button", { name: "Dark" });
    expect(await button.getAttribute("aria-pressed")).toBe("false");
    await button.click();
    expect(await button.getAttribute("aria-pressed")).toBe("true");
    const dark = await background();
    expect(dark).not.toBe(light);
    await button.click();
    expect(await background()).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await background()).toBe(light);
    await page.reload();
    expect(await background()).toBe(dark);
  });

  it("is used by keyboard, which shows where it is", async () => {
    await open("one.html");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the report");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    const button = head("FLOPs").getByRole("button");
    await button.focus();
    await page.keyboard.press("Space");
    expect(await head("FLOPs").getAttribute("aria-sort")).toBe("descending");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Tab");
    expect(await button.evaluate((element) => getComputedStyle(element).outlineStyle)).toBe("solid");
    const summary = page.locator("details.finding > summary").first();
    const isOpen = () => summary.evaluate((element) => element.parentElement?.hasAttribute("open"));
    const before = await isOpen();
    await summary.focus();
    await page.keyboard.press("Enter");
    expect(await isOpen()).toBe(!before);
  });

  it("opens what a link leads to, and all findings on paper", async () => {
    await open("several.html");
    const folded = page.locator("details.model:not([open])");
    const count = await folded.count();
    expect(count).toBe(2);
    await page.locator("table.models a").last().click();
    expect(await folded.count()).toBe(count - 1);
    const closed = () => page.locator("details.model[open] details.finding:not([open])").count();
    const before = await closed();
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    expect(await closed()).toBe(0);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    expect(await closed()).toBe(before);
  });

  it.each(["one.html", "several.html", "hostile.html"])(
    "%s is within its width on a telephone and on paper",
    async (name) => {
      for (const width of [400, 800, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        await open(name);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      }
      await page.emulateMedia({ media: "print" });
      await page.setViewportSize({ width: 794, height: 1123 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(794);
    },
  );

  it.each([400, 1280])("shows of each graph the node that it is about, %i pixels wide", async (width) => {
    await page.setViewportSize({ width, height: 900 });
    await open("one.html");
    const findings = page.locator("details.finding:has(figure.graph)");
    const count = await findings.count();
    expect(count).toBeGreaterThan(1);
    for (let index = 0; index < count; index++) {
      const finding = findings.nth(index);
      await finding.evaluate((each) => each.setAttribute("open", ""));
      await finding.locator(".graph .scroll").scrollIntoViewIfNeeded();
      const apart = () =>
        finding.locator(".graph .scroll").evaluate((view) => {
          const [box, node] = [view, view.querySelector(".node rect")].map((each) =>
            each?.getBoundingClientRect(),
          );
          if (box === undefined || node === undefined) return [Number.NaN];
          const across = Math.max(0, Math.min(box.right, node.right) - Math.max(box.left, node.left));
          const down = Math.max(0, Math.min(box.bottom, node.bottom) - Math.max(box.top, node.top));
          return [across / Math.min(node.width, box.width), down / Math.min(node.height, box.height)];
        });
      await expect.poll(apart).toEqual([expect.closeTo(1, 1), expect.closeTo(1, 1)]);
    }
  });

  it.each(["light", "dark"] as const)("has nothing that axe-core finds wrong, %s", async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    for (const name of ["one.html", "several.html"]) {
      await open(name);
      await page.evaluate(() => {
        for (const each of document.querySelectorAll("details")) each.open = true;
      });
      // The page's policy lets no script in but its own; the debugger is not asked.
      await page.evaluate(axe);
      const violations = await page.evaluate(async () => {
        const { axe: checker } = globalThis as unknown as {
          axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        };
        const found = (await checker.run()).violations;
        return found.map(({ id, nodes }) => `${id}: ${nodes.length} such as ${nodes[0]?.html.slice(0, 200)}`);
      });
      expect(violations).toEqual([]);
    }
  });

  it("of names that attack runs none of them", async () => {
    await open("hostile.html");
    await page.getByRole("searchbox").first().fill("globalThis");
    expect(await page.locator(".layers tbody tr").count()).toBeGreaterThan(3);
    await head("Node").getByRole("button").click();
    expect(await page.evaluate(() => "pwned" in globalThis)).toBe(false);
    expect(await page.locator("script").count()).toBe(2);
    expect(await page.locator("img, iframe, [onload], [onerror], [onfocus]").count()).toBe(0);
    expect(
      (await texts(".layers tbody td:first-child")).some((text) => text.startsWith("</script><script>")),
    ).toBe(true);
  });
});
