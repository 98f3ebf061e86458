/** @file A worker thread: lints the models it is sent, one at a time. */
import { parentPort } from "node:worker_threads";
import { invariant } from "../ir/errors.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { lintFile } from "./lint-file.ts";
import { loadTimelines, stacksOf } from "./timelines.ts";

invariant(parentPort !== null, "worker.ts runs in a worker thread only");
const port = parentPort;
port.on("message", (plan: LintPlan) => {
  void loadTimelines(stacksOf(plan.settings)).then(() => port.postMessage(lintFile(plan)));
});
