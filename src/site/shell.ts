/** @file The page itself, which scripts/build-site.mjs writes: one file, whose policy lets nothing in and nothing out. */
import { createHash } from "node:crypto";
import { gpus } from "../hardware/gpus.ts";
import { stacks } from "../hardware/stacks.ts";
import { html, type Markup, trusted } from "../report/html/markup.ts";
import { style } from "../report/html/style.ts";
import { precisions } from "../settings/rule-selectors.ts";
import { standard } from "../settings/standard.ts";
import { version } from "../version.ts";
import { siteStyle } from "./style.ts";

export interface Scripts {
  /** What the page runs. */
  readonly page: string;
  /** What its worker runs: part of the page, so that the page's policy holds for the worker, and nothing is fetched. */
  readonly engine: string;
  /** What reports run. */
  readonly report: string;
}

/** Throws where a script would end the element that holds it. */
export function shellOf({ page, engine, report }: Scripts): string {
  for (const [name, text] of Object.entries({ page, engine, report }))
    if (/<\/script|<!--/i.test(text)) throw new Error(`the ${name}'s script cannot stand in a page`);
  // Styles of a report's bars stand at the bars: no hash names these.
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(page)} ${hashOf(report)}`,
    "style-src 'unsafe-inline'",
    "worker-src blob:",
    "frame-src blob:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${trusted(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">
<title>tc-lint: what keeps a model off the Tensor Cores</title><style>${trusted(style + siteStyle)}</style></head>
<body class="site"><a class="skip" href="#main">Skip to the form</a>
<header><div class="bar"><h1>tc-lint <span class="dim">${version}</span></h1><p class="promise">The model stays on this machine: the page asks for nothing and sends nothing.</p><button type="button" id="theme" aria-pressed="false">Dark</button></div></header>
<main id="main">${formMarkup()}
<div class="actions"><p role="status" id="status"></p><progress id="progress" aria-label="Linting" hidden></progress><button type="button" id="cancel" hidden>Cancel</button></div>
<div id="failure" role="alert"></div>
<section id="results" aria-label="Results" hidden><div class="actions"><a class="button" id="page">Report (HTML)</a><a class="button" id="json">Report (JSON)</a><button type="button" id="fix">Make the fixed model</button></div>
<div id="fixed" hidden></div></section></main>
<iframe id="report" title="Report" hidden></iframe>
<script type="text/plain" id="engine">${trusted(engine)}</script>
<script>${trusted(page)}</script></body></html>
`.text;
}

function hashOf(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}

function formMarkup(): Markup {
  // Its account is the bundled runtime's own plan, whose planner is not part of the page.
  const priced = Object.values(stacks).filter(({ id }) => id !== "tc-runtime");
  const gpuRows = [...gpus.values()].map(({ id, name }) => ({ id, name }));
  const types = precisions.map((id) => ({ id, name: id }));
  return html`<form id="form"><div class="drop" id="drop"><label for="files">Drop an ONNX model here, together with its external data, or choose the files</label><input type="file" id="files" multiple><p class="dim" id="chosen">It is linted as soon as it is there; weights may be left out, and are needed for a fixed model alone.</p></div>
<fieldset><legend class="sr">Target</legend>${select("gpu", "GPU", gpuRows, standard.gpu)}${select("stack", "Runs on", priced, standard.stack)}${select("precision", "Precision", types, standard.precision)}
<div class="field"><label for="dims">Sizes of dimensions</label><input type="text" id="dims" name="dims" placeholder="batch=8 sequence=128" autocomplete="off" spellcheck="false"></div>
<button type="submit" class="main" id="lint" disabled>Lint</button></fieldset></form>`;
}

interface Choice {
  readonly id: string;
  readonly name: string;
}

function select(id: string, label: string, choices: readonly Choice[], chosen: string): Markup {
  const options = choices.map((choice) =>
    choice.id === chosen
      ? html`<option value="${choice.id}" selected>${choice.name}</option>`
      : html`<option value="${choice.id}">${choice.name}</option>`,
  );
  return html`<div class="field"><label for="${id}">${label}</label><select id="${id}" name="${id}">${options}</select></div>`;
}
