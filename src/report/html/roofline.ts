/** @file Layers under the roofs of their target: arithmetic intensity against the rate that is predicted, on logarithmic axes. */

import { compact, counted, duration, percent, significant } from "../../ir/format.ts";
import { maxOf } from "../../ir/lists.ts";
import type { CeilingsReport, LayerReport } from "../../lint/result.ts";
import { sizesText } from "../csv.ts";
import { boundText } from "./layer-columns.ts";
import { at, html, type Markup } from "./markup.ts";
import { decades } from "./scale.ts";

const frame = { width: 720, height: 440, left: 62, right: 16, top: 16, bottom: 46 } as const;
/** Points with a number and a line in the list beside. */
const mostNumbered = 6;
/** Points; the largest first. */
const mostPoints = 600;
const flopsPerTera = 1e12;

/** Layers that are alike but for their names. */
interface Point {
  /** The first of them, with the figures of each. */
  readonly layer: LayerReport;
  /** TFLOP/s. */
  readonly rate: number;
  readonly count: number;
}

interface Roof {
  readonly name: string;
  readonly rate: number;
}

export function rooflineMarkup(layers: readonly LayerReport[], ceilings: CeilingsReport): Markup {
  const points = pointsOf(layers);
  if (points.length === 0) return html``;
  const roofs = roofsOf(layers, ceilings);
  const axes = axesOf(points, roofs, ceilings);
  const numbered = points.slice(0, mostNumbered);
  const drawn = points.slice(0, mostPoints);
  // The largest first: smaller ones lie upon them.
  const circles = drawn.map((point) => pointMarkup(point, axes));
  return html`<figure class="roofline"><div class="plot"><div class="scroll" tabindex="0" role="group" aria-label="Roofline"
><svg role="img" aria-label="Roofline: arithmetic intensity against ${rateWord(layers)} rate" viewBox="0 0 ${frame.width} ${frame.height}">
${gridMarkup(axes)}${roofsMarkup(roofs, ceilings, axes)}<g class="points">${circles}${numbersMarkup(numbered, axes)}</g>${labelsMarkup(roofs, ceilings, axes)}</svg></div>
<ol class="points">${numbered.map(itemMarkup)}</ol></div>
<figcaption>${captionOf(layers, points, drawn.length, ceilings)}
<span class="legend">${bounds.map((bound) => html`<span class="key ${bound}"></span>${boundText(bound)} `)}</span></figcaption></figure>`;
}

const bounds = [
  "tensor-core",
  "cuda-core",
  "dram",
  "l2",
  "launch",
] as const satisfies readonly LayerReport["bound"][];

function rateWord(layers: readonly LayerReport[]): string {
  return layers.some(({ predicted }) => predicted !== undefined) ? "measured" : "predicted";
}

/** What takes longest together first. */
function pointsOf(layers: readonly LayerReport[]): Point[] {
  const byPlace = new Map<string, Point>();
  for (const layer of layers) {
    const { flops, microseconds, intensity, op, sizes, bound, compute } = layer;
    // What ran and is no layer of the model has no arithmetic that is known.
    if (layer.predicted === 0 || !(flops > 0) || !(microseconds > 0) || !(intensity > 0)) continue;
    const key = JSON.stringify([op, sizes, bound, compute, microseconds, intensity]);
    const { layer: first, count } = byPlace.get(key) ?? { layer, count: 0 };
    byPlace.set(key, {
      layer: first,
      rate: (flops / microseconds) * (1e6 / flopsPerTera),
      count: count + 1,
    });
  }
  return [...byPlace.values()].sort((a, b) => weightOf(b) - weightOf(a));
}

/** Orders points and sizes them; it is no figure of the report. */
function weightOf({ layer, count }: Point): number {
  return layer.share * count;
}

/** Of the formats that products are computed in here, and of the CUDA cores. */
function roofsOf(layers: readonly LayerReport[], { tensorTflops, cudaTflops }: CeilingsReport): Roof[] {
  const formats = new Set(layers.flatMap(({ tensorCore, compute }) => (tensorCore ? [compute] : [])));
  const tensor = [...formats].flatMap((format): Roof[] => {
    const rate = tensorTflops[format];
    return rate === undefined ? [] : [{ name: `Tensor Cores, ${format.toUpperCase()}`, rate }];
  });
  return [...tensor, { name: "CUDA cores, FP32", rate: cudaTflops }];
}

