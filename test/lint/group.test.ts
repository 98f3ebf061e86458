import { describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { conv, linear } from "../../fixtures/layers.ts";
import { modelFromBytes, openModel } from "../../src/onnx/open.ts";
import { lint } from "../rules/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

/** Layers of one flaw, each too small to matter. */
function deep(layers: number) {
  return (graph: GraphBuilder) => {
    let x = graph.input("x", [64, 766]);
    for (let layer = 0; layer < layers; layer++) x = linear(graph, x, 766, 766, { name: `layer.${layer}` });
    graph.output(x);
  };
}

function lintBytes(bytes: Uint8Array, minSaving: number) {
  using opened = modelFromBytes(bytes);
  return lint(opened, { minSaving });
}

describe("findings of one cause", () => {
  it("are one entry, whose saving is theirs together", () => {
    const { findings, groups } = lintBytes(model({ name: "deep" }, deep(30)), 0.005);
    const own = findings.filter(({ code }) => code === "TC102");
    const [group, ...more] = groups.filter(({ code }) => code === "TC102");
    expect(own).toHaveLength(30);
    expect(more).toEqual([]);
    expect(group?.findings).toEqual(own.map(({ fingerprint }) => fingerprint));
    const sum = own.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
    expect(group?.saves?.microseconds).toBeCloseTo(sum, 9);
  });

  it("are judged together: depth hides nothing from the threshold", () => {
    const bytes = model({ name: "deep" }, deep(30));
    const [group] = lintBytes(bytes, 0).groups.filter(({ code }) => code === "TC102");
    const share = group?.saves?.share ?? 0;
    // More than any one of them saves, less than they do together.
    const { groups } = lintBytes(bytes, share / 2);
    expect(groups.map(({ code }) => code)).toContain("TC102");
    expect(lintBytes(bytes, share * 1.01).groups.map(({ code }) => code)).not.toContain("TC102");
  });
});

/** Layers whose widths all differ, as pruning by structure leaves them. */
function pruned(layers: number) {
  return (graph: GraphBuilder) => {
    let x = graph.input("x", [256, 192]);
    for (let layer = 0; layer < layers; layer++) {
      const width = 517 + 2 * layer;
      x = linear(graph, x, 192, width, { name: `up.${layer}` });
      x = linear(graph, x, width, 192, { name: `down.${layer}` });
    }
    graph.output(x);
  };
}

describe("causes of one rule", () => {
  const bytes = model({ name: "pruned" }, pruned(40));

  it("that are each below the threshold are one entry where together they are not", () => {
    const apart = lintBytes(bytes, 0).groups.filter(({ code }) => code === "TC102");
    const largest = Math.max(...apart.map(({ saves }) => saves?.share ?? 0));
    expect(apart.length).toBeGreaterThan(40);
    const { groups, findings, belowThreshold } = lintBytes(bytes, 1.01 * largest);
    const [group, ...more] = groups.filter(({ code }) => code === "TC102");
    expect(more).toEqual([]);
    expect(belowThreshold.count).toBe(0);
    expect(group?.findings).toHaveLength(apart.flatMap((each) => each.findings).length);
    expect(group?.message).toMatch(/; with \d+ other causes, each below the threshold$/);
    const sum = findings
      .filter(({ code }) => code === "TC102")
      .reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
    expect(group?.saves?.microseconds).toBeCloseTo(sum, 6);
    // Its severity is that of the sum.
    expect(group?.severity).toBe("error");
  });

  it("are counted where all of them are below it", () => {
    const { groups, belowThreshold } = lintBytes(bytes, 0.9);
    expect(groups.filter(({ code }) => code === "TC102")).toEqual([]);
    expect(belowThreshold.count).toBeGreaterThan(40);
  });

  it("have the names that they have by themselves", () => {
    const names = (minSaving: number) =>
      lintBytes(bytes, minSaving)
        .findings.filter(({ code }) => code === "TC102")
        .map(({ fingerprint }) => fingerprint)
        .toSorted();
    expect(names(0.02)).toEqual(names(0));
  });
});

/** Heads of one width on maps of several depths, as detectors have: each its own, none what another reads. */
function heads(depths: readonly number[], width: number) {
  return (graph: GraphBuilder) => {
    for (const channels of depths) {
      const x = graph.input(`x${channels}_${width}`, [32, channels, 40, 40]);
      graph.output(conv(graph, x, { channels, filters: width, name: `head${channels}_${width}` }));
    }
  };
}

/** Products that write one width from rows of several. */
function towers(depths: readonly number[], width: number) {
  return (graph: GraphBuilder) => {
    for (const depth of depths) {
      const x = graph.input(`x${depth}`, [256, depth]);
      graph.output(linear(graph, x, depth, width, { name: `tower${depth}` }));
    }
  };
}

describe("one extent that is padded to one size is one cause, whatever the other sizes are", () => {
  it.each([
    ["TC101", heads([64, 128, 256], 129), "pad outputs from 129 to 136"],
    ["TC102", towers([512, 1024, 2048], 1001), "pad N from 1001 to 1008"],
  ] as const)("%s", (code, build, prescribed) => {
    const { findings, groups } = lintBytes(model({ name: "heads" }, build), 0);
    const own = findings.filter((finding) => finding.code === code);
    const [group, ...more] = groups.filter((each) => each.code === code);
    expect(own).toHaveLength(3);
    expect(more).toEqual([]);
    expect(group?.findings).toEqual(own.map(({ fingerprint }) => fingerprint));
    const sum = own.reduce((total, { saves }) => total + (saves?.microseconds ?? 0), 0);
    expect(group?.saves?.microseconds).toBeCloseTo(sum, 9);
    // Each says its own sizes; together they say what all of them are.
    expect(new Set(own.map(({ message }) => message)).size).toBe(3);
    expect(group?.message).toMatch(new RegExp(`^off the multiple of 8: .*; ${prescribed}$`));
  });

  it("what is padded to another size, or on another side, is another", () => {
    const build = (graph: GraphBuilder) => {
      heads([64, 128], 129)(graph);
      heads([63], 136)(graph);
      heads([64], 121)(graph);
    };
    const { groups, unlisted } = lintBytes(model({ name: "heads" }, build), 0);
    const own = [...groups, ...(unlisted?.groups ?? [])].filter(({ code }) => code === "TC101");
    expect(own.map(({ findings }) => findings.length).sort()).toEqual([1, 1, 2]);
    // Of one size, all of it is said.
    for (const { findings, message } of own)
      if (findings.length === 1) expect(message).toMatch(/^\d+ → \d+ channels, /);
  });

  it("is judged by the sum: no head is worth the threshold, all of them are", () => {
    const bytes = model({ name: "heads" }, heads([64, 128, 256], 129));
    const own = lintBytes(bytes, 0).findings.filter(({ code }) => code === "TC101");
    const shares = own.map(({ saves }) => saves?.share ?? 0);
    const { groups } = lintBytes(bytes, Math.max(...shares) * 1.2);
    expect(groups.filter(({ code }) => code === "TC101").map(({ findings }) => findings.length)).toEqual([3]);
  });
});

describe("of the zoo, at the default threshold", () => {
  eachModel(["resnet50", "sd_unet", "gpt2_dynamo", "siglip_so400m_d2", "video_unet_48", "espcn"])(
    "%s: nothing is claimed that may save nothing, and every finding is in one entry",
    (name) => {
      using opened = openModel(zooModel(name));
      const { findings, groups, uncertain } = lint(opened, { minSaving: 0.005 });
      const doubtful = [...findings, ...groups].filter(({ saves }) => saves !== null && saves.low <= 0);
      expect(doubtful).toEqual([]);
      const fingerprints = findings.map(({ fingerprint }) => fingerprint).sort();
      expect(groups.flatMap((group) => group.findings).sort()).toEqual(fingerprints);
      expect(uncertain.count === 0).toBe(uncertain.microseconds === 0);
    },
  );
});

describe("what is only counted", () => {
  it("is listed apart where it is asked for, and changes no count and no severity", () => {
    using opened = openModel(zooModel("misaligned_cnn"));
    const settings = { minSaving: 0.3 };
    const report = lint(opened, settings);
    expect(report.belowThreshold.count).toBeGreaterThan(0);
    const verbose = lint(opened, { ...settings, verbose: true });
    const { unlisted, findings: all, ...rest } = verbose;
    expect(unlisted?.findings).toHaveLength(report.belowThreshold.count + report.uncertain.count);
    expect(all).toEqual([...report.findings, ...(unlisted?.findings ?? [])]);
    expect({ ...rest, findings: report.findings }).toEqual(report);
  });
});
