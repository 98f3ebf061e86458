/** Where other kernels take the place of a finding's, it saves no more than leaves their launches. */
import { expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { machineOf } from "../../src/hardware/machine.ts";
import { eachModel, zooModel } from "../zoo.ts";

const gpu = findGpu("h200");
if (gpu === undefined) throw new Error("no row of GPUs is h200's");
const { launchMicroseconds } = machineOf(gpu);

const replaced: ReadonlySet<string> = new Set(["TC401", "TC402", "TC406"]);

eachModel(["sd_unet", "mobilevit_xs", "siglip_so400m_d2", "swin_tiny"])(
  "%s: attention and patches leave a kernel each",
  async (name) => {
    const { findings } = await lint(zooModel(name), { stack: "ort-cuda" });
    const saving = findings.flatMap(({ code, saves }) =>
      replaced.has(code) && saves !== null ? [saves] : [],
    );
    expect(saving.length).toBeGreaterThan(0);
    for (const { high, of } of saving) expect(high).toBeLessThanOrEqual(of - launchMicroseconds + 1e-6);
  },
);
