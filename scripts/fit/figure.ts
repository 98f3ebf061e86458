/** @file Predicted against measured, a panel a family, as SVG text that needs no script and no font file. */

export interface Panel {
  readonly title: string;
  readonly note: string;
  /** [measured, predicted] in microseconds. */
  readonly points: readonly (readonly [number, number])[];
}

const side = 230;
const gap = 46;
const margin = { left: 52, top: 54, bottom: 46 };
const perRow = 3;

export function figure(panels: readonly Panel[], title: string): string {
  const rows = Math.ceil(panels.length / perRow);
  const width = margin.left + perRow * (side + gap);
  const height = margin.top + rows * (side + gap + 18) + margin.bottom - gap;
  const drawn = panels.map((panel, index) => {
    const x = margin.left + (index % perRow) * (side + gap);
    const y = margin.top + Math.floor(index / perRow) * (side + gap + 18);
    return `<g transform="translate(${x} ${y})">${drawPanel(panel)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${margin.left}" y="20" font-size="14">${title}</text>
${drawn.join("\n")}
</svg>
`;
}

function drawPanel({ title, note, points }: Panel): string {
  const all = points.flat();
  const low = Math.floor(Math.log10(Math.min(...all)));
  const high = Math.ceil(Math.log10(Math.max(...all)));
  const scale = (microseconds: number) => ((Math.log10(microseconds) - low) / (high - low)) * side;
  const decades = Array.from({ length: high - low + 1 }, (_, step) => low + step);
  const grid = decades.map((decade) => {
    const at = ((decade - low) / (high - low)) * side;
    const label = decade < 0 ? (10 ** decade).toFixed(-decade) : String(10 ** decade);
    return (
      `<path d="M${at.toFixed(1)} 0v${side}M0 ${(side - at).toFixed(1)}h${side}" stroke="#ddd" fill="none"/>` +
      `<text x="${at.toFixed(1)}" y="${side + 14}" text-anchor="middle">${label}</text>` +
      `<text x="-6" y="${(side - at + 4).toFixed(1)}" text-anchor="end">${label}</text>`
    );
  });
  // A stroke of no length with round caps is a dot, in ten bytes.
  const dots = points.map(([x, y]) => `M${scale(x).toFixed(1)} ${(side - scale(y)).toFixed(1)}h0`).join("");
  return `<text y="-20" font-size="12" font-weight="bold">${title}</text><text y="-6" fill="#555">${note}</text>
${grid.join("")}
<path d="M0 ${side}L${side} 0" stroke="#c33" fill="none"/>
<path d="${dots}" stroke="#1f5fa8" stroke-opacity="0.45" stroke-width="2.6" stroke-linecap="round" fill="none"/>
<text x="${side / 2}" y="${side + 29}" text-anchor="middle" fill="#555">measured µs</text>`;
}
