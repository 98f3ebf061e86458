/** @file A worker thread: lints the models it is sent, one at a time. */
import { parentPort } from "node:worker_threads";
import { invariant } from "../ir/errors.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { failureOf } from "./failed-report.ts";
import { lintFile } from "./lint-file.ts";
import { prepare } from "./prepare.ts";

invariant(parentPort !== null, "worker.ts runs in a worker thread only");
const port = parentPort;
port.on("message", (plan: LintPlan) => {
  void prepare(plan)
    .then(() => lintFile(plan))
    .catch((error: unknown) => failureOf(plan, error))
    .then((outcome) => port.postMessage(outcome));
});
