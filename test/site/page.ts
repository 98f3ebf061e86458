/** @file The page in a browser, as somebody uses it. */
import type { Browser, Page } from "playwright-core";

/** What the page may ask for: itself, and what it has made. */
const own = /^(blob|data|about):/;

export interface Visit {
  readonly page: Page;
  /** What the browser says of the page, and what it asks for beside itself. */
  readonly said: readonly string[];
}

export async function visit(
  browser: Browser,
  address: string,
  colorScheme: "light" | "dark" = "light",
): Promise<Visit> {
  const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 900 } });
  const said: string[] = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== address && !own.test(request.url())) said.push(`asks for ${request.url()}`);
  });
  await page.goto(address);
  return { page, said };
}

/** Gives the page files, and waits for what it says of them. */
export function give(page: Page, files: readonly string[]): Promise<void> {
  return answered(page, () => page.locator("#files").setInputFiles([...files]));
}

/** Does something that the page works on, until that has ended. */
export async function answered(page: Page, action: () => Promise<void>): Promise<void> {
  const before = Number((await page.locator("#main").getAttribute("data-jobs")) ?? 0);
  await action();
  await page.locator(`#main[data-jobs="${before + 1}"]`).waitFor({ timeout: 120_000 });
}

export function press(page: Page, button: string): Promise<void> {
  return answered(page, () => page.locator(button).click());
}

/** The text behind a link that offers a file. */
export async function contentOf(page: Page, link: string): Promise<Buffer> {
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(link).click()]);
  const parts: Uint8Array[] = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  return Buffer.concat(parts);
}
