import { defineConfig } from "vitest/config";
import { projectsWithout } from "./vitest.config.ts";

/** `npm run test:fast`: what takes less than a few seconds a file; no built command line, no ONNX Runtime, no whole models. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: projectsWithout([
      "test/{api,cli,fix,fuzz,hooks,reliability,verify}/**",
      "test/package.test.ts",
      "test/**/*{zoo,random,fuzz,node-tests,models,oracle,robustness,contracts}*",
      "test/{limits/guard,gpu/calibration,gpu/plan-sizes}.test.ts",
      "test/passes/{half-overflow,half-evidence,fold,emitters-modes,align-relations}.test.ts",
      "test/onnx/{bad-inputs,write}.test.ts",
      "test/report/formats.test.ts",
      "test/report/html/**",
      "test/site/{results,use}.test.ts",
      "test/cuda-runtime/{session,patterns}/**",
      "test/cuda-runtime/{ptx/chain,kernels/gemm,plan/scale,plan/control}.test.ts",
    ]),
  },
});
