/** @file What the page does in a browser. Without it everything but the long tables is there: `npm run build` makes dist/report-page.js of it. */
import { showFound } from "./graphs.ts";
import { showLayers } from "./layers.ts";
import { openForPrint, openTarget } from "./sections.ts";
import { addThemes } from "./theme.ts";

addThemes();
openTarget();
openForPrint();
showFound();
for (const element of document.querySelectorAll<HTMLElement>("[data-layers]")) showLayers(element);
