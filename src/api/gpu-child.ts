/** @file The script of the GPU's process. */
import { serveTask } from "../../cuda-runtime/session/child.ts";
import { runCase } from "../gpu/case/run.ts";
import { runCounted } from "../gpu/counters/run.ts";
import { runDecode } from "../gpu/decode/run.ts";
import { examine } from "../gpu/doctor.ts";
import { runLadder } from "../gpu/ladder/run.ts";
import type { GpuResult, GpuTask } from "../gpu/protocol.ts";
import { proveFix } from "../gpu/prove/prove.ts";
import { runModels } from "../gpu/run.ts";
import { runSweep } from "../gpu/sweep-run.ts";
import { proposing, withRanges } from "./fix-settings.ts";
import { fixSettings, safeFixSettings } from "./plan-fix.ts";
import { prepare } from "./prepare.ts";
import { loadTimelines } from "./timelines.ts";

serveTask((task: GpuTask, onProgress): Promise<GpuResult> => {
  switch (task.kind) {
    case "doctor":
      return examine(task.kernels);
    case "sweep":
      return runSweep(task, onProgress);
    case "case":
      return runCase(task, onProgress);
    case "counted":
      return loadTimelines(["tc-runtime"])
        .then(() => (task.model.fix === undefined ? undefined : prepare(task.model.fix)))
        .then(() => runCounted(task, safeFixSettings));
    case "ladder":
      return runLadder(task, onProgress);
    case "decode":
      return runDecode(task, safeFixSettings, onProgress);
    case "prove":
      return prepare(task.plan).then(() => {
        const settings = withRanges(fixSettings(task.plan, task.choice), task.ranges);
        return proveFix(task, proposing(settings), onProgress);
      });
    case "run":
      return loadTimelines(["tc-runtime"])
        .then(() =>
          Promise.all(task.runs.flatMap(({ model }) => (model.fix === undefined ? [] : prepare(model.fix)))),
        )
        .then(() => runModels(task, safeFixSettings, onProgress));
  }
});
