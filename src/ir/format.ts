/** @file Numbers and counts as people read them. */

/** Three significant digits with the unit that keeps them short: `12.3 µs`, `1.96 ms`, `2.1 s`. */
export function duration(microseconds: number): string {
  const { divisor, unit } = unitOf(microseconds);
  return `${significant(microseconds / divisor)} ${unit}`;
}

/** `1.7 to 2.1 ms`; `277 µs to 1.04 ms` where the ends have units of their own. */
export function durationRange(low: number, high: number): string {
  const { divisor, unit } = unitOf(high);
  const own = unitOf(low);
  if (low !== 0 && own.unit !== unit) return `${duration(low)} to ${duration(high)}`;
  return `${significant(low / divisor)} to ${significant(high / divisor)} ${unit}`;
}

/** Said where a saving's interval would be: one from a gain to a loss of more than all the time that it is a part of tells nobody anything. */
export const noInterval = "no interval: as wide as the time itself";

/** Said where both ends of an interval read as 0. */
const noDifference = "no difference";

/**
 * Of a saving of what takes `of` microseconds now: `4.2 to 13.6 µs`, or that there is no interval; of a sure cost what that is, and of what may be either
 * `7.1 less to 1.3 µs more`, whichever is predicted. A lower end of 0 is nobody's prediction: what is sure by itself is left with a whole that may save
 * nothing. Widths add up apart from times, and nobody saves more than all.
 */
export function savingRange(saves: Ends, of: number): string {
  if (tellsNothing(saves, of)) return noInterval;
  const { low } = saves;
  const high = Math.min(saves.high, Math.max(of, low));
  if (readsAsNothing(saves)) return noDifference;
  if (isEither(saves)) return eitherRange(high, -low);
  const [least, most] = high > 0 ? [low, high] : [0 - high, 0 - low];
  return least === 0 && most > 0 ? `up to ${duration(most)}` : durationRange(least, most);
}

/** The same where no verb stands beside it: `4.2 to 13.6 µs less`, `3 to 20 µs more`. */
export function changeRange(saves: Ends, of: number): string {
  const range = savingRange(saves, of);
  if (range === noInterval || range === noDifference || isEither(saves)) return range;
  return `${range} ${saves.high > 0 ? "less" : "more"}`;
}

/** Whether both ends are too small for a figure of theirs. */
export function readsAsNothing({ low, high }: Ends): boolean {
  return significant(low) === "0" && significant(high) === "0";
}

interface Ends {
  readonly low: number;
  readonly high: number;
}

/** Whether it may be a saving and may be a cost. */
export function isEither({ low, high }: Ends): boolean {
  return low < 0 && high > 0;
}

function eitherRange(less: number, more: number): string {
  const isOne = unitOf(less).unit === unitOf(more).unit;
  const { divisor } = unitOf(more);
  return `${isOne ? significant(less / divisor) : duration(less)} less to ${duration(more)} more`;
}

export function tellsNothing({ low, high }: Ends, of: number): boolean {
  return low < -of && high > 0;
}

function unitOf(microseconds: number): { divisor: number; unit: string } {
  const size = Math.abs(microseconds);
  if (size >= 999_500) return { divisor: 1e6, unit: "s" };
  return size >= 999.5 ? { divisor: 1e3, unit: "ms" } : { divisor: 1, unit: "µs" };
}

/** Three significant digits, without trailing zeros and without exponents. */
export function significant(value: number): string {
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return String(Math.round(value));
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  const text = Number(value.toFixed(Math.min(digits, 6))).toString();
  return text === "-0" ? "0" : text;
}

/** `63 %`, `4.2 %`, `0.03 %`. */
export function percent(share: number): string {
  const value = share * 100;
  const text =
    value !== 0 && Math.abs(value) < 10 ? String(Number(value.toPrecision(2))) : String(Math.round(value));
  return `${text} %`;
}

/** `25.6 M`, `1.2 k`, `17`. */
export function compact(count: number): string {
  const steps: readonly (readonly [number, string])[] = [
    [1e15, "P"],
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [size, letter] of steps)
    if (Math.abs(count) >= 0.9995 * size) return `${significant(count / size)} ${letter}`;
  return significant(count);
}

/** `1 warning`, `3 warnings`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** More than anybody reads, and than models that people draw have; a file may list millions. */
const longestList = 10_000;

/** The head of a list that is as long as a file says, and a line about the rest of it, and where that is, if there is one. */
export function headOf<Item>(
  items: readonly Item[],
  most = longestList,
  elsewhere = "--format json lists them all",
): { readonly shown: readonly Item[]; readonly more: readonly string[] } {
  if (items.length <= most) return { shown: items, more: [] };
  const left = (items.length - most).toLocaleString("en-US");
  return { shown: items.slice(0, most), more: [`… and ${left} more (${elsewhere})`] };
}

/** Longer text is cut in its middle: both ends of a node's name say something. */
export function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.ceil((width - 1) / 2);
  // A character of two units that is cut through would be no text at all.
  const start = text.slice(0, head).replace(/[\ud800-\udbff]$/, "");
  const end = text.slice(text.length - (width - 1 - head)).replace(/^[\udc00-\udfff]/, "");
  return `${start}…${end}`;
}

/** Longer than any name that says something, shorter than what fills a screen. */
const longestText = 1000;

/**
 * Text of a model, of a file or of an error, for people to read. It may hold anything: control characters must not reach a
 * terminal nor break a line, a line must not start a workflow command (`::`, `##[`), and no name fills the screen.
 */
export function printable(text: string): string {
  return plain(shortened(text, longestText)).replace(/^(\s*)(::|##\[)/, "$1\\$2");
}

/** Control characters, line breaks, marks of direction and halves of characters, each spelt out. */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/**
 * `predicted to save 3.1 µs (7 less to 1 µs more), and may save nothing`, of what takes `of` now; what is expected to cost says so, and what is sure to
 * cost says no more.
 */
export function unsureSavingText(
  saves: Ends & { readonly microseconds: number },
  of: number,
  why = "and may save nothing",
): string {
  const { microseconds, high } = saves;
  const verb = microseconds >= 0 ? "save" : "cost";
  const claim = `predicted to ${verb} ${duration(Math.abs(microseconds))} (${savingRange(saves, of)})`;
  if (microseconds >= 0) return `${claim}, ${why}`;
  return high < 0 ? claim : `${claim}, though it may save time`;
}
