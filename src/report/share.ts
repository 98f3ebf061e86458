/** @file A saving beside the model's time. */
import { duration, percent, readsAsNothing } from "../ir/format.ts";
import type { Finding, FindingGroup, SavingReport } from "../lint/result.ts";

type Saved = Pick<SavingReport, "microseconds" | "share" | "asStored">;

/**
 * What findings that are told together save: what their entries do, each once, or, of an entry that has others elsewhere, no more than that;
 * null where none of them saves time.
 */
export function savedTogether(findings: readonly Finding[], groups: readonly FindingGroup[]): Saved | null {
  const told = new Map(findings.map((finding) => [finding.fingerprint, finding]));
  let [microseconds, share] = [0, 0];
  let saves = false;
  const add = (saved: Saved) => {
    saves = true;
    microseconds += saved.microseconds;
    share += saved.share;
  };
  for (const { findings: all, saves: whole } of groups) {
    const own = all.flatMap((fingerprint) => told.get(fingerprint) ?? []);
    for (const { fingerprint } of own) told.delete(fingerprint);
    if (own.length === 0 || whole === null) continue;
    const part = total(own);
    add(own.length === all.length || part.microseconds > whole.microseconds ? whole : part);
  }
  for (const { saves: alone } of told.values()) if (alone !== null) add(alone);
  return saves ? { microseconds, share } : null;
}

function total(findings: readonly Finding[]): Saved {
  let [microseconds, share] = [0, 0];
  for (const { saves } of findings) {
    microseconds += saves?.microseconds ?? 0;
    share += saves?.share ?? 0;
  }
  return { microseconds, share };
}

/** `19.1 µs (12 %)`, `24.8 µs (3 %; as stored 17.9 µs)`. */
export function savedText(saves: Saved): string {
  const { microseconds, share } = saves;
  return `${duration(microseconds)} (${percent(share)}${storedText(saves)})`;
}

/** What is sure, what may save nothing, and what is a cost. */
export function claimVerb({ microseconds, low, high }: Omit<SavingReport, "share" | "of">): string {
  if (microseconds < 0) return high < 0 ? "costs" : "may cost";
  return low > 0 ? "saves" : "may save";
}

/** As a verb has it beside it. */
export function sizeOf(saves: SavingReport): SavingReport {
  return { ...saves, microseconds: Math.abs(saves.microseconds), share: Math.abs(saves.share) };
}

/** `saves 3.1 µs`, `may cost 1.07 µs`; of a part whose whole has nothing left for it, `saves nothing`. */
export function claimText(saves: SavingReport): string {
  if (readsAsNothing(saves)) return "saves nothing";
  return `${claimVerb(saves)} ${duration(Math.abs(saves.microseconds))}`;
}

/** What it saves of the file as it is stored, where it is told of a file in half that nobody is told to store. */
export function storedText({ asStored }: Pick<SavingReport, "asStored">): string {
  if (asStored === undefined) return "";
  return asStored.microseconds > 0 ? `; as stored ${duration(asStored.microseconds)}` : "; nothing as stored";
}

/** `12 % of 159 µs`: of the time that the share is of, which another precision's is not the predicted one. */
export function shareOfText(saves: SavingReport): string {
  const { microseconds, share } = sizeOf(saves);
  return share > 0 ? `${percent(share)} of ${duration(microseconds / share)}` : percent(share);
}
