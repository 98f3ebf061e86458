/** @file One browser, one server and one new page a test, for tests of the page to drop a model on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Frame, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { buildSitePage } from "../../scripts/site-page.mjs";
import { launch } from "../report/html/chromium.ts";
import { type Visit, visit } from "./page.ts";
import { type SiteServer, serve } from "./server.ts";

export const fixture = (name: string) => path.resolve("fixtures", "models", name);

/** Of the tests that stand beside it: what they may look at once they run. */
export class Session {
  browser: Browser | undefined;
  #server: SiteServer | undefined;
  #visit: Visit | undefined;
  folder = "";
  /** The file that is served. */
  text = "";
  /** Whether the browser is expected to say something. */
  isRefused = false;

  constructor(chromium: string | undefined) {
    beforeAll(async () => {
      this.folder = mkdtempSync(path.join(tmpdir(), "tc-lint-site-"));
      this.browser = await launch(chromium ?? "");
      this.text = (await buildSitePage()).text;
      this.#server = await serve(this.text);
    });
    afterAll(async () => {
      await this.browser?.close();
      await this.#server?.close();
      rmSync(this.folder, { recursive: true, force: true });
    });
    beforeEach(async () => {
      this.isRefused = false;
      this.#visit = await this.open(this.server.address);
    });
    afterEach(async () => {
      await this.page.close();
      const refusal = expect.stringContaining("Content Security Policy");
      if (this.isRefused) expect(this.said).toEqual(this.said.map(() => refusal));
      else expect(this.said).toEqual([]);
    });
  }

  open(address: string): Promise<Visit> {
    return visit(there(this.browser), address);
  }

  get server(): SiteServer {
    return there(this.#server);
  }

  get page(): Page {
    return there(this.#visit).page;
  }

  /** What the browser says of the page, and what it asks for beside itself. */
  get said(): readonly string[] {
    return there(this.#visit).said;
  }

  failure(): Promise<string | null> {
    return this.page.locator("#failure").textContent();
  }

  status(): Promise<string | null> {
    return this.page.locator("#status").textContent();
  }

  async report(): Promise<Frame> {
    const handle = await this.page.locator("#report").elementHandle();
    const frame = there(await handle?.contentFrame());
    await frame.locator("footer").waitFor();
    return frame;
  }
}

function there<T>(value: T | null | undefined): T {
  if (value == null) throw new Error("asked for before it is there");
  return value;
}
