/** @file The report inside the page: as dark or as light as the page is, and takes files as the page does. */
import { takeDropsOn } from "./drop.ts";

export class ReportFrame {
  readonly #frame: HTMLIFrameElement;
  #observer: MutationObserver | undefined;

  constructor(frame: HTMLIFrameElement, place: HTMLElement, take: (files: readonly File[]) => void) {
    this.#frame = frame;
    frame.addEventListener("load", () => {
      const { contentDocument, contentWindow } = frame;
      // Opened as a file, the page may not look into its own frame: the report keeps its own button.
      if (contentDocument === null || contentWindow === null) return;
      takeDropsOn(contentWindow, place, take);
      this.#bind(document.documentElement, contentDocument);
    });
  }

  show(address: string): void {
    this.#frame.src = address;
    this.#frame.hidden = false;
  }

  hide(): void {
    this.#frame.hidden = true;
  }

  /** One button for both. */
  #bind(page: HTMLElement, report: Document): void {
    this.#observer?.disconnect();
    report.querySelector("#theme")?.remove();
    const copy = () => {
      const { theme } = page.dataset;
      if (theme !== undefined) report.documentElement.dataset["theme"] = theme;
    };
    copy();
    this.#observer = new MutationObserver(copy);
    this.#observer.observe(page, { attributes: true, attributeFilter: ["data-theme"] });
  }
}
