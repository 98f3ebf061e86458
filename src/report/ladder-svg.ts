/** @file Ladders as a plot: a panel a piece of work, a bar a rung, by speed; text that needs no script and no font file. */
import type { LadderReport, WorkReport } from "../gpu/ladder/report.ts";
import { percent, printable, significant } from "../ir/format.ts";
import { maxOf, minOf } from "../ir/lists.ts";
import { type XmlElement, xmlText } from "./xml.ts";

const bar = { height: 14, pitch: 20 };
const plot = { left: 230, width: 470, right: 130 };
const panel = { title: 30, axis: 34 };
const top = 40;

const colors = {
  rung: "#1f5fa8",
  wrong: "#c33",
  peer: "#888",
  bound: "none",
  roofline: "#c33",
  grid: "#ddd",
  quiet: "#555",
} as const;

/** Behind figures that lines cross. */
const halo = { "paint-order": "stroke", stroke: "#fff", "stroke-width": 3 } as const;

interface Bar {
  readonly name: string;
  readonly speed: number;
  readonly fill: string;
  readonly note: string;
}

export function renderLadderSvg(report: LadderReport): string {
  const { works, gpu, driver } = report;
  const panels: XmlElement[] = [];
  let y = top;
  for (const work of works) {
    const bars = barsOf(work);
    panels.push(drawPanel(work, bars, y));
    y += panel.title + bars.length * bar.pitch + panel.axis;
  }
  const width = plot.left + plot.width + plot.right;
  return xmlText({
    name: "svg",
    attributes: {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${y}`,
      "font-family": "sans-serif",
      "font-size": 11,
      fill: "#222",
    },
    children: [
      { name: "rect", attributes: { width: "100%", height: "100%", fill: "#fff" } },
      label(`Ladders on ${printable(gpu.name)}, driver ${driver}`, { x: 12, y: 20, "font-size": 14 }),
      ...panels,
    ],
  });
}

/** TFLOP/s of products, else GB/s. */
function barsOf({ isProduct, flops, leastBytes, rungs, bounds, peer }: WorkReport): Bar[] {
  const speed = (microseconds: number) => (isProduct ? flops / 1e6 : leastBytes / 1e3) / microseconds;
  return [
    ...rungs.map(({ name, microseconds, rooflineShare, isRight }, at) => ({
      name: `${at + 1} ${name}`,
      speed: speed(microseconds),
      fill: isRight ? colors.rung : colors.wrong,
      note: isRight ? (rooflineShare === undefined ? "" : `, ${percent(rooflineShare)}`) : ", wrong",
    })),
    ...bounds.map(({ name, microseconds }) => ({
      ...{ name, speed: speed(microseconds), fill: colors.bound },
      note: " at most",
    })),
    ...(peer.microseconds === undefined
      ? []
      : [{ name: printable(peer.name), speed: speed(peer.microseconds), fill: colors.peer, note: "" }]),
  ];
}

/** Logarithmic: between two lines of the grid lies a factor of ten. */
function scaleOf(speeds: readonly number[]) {
  const low = Math.floor(Math.log10(minOf(speeds)) - 0.1);
  const high = Math.log10(maxOf(speeds));
  const at = (speed: number) => ((Math.log10(speed) - low) / (high - low)) * plot.width;
  return { at, decades: Array.from({ length: Math.floor(high) - low + 1 }, (_, step) => low + step) };
}

function drawPanel(work: WorkReport, bars: readonly Bar[], y: number): XmlElement {
  const { isProduct, rooflineMicroseconds: roofline, flops, leastBytes } = work;
  const unit = isProduct ? "TFLOP/s" : "GB/s";
  const most = roofline === undefined ? undefined : (isProduct ? flops / 1e6 : leastBytes / 1e3) / roofline;
  const { at, decades } = scaleOf([...bars.map(({ speed }) => speed), ...(most === undefined ? [] : [most])]);
  const height = bars.length * bar.pitch;
  return {
    name: "g",
    attributes: { transform: `translate(${plot.left} ${y + panel.title})` },
    children: [
      label(`${work.ladder}: ${work.work}`, {
        x: 12 - plot.left,
        y: -12,
        "font-size": 12,
        "font-weight": "bold",
      }),
      ...decades.flatMap((decade) => tick(10 ** decade, at(10 ** decade), height)),
      label(unit, { x: plot.width + 30, y: height + 13, fill: colors.quiet }),
      ...(most === undefined ? [] : drawRoofline(at(most), height, `roofline ${significant(most)}`)),
      ...bars.flatMap((each, index) => drawBar(each, at(each.speed), index * bar.pitch)),
    ],
  };
}

function drawBar({ name, speed, fill, note }: Bar, length: number, y: number): XmlElement[] {
  const middle = y + bar.pitch / 2;
  const outline = fill === colors.bound ? { stroke: colors.quiet, "stroke-dasharray": "3 2" } : {};
  return [
    label(name, { x: -6, y: middle + 4, "text-anchor": "end" }),
    {
      name: "rect",
      attributes: {
        x: 0,
        y: middle - bar.height / 2,
        width: tenth(length),
        height: bar.height,
        fill,
        ...outline,
      },
    },
    label(`${significant(speed)}${note}`, { x: tenth(length + 5), y: middle + 4, ...halo }),
  ];
}

function drawRoofline(x: number, height: number, text: string): XmlElement[] {
  return [
    line(x, height, { stroke: colors.roofline, "stroke-dasharray": "4 3" }),
    label(text, { x: tenth(x), y: -3, "text-anchor": "middle", fill: colors.roofline }),
  ];
}

function tick(value: number, x: number, height: number): XmlElement[] {
  return [
    line(x, height, { stroke: colors.grid }),
    label(String(Number(value.toPrecision(1))), { x: tenth(x), y: height + 13, "text-anchor": "middle" }),
  ];
}

function line(x: number, height: number, attributes: XmlElement["attributes"]): XmlElement {
  return { name: "path", attributes: { d: `M${tenth(x)} 0v${height}`, fill: "none", ...attributes } };
}

function label(text: string, attributes: XmlElement["attributes"]): XmlElement {
  return { name: "text", attributes, text: [text] };
}

function tenth(value: number): number {
  return Number(value.toFixed(1));
}
