/** @file What the page does: takes files and a target, has them linted, and shows the report that comes of it. */
import { counted, duration, plain } from "../../ir/format.ts";
import { addThemes } from "../../report/html/browser/theme.ts";
import type { Fixed, Job, Linted, Target } from "../protocol.ts";
import { Addresses, offer } from "./downloads.ts";
import { takeDrops } from "./drop.ts";
import { element, made } from "./elements.ts";
import { Engine, type Settled } from "./engine.ts";
import { ReportFrame } from "./report-frame.ts";

const main = element("main", HTMLElement);
const form = element("form", HTMLFormElement);
const input = element("files", HTMLInputElement);
const drop = element("drop", HTMLElement);
const lint = element("lint", HTMLButtonElement);
const cancel = element("cancel", HTMLButtonElement);
const fix = element("fix", HTMLButtonElement);
const progress = element("progress", HTMLProgressElement);
const status = element("status", HTMLElement);
const failure = element("failure", HTMLElement);
const results = element("results", HTMLElement);
const fixed = element("fixed", HTMLElement);
const engine = new Engine();
const frame = new ReportFrame(element("report", HTMLIFrameElement), drop, take);
const [reports, models] = [new Addresses(), new Addresses()];
let files: readonly File[] = [];
/** How many have ended, for who waits for one. */
let jobs = 0;

addThemes();
takeDrops(drop, take);
input.addEventListener("change", () => take([...(input.files ?? [])]));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void work("lint");
});
fix.addEventListener("click", () => void work("fix"));
cancel.addEventListener("click", () => {
  engine.cancel();
  status.textContent = "Cancelled.";
});

function take(given: readonly File[]): void {
  if (given.length === 0) return;
  files = given;
  const bytes = given.reduce((sum, { size }) => sum + size, 0);
  element("chosen", HTMLElement).textContent =
    `${given.map(({ name }) => name).join(", ")}: ${sizeText(bytes)}`;
  lint.disabled = false;
  void work("lint");
}

function sizeText(bytes: number): string {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function targetOf(): Target {
  const value = (name: string) => String(new FormData(form).get(name) ?? "");
  const dims = value("dims")
    .split(/[\s,]+/)
    .filter((text) => text !== "");
  return { gpu: value("gpu"), stack: value("stack"), precision: value("precision"), dims };
}

async function work(kind: Job["kind"]): Promise<void> {
  failure.textContent = "";
  if (kind === "lint") forget();
  const start = performance.now();
  const running = engine.run({ kind, files, target: targetOf() }, (what) => {
    status.textContent = `${plain(what)} …`;
  });
  setBusy(true);
  const answer = await running;
  // Another job may have taken this one's place.
  if (answer === undefined && engine.isRunning) return;
  setBusy(false);
  if (answer !== undefined) show(answer, (performance.now() - start) / 1000);
  jobs += 1;
  main.dataset["jobs"] = String(jobs);
}

function setBusy(isBusy: boolean): void {
  main.ariaBusy = String(isBusy);
  progress.hidden = !isBusy;
  cancel.hidden = !isBusy;
  fix.disabled = isBusy;
  if (isBusy) status.textContent = "starting …";
}

/** What was said of other files, or of another target. */
function forget(): void {
  reports.clear();
  models.clear();
  results.hidden = true;
  fixed.hidden = true;
  frame.hide();
}

function show(answer: Settled, seconds: number): void {
  if (answer.kind === "failed") {
    status.textContent = "";
    failure.replaceChildren(made("p", made("strong", answer.code), ` ${plain(answer.message)}`));
    failure.firstElementChild?.classList.add("failure");
  } else if (answer.kind === "linted") showReport(answer, seconds);
  else showFixed(answer, seconds);
}

function showReport({ page, json, summary, fixable }: Linted, seconds: number): void {
  const { errors, warnings, infos, failedModels } = summary;
  const failed = failedModels > 0 ? [counted(failedModels, "model failed", "models failed")] : [];
  const entries = [counted(errors, "error"), counted(warnings, "warning"), counted(infos, "info"), ...failed];
  const isClean = errors + warnings + infos + failedModels === 0;
  status.textContent = `${isClean ? "No findings" : entries.join(", ")}, in ${duration(seconds * 1e6)}`;
  const address = reports.of(page);
  offer(element("page", HTMLAnchorElement), address, "tc-lint.html");
  offer(element("json", HTMLAnchorElement), reports.of(json), "tc-lint.json");
  results.hidden = false;
  fix.hidden = fixable.length === 0;
  frame.show(address);
}

function showFixed({ page, downloads, verify }: Fixed, seconds: number): void {
  models.clear();
  const address = models.of(page);
  offer(element("page", HTMLAnchorElement), address, "tc-lint.html");
  frame.show(address);
  status.textContent = `Fixed in ${duration(seconds * 1e6)}.`;
  const links = downloads.map(({ name, content }) => {
    const link = made("a", plain(name));
    offer(link, models.of(content), name);
    return made("li", link, ` ${sizeText(content.size)}`);
  });
  const warning =
    downloads.length === 0
      ? "Nothing was changed."
      : "Not verified here: a browser has no ONNX Runtime to run both models with. Keep the files in the model's own folder, and run there:";
  const commands = verify.length === 0 ? [] : [made("pre", verify.map(plain).join("\n"))];
  for (const each of commands) each.tabIndex = 0;
  fixed.replaceChildren(made("ul", ...links), made("p", warning), ...commands);
  fixed.hidden = false;
}
