/** @file The graph around a finding, laid out in layers from top to bottom and drawn as SVG: nothing is left to do in the browser. */

import { Graph, layout } from "@dagrejs/dagre";
import { counted, duration, plain, shortened } from "../../ir/format.ts";
import { maxOf } from "../../ir/lists.ts";
import type { SurroundingNode, SurroundingsReport } from "../../lint/result.ts";
import { at, html, type Markup } from "./markup.ts";

/** Of the monospaced letters that it is written in, at 11 px: widths are known before anything is drawn. */
const letterWidth = 6.65;
const lineHeight = 15;
const padding = 8;
const longestName = 30;
const longestType = 26;
const mostConstants = 2;

interface Box {
  readonly node: SurroundingNode;
  readonly lines: readonly string[];
  readonly width: number;
  readonly height: number;
}

interface Placed {
  readonly x: number;
  readonly y: number;
}

export function graphMarkup(surroundings: SurroundingsReport, found: ReadonlySet<string>): Markup {
  const boxes = surroundings.nodes.map(boxOf);
  const graph = laidOut(boxes, surroundings);
  const { width = 0, height = 0 } = graph.graph();
  const isFound = (index: number) => index === 0 || found.has(boxes[index]?.node.node ?? "");
  const nodes = boxes.map((box, index) => nodeMarkup(box, graph.node(String(index)), isFound(index)));
  const edges = surroundings.edges.map((edge, index) => {
    const { points = [], x, y } = graph.edge(String(edge.from), String(edge.to), String(index));
    return edgeMarkup(
      points,
      shortened(edge.type, longestType),
      x === undefined || y === undefined ? undefined : { x, y },
    );
  });
  const label = `Graph around ${boxes[0]?.node.node ?? ""}`;
  return html`<figure class="graph"><div class="scroll" tabindex="0" role="group" aria-label="${label}"
><svg role="img" aria-label="${label}" width="${at(width)}" height="${at(height)}" viewBox="0 0 ${at(width)} ${at(height)}">
<g class="edges">${edges}</g>${nodes}</svg></div></figure>`;
}

function boxOf(node: SurroundingNode): Box {
  const { op, microseconds, constants, more } = node;
  const time = microseconds === null ? "" : `  ${duration(microseconds)}`;
  const shown = constants.slice(0, mostConstants).map((type) => shortened(type, longestName));
  const rest =
    constants.length > shown.length ? [`+${counted(constants.length - shown.length, "constant")}`] : [];
  const lines = [
    `${shortened(plain(op), longestName)}${time}`,
    shortened(plain(node.node), longestName),
    ...shown,
    ...rest,
    ...(more > 0 ? [`+${more === 999 ? "999 or more" : more} not shown`] : []),
  ];
  const letters = maxOf(lines.map(({ length }) => length));
  return {
    node,
    lines,
    width: letters * letterWidth + 2 * padding,
    height: lines.length * lineHeight + padding,
  };
}

function laidOut(boxes: readonly Box[], { edges }: SurroundingsReport): Graph {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: 18, edgesep: 10, ranksep: 22, marginx: 6, marginy: 6 });
  boxes.forEach(({ width, height }, index) => {
    graph.setNode(String(index), { width, height });
  });
  edges.forEach(({ from, to, type }, index) => {
    const width = Math.min(type.length, longestType) * letterWidth + 8;
    graph.setEdge(String(from), String(to), { width, height: lineHeight, labelpos: "c" }, String(index));
  });
  layout(graph);
  return graph;
}

function nodeMarkup(
  { node, lines, width, height }: Box,
  { x, y }: Partial<Placed>,
  isFound: boolean,
): Markup {
  if (x === undefined || y === undefined) return html``;
  const [left, top] = [x - width / 2, y - height / 2];
  const texts = lines.map((line, index) => {
    const kind = index === 0 ? "op" : index === 1 ? "name" : "type";
    return html`<text class="${kind}" x="${at(x)}" y="${at(top + padding + 7 + index * lineHeight)}">${line}</text>`;
  });
  return html`<g class="${isFound ? "node found" : "node"}"><title>${node.op} ${node.node}${node.constants.map((type) => html`\n${type}`)}</title
><rect x="${at(left)}" y="${at(top)}" width="${at(width)}" height="${at(height)}" rx="3"/>${texts}</g>`;
}

function edgeMarkup(points: readonly Placed[], type: string, label: Placed | undefined): Markup {
  const path = points.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${at(x)} ${at(y)}`).join("");
  const text =
    label === undefined
      ? ""
      : html`<text class="type" x="${at(label.x)}" y="${at(label.y + 4)}">${type}</text>`;
  return html`<path d="${path}"/>${arrow(points)}${text}`;
}

/** A head at the last point, along the last line: markers of SVG would need names, which several drawings would share. */
function arrow(points: readonly Placed[]): Markup {
  const [from, to] = [points.at(-2), points.at(-1)];
  if (from === undefined || to === undefined) return html``;
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const corner = (side: number) =>
    `${at(to.x - 7 * dx - side * 3.5 * dy)} ${at(to.y - 7 * dy + side * 3.5 * dx)}`;
  return html`<path class="head" d="M${at(to.x)} ${at(to.y)}L${corner(1)}L${corner(-1)}Z"/>`;
}