interface Axes {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
  readonly x: (intensity: number) => number;
  readonly y: (rate: number) => number;
}

function axesOf(points: readonly Point[], roofs: readonly Roof[], { dramGBps }: CeilingsReport): Axes {
  const most = maxOf(roofs.map(({ rate }) => rate));
  const ridge = (most * 1000) / dramGBps;
  const intensities = points.map(({ layer }) => layer.intensity);
  const xs = decades(Math.max(1e-3, min(intensities)), Math.max(max(intensities), 3 * ridge));
  const lowest = Math.max(most * 1e-7, min(points.map(({ rate }) => rate)));
  const ys = decades(lowest, 1.2 * most);
  const along = (ticks: readonly number[]) => {
    const [first = 1, last = 10] = [ticks[0], ticks.at(-1)];
    const [low, high] = [Math.log10(first), Math.log10(last)];
    return (value: number) => Math.min(1, Math.max(0, (Math.log10(value) - low) / (high - low)));
  };
  const [alongX, alongY] = [along(xs), along(ys)];
  const { width, height, left, right, top, bottom } = frame;
  return {
    xs,
    ys,
    x: (value) => left + alongX(value) * (width - left - right),
    y: (value) => height - bottom - alongY(value) * (height - top - bottom),
  };
}

/** Of more numbers than a call takes as arguments. */
function min(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
}

