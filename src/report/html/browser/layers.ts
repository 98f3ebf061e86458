/** @file The table of layers: sorted by any column, filtered by words, and as many rows as somebody asks for. */
import { counted, plain } from "../../../ir/format.ts";
import type { LayerReport } from "../../../lint/result.ts";
import {
  barLength,
  columnsOf,
  firstRows,
  type LayerColumn,
  matches,
  sortedBy,
  timeColumn,
} from "../layer-columns.ts";
import { unpackLayers } from "../layer-data.ts";

type Direction = "ascending" | "descending";

export function showLayers(element: HTMLElement): void {
  const table = new LayerTable(element);
  // Reading a hundred thousand layers takes longer than showing the first: nobody waits for it.
  const { open } = element.closest("details") ?? { open: true };
  if (open) requestIdleCallback(() => table.load());
  else element.closest("details")?.addEventListener("toggle", () => table.load(), { once: true });
}

class LayerTable {
  readonly #element: HTMLElement;
  readonly #heads: readonly HTMLTableCellElement[];
  readonly #body: HTMLTableSectionElement;
  readonly #input: HTMLInputElement;
  readonly #count: HTMLElement;
  readonly #more: HTMLButtonElement;
  readonly #data: HTMLElement;
  #layers: readonly LayerReport[] | undefined;
  #columns: readonly LayerColumn[] = [];
  #shown: readonly LayerReport[] = [];
  /** Share of the time. */
  #longest = 0;
  #column = timeColumn;
  #direction: Direction = "descending";

  constructor(element: HTMLElement) {
    const find = <Wanted extends HTMLElement>(selector: string) => {
      const found = element.querySelector<Wanted>(selector);
      if (found === null) throw new Error(`the table of layers has no ${selector}`);
      return found;
    };
    this.#element = element;
    this.#heads = [...element.querySelectorAll<HTMLTableCellElement>("thead th")];
    this.#body = find("tbody");
    this.#input = find("input");
    this.#count = find(".count");
    this.#more = find(".more button");
    this.#data = find("script");
    this.#heads.forEach((head, index) => {
      head.querySelector("button")?.addEventListener("click", () => this.#sort(index));
    });
    this.#input.addEventListener("input", () => this.#show());
    this.#more.addEventListener("click", () => this.#add(10 * firstRows));
  }

  /** Once; the rows that are there stay. */
  load(): readonly LayerReport[] {
    if (this.#layers === undefined) {
      this.#layers = unpackLayers(JSON.parse(this.#data.textContent));
      this.#columns = columnsOf(this.#layers);
      this.#shown = this.#sorted(this.#layers);
      this.#longest = this.#shown[0]?.share ?? 0;
      this.#element.dataset["ready"] = "";
      this.#say();
    }
    return this.#layers;
  }

  #sort(index: number): void {
    this.load();
    const column = this.#columns[index];
    if (column === undefined) return;
    const first: Direction = column.isNumber ? "descending" : "ascending";
    const turned = this.#direction === "ascending" ? "descending" : "ascending";
    this.#direction = index === this.#column ? turned : first;
    this.#column = index;
    for (const [at, head] of this.#heads.entries()) {
      if (at === index) head.setAttribute("aria-sort", this.#direction);
      else head.removeAttribute("aria-sort");
    }
    this.#show();
  }

  #show(): void {
    const layers = this.load();
    const words = this.#input.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    this.#shown = this.#sorted(words.length === 0 ? layers : layers.filter((layer) => matches(layer, words)));
    this.#body.replaceChildren();
    this.#add(firstRows);
  }

  #sorted(layers: readonly LayerReport[]): LayerReport[] {
    const column = this.#columns[this.#column];
    return column === undefined ? [...layers] : sortedBy(layers, column, this.#direction);
  }

  #add(count: number): void {
    const there = this.#body.rows.length;
    this.#body.append(
      ...this.#shown.slice(there, there + count).map((layer) => rowOf(layer, this.#columns, this.#longest)),
    );
    this.#say();
  }

  #say(): void {
    const all = this.load().length;
    const [found, there] = [this.#shown.length, this.#body.rows.length];
    const rows = there < found ? `${there} of ${counted(found, "layer")}` : counted(found, "layer");
    this.#count.textContent = found < all ? `${rows} that match, of ${all}` : rows;
    this.#more.hidden = there >= found;
    this.#more.textContent = `Show ${Math.min(10 * firstRows, found - there)} more`;
  }
}

function rowOf(layer: LayerReport, columns: readonly LayerColumn[], longest: number): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.append(...columns.map((column) => cellOf(column, layer, longest)));
  return row;
}

function cellOf(
  { isNumber, text, note, hint, bar }: LayerColumn,
  layer: LayerReport,
  longest: number,
): HTMLTableCellElement {
  const cell = document.createElement("td");
  cell.textContent = plain(text(layer));
  if (isNumber) cell.className = "num";
  const small = note?.(layer) ?? "";
  if (small !== "") {
    const element = document.createElement("small");
    element.textContent = plain(small);
    cell.append(" ", element);
  }
  const told = hint?.(layer);
  if (told !== undefined) cell.title = plain(told);
  if (bar !== undefined) cell.style.setProperty("--share", barLength(bar(layer), longest));
  return cell;
}
