/** @file A model's account as a waterfall: a bar a step, what it saves of the one before, and how far the truth may be. */

import { duration, durationRange } from "../../ir/format.ts";
import { maxOf } from "../../ir/lists.ts";
import type { AccountStep } from "../../lint/result.ts";
import { accountCells, rowsOf } from "../account-text.ts";
import { at, html, type Markup } from "./markup.ts";
import { scaleOf } from "./scale.ts";

/** Of an axis; bars are stretched to their column. */
const width = 1000;
const height = 28;
/** An interval that reaches further beyond the longest bar is cut there: else bars are too short to compare. */
const furthest = 1.6;

export function accountMarkup(account: readonly AccountStep[]): Markup {
  if (account.length === 0) return html``;
  const longest = maxOf(account.map(({ microseconds }) => microseconds));
  const highest = maxOf(account.map(({ high }) => high));
  const most = Math.min(highest, furthest * longest);
  const steps = rowsOf(account);
  const rows = steps.map((step, index) => {
    const [name, time, saving, how] = accountCells(step, account);
    return html`<tr><th scope="row">${name}</th><td class="bar">${bar(step, steps[index - 1], most)}</td
><td class="num"><strong>${time}</strong></td><td class="num dim">${step.measured === true ? "measured" : durationRange(step.low, step.high)}</td
><td>${index === 0 ? "" : saving}</td><td class="how">${how}</td></tr>`;
  });
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Account"><table class="account">
<thead><tr><th scope="col">Step</th><th scope="col" class="axis">${axis(most)}</th><th scope="col" class="num">One run</th
><th scope="col" class="num">90 % interval</th><th scope="col">Of the step before</th><th scope="col">How</th></tr></thead>
<tbody>${rows}</tbody></table></div>
<p class="legend"><span class="key now"></span>time after the step <span class="key saved"></span>what it saves
<span class="key cost"></span>what it costs <span class="key range"></span>90 % interval</p>`;
}

function bar(step: AccountStep, before: AccountStep | undefined, most: number): Markup {
  const x = (microseconds: number) => (most > 0 ? Math.min(width, (microseconds / most) * width) : 0);
  const { microseconds, low, high } = step;
  const was = before?.microseconds ?? microseconds;
  const change = Math.abs(x(was) - x(microseconds));
  const isCost = microseconds > was;
  const kept = isCost ? x(was) : x(microseconds);
  return html`<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" aria-hidden="true">
<rect class="now" x="0" y="6" width="${at(kept)}" height="16"/>${
    change > 0
      ? html`<rect class="${isCost ? "cost" : "saved"}" x="${at(kept)}" y="6" width="${at(change)}" height="16"/>`
      : ""
  }<path class="range" d="M${at(x(low))} 14H${at(x(high))}M${at(x(low))} 9V19${high > most ? "" : `M${at(x(high))} 9V19`}"/></svg>`;
}

function axis(most: number): Markup {
  const ticks = scaleOf(most, 4);
  return html`<span class="ticks">${ticks.map(
    (tick) => html`<span style="left:${at((100 * tick) / (most || 1))}%">${duration(tick)}</span>`,
  )}</span><span class="sr">Time</span>`;
}