function max(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function gridMarkup({ xs, ys, x, y }: Axes): Markup {
  const { width, height, left, right, top, bottom } = frame;
  const [floor, end] = [height - bottom, width - right];
  return html`<g class="grid">${xs.map((tick) => html`<path d="M${at(x(tick))} ${top}V${floor}"/>`)}${ys.map(
    (tick) => html`<path d="M${left} ${at(y(tick))}H${end}"/>`,
  )}</g><g class="ticks">${xs.map(
    (tick) => html`<text x="${at(x(tick))}" y="${floor + 16}" text-anchor="middle">${compact(tick)}</text>`,
  )}${ys.map(
    (tick) => html`<text x="${left - 6}" y="${at(y(tick) + 4)}" text-anchor="end">${compact(tick)}</text>`,
  )}</g><text class="title" x="${at((left + end) / 2)}" y="${height - 8}" text-anchor="middle">FLOPs a byte</text
><text class="title" transform="translate(14 ${at((top + floor) / 2)}) rotate(-90)" text-anchor="middle">TFLOP/s</text>`;
}

/** Where the slope of the DRAM reaches the highest roof, and where it comes into sight. */
function slopeOf(roofs: readonly Roof[], { dramGBps }: CeilingsReport, { xs, ys, x, y }: Axes) {
  const slope = dramGBps / 1000;
  const most = maxOf(roofs.map(({ rate }) => rate));
  const start = Math.max(xs[0] ?? 1, (ys[0] ?? 1) / slope);
  return { slope, from: [x(start), y(start * slope)], to: [x(most / slope), y(most)] } as const;
}

function roofsMarkup(roofs: readonly Roof[], ceilings: CeilingsReport, axes: Axes): Markup {
  const { x, y } = axes;
  const { slope, from, to } = slopeOf(roofs, ceilings, axes);
  const end = at(x(axes.xs.at(-1) ?? 1));
  const lines = roofs.map(({ rate }) => html`<path d="M${at(x(rate / slope))} ${at(y(rate))}H${end}"/>`);
  return html`<g class="roofs"><path d="M${from.map(at).join(" ")}L${to.map(at).join(" ")}"/>${lines}</g>`;
}

/** Lines of text that stand no closer. */
const leading = 14;

/** Above the points, which would hide them. */
function labelsMarkup(roofs: readonly Roof[], ceilings: CeilingsReport, axes: Axes): Markup {
  const { from, to } = slopeOf(roofs, ceilings, axes);
  const end = at(axes.x(axes.xs.at(-1) ?? 1) - 4);
  let above = Number.NEGATIVE_INFINITY;
  const labels = [...roofs]
    .sort((a, b) => b.rate - a.rate)
    .map(({ rate, name }) => {
      above = Math.max(axes.y(rate) - 5, above + leading);
      return html`<text x="${end}" y="${at(above)}" text-anchor="end">${name}: ${significant(rate)} TFLOP/s</text>`;
    });
  const [[fromX, fromY], [toX, toY]] = [from, to];
  const angle = (Math.atan2(toY - fromY, toX - fromX) * 180) / Math.PI;
  const middle = [(fromX + toX) / 2, (fromY + toY) / 2].map(at).join(" ");
  return html`<g class="roofs">${labels}<text transform="translate(${middle}) rotate(${at(
    angle,
  )})" y="-6" text-anchor="middle">DRAM: ${significant(ceilings.dramGBps)} GB/s</text></g>`;
}

function radiusOf(point: Point): number {
  return Math.min(22, 3 + 32 * Math.sqrt(weightOf(point)));
}

function pointMarkup(point: Point, { x, y }: Axes): Markup {
  const { layer, rate } = point;
  return html`<g class="${layer.bound}"><title>${namesOf(point)}
${layer.op} ${sizesText(layer.sizes)}
${timeOf(point)}, bound by ${boundText(layer.bound)}</title><circle cx="${at(x(layer.intensity))}" cy="${at(
    y(rate),
  )}" r="${at(radiusOf(point))}"/></g>`;
}

/** Numbers stand no closer. */
const digitRoom = 13;
const around = [0, 1, -1, 2, -2].flatMap((down) => [0, 1, -1, 2, -2].map((right) => [right, down] as const));

/** Above all points; where some are at one place, their numbers stand beside each other. */
function numbersMarkup(points: readonly Point[], { x, y }: Axes): Markup[] {
  const taken: { readonly x: number; readonly y: number }[] = [];
  return points.map(({ layer, rate }, index) => {
    const [cx, cy] = [x(layer.intensity), y(rate) + 4];
    const places = around.map(([right, down]) => ({ x: cx + right * digitRoom, y: cy + down * digitRoom }));
    const isFree = (place: { readonly x: number; readonly y: number }) =>
      taken.every(
        (each) => Math.max(Math.abs(each.x - place.x), Math.abs(each.y - place.y)) >= digitRoom - 1,
      );
    const place = places.find(isFree) ?? { x: cx, y: cy };
    taken.push(place);
    return html`<text x="${at(place.x)}" y="${at(place.y)}" text-anchor="middle">${index + 1}</text>`;
  });
}

function namesOf({ layer, count }: Point): string {
  return count > 1 ? `${layer.node} and ${count - 1} alike` : layer.node;
}

/** Of each. */
function timeOf({ layer, count }: Point): string {
  const each = `${duration(layer.microseconds)}, ${percent(layer.share)}`;
  return count > 1 ? `${count} × ${each}` : each;
}

function itemMarkup(point: Point): Markup {
  const { op, sizes, bound } = point.layer;
  return html`<li><strong>${op}</strong> ${timeOf(point)}<br><span class="name">${namesOf(point)}</span><br><span class="dim">${sizesText(
    sizes,
  )}; ${boundText(bound)}</span></li>`;
}

function captionOf(
  layers: readonly LayerReport[],
  points: readonly Point[],
  drawn: number,
  { kind, source }: CeilingsReport,
): string {
  const shown = points.reduce((sum, { count }) => sum + count, 0);
  const without = layers.length - shown;
  const left = points.length - drawn;
  const parts = [
    `Layers by ${rateWord(layers)} rate; areas grow with their share of the time.`,
    kind === "measured"
      ? `Roofs as measured on one machine (${source}).`
      : `Roofs by the datasheet (${source}).`,
    without > 0 ? `Not drawn: ${counted(without, "layer")} without arithmetic.` : "",
    left > 0 ? `Not drawn: ${counted(left, "smaller point")}.` : "",
  ];
  return parts.filter((part) => part !== "").join(" ");
}
