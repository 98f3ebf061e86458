/** @file The machine model: every row makes a machine that can be, and devices find theirs. */
import { describe, expect, test } from "vitest";
import { architectureOf, capabilityOf, isSupported } from "../../src/hardware/architectures.ts";
import { gpus } from "../../src/hardware/gpus.ts";
import { type DeviceFacts, machineNamed, machineOf, machineOfDevice } from "../../src/hardware/machine.ts";

const h200Device: DeviceFacts = {
  name: "NVIDIA H200",
  computeCapability: 90,
  multiprocessors: 132,
  sharedBytesPerBlock: 232_448,
  clockMegahertz: 1980,
  memoryBytesPerSecond: 4.8e12,
};

describe("machines of GPU rows", () => {
  test.each([...gpus.values()])("$id can be", (gpu) => {
    const machine = machineOf(gpu);
    const { flopPerClock, bandwidth, bytesPerClock, features } = machine;
    // A multiprocessor has four Tensor Cores of a power of two each: an FP32-accumulating rate between Volta's and Blackwell's.
    expect(flopPerClock.half).toBeGreaterThan(500);
    expect(flopPerClock.half).toBeLessThan(4200);
    expect(flopPerClock.half).toBeGreaterThan(1.9 * flopPerClock.cuda);
    expect(bandwidth.dram).toBeLessThan(bandwidth.l2);
    expect(bandwidth.dram).toBeCloseTo(
      bytesPerClock.dram * machine.multiprocessors * machine.clocksPerMicrosecond,
    );
    expect(flopPerClock.wgmma > 0).toBe(features.wgmma);
    expect(flopPerClock.tf32 > 0).toBe(features.tf32);
    // The data sheet's FP32 is its CUDA cores, two operations each, at its clock; H100s and B200s are sold at another one.
    const promised = (gpu.cudaTflops * 1e6) / (gpu.sms * gpu.clockMHz);
    expect(Math.abs(Math.log(promised / flopPerClock.cuda))).toBeLessThan(0.1);
  });

  test("GPUs of one architecture have the rates of their own rows", () => {
    // GeForce cards halve the Tensor Cores' rate where they sum in FP32.
    const rate = (id: string) => machineNamed(id).flopPerClock.half;
    expect(rate("a10") / rate("rtx3090")).toBeCloseTo(2, 1);
    expect(rate("l40s") / rate("rtx4090")).toBeCloseTo(2, 0);
    expect(rate("orin") / rate("a10")).toBeCloseTo(2, 1);
  });

  test("an H200 sustains what it was measured to", () => {
    const { clocksPerMicrosecond, bandwidth, flopPerClock } = machineNamed("h200");
    expect(clocksPerMicrosecond).toBeCloseTo(1750);
    expect(bandwidth.dram / 4.158e6).toBeCloseTo(1);
    expect(bandwidth.l2 / 6.006e6).toBeCloseTo(1);
    expect(flopPerClock.half / 2540).toBeCloseTo(1, 3);
  });
});

describe("architectures", () => {
  test("are found by the newest that is no newer", () => {
    expect(
      [75, 80, 86, 87, 89, 90, 100, 103, 120].map((capability) => architectureOf(capability).name),
    ).toEqual([
      "turing",
      "ampere",
      "ampere-graphics",
      "ampere-graphics",
      "ada",
      "hopper",
      "blackwell",
      "blackwell",
      "blackwell-graphics",
    ]);
    expect(architectureOf(52).features.half).toBe(false);
  });

  test("have the Tensor Cores of every GPU that the kernels support, and wgmma on Hopper alone", () => {
    for (const gpu of gpus.values()) {
      const capability = capabilityOf(gpu);
      const { features } = architectureOf(capability);
      expect(features.half, gpu.id).toBe(isSupported(capability));
      expect(features.bf16, gpu.id).toBe(gpu.tensorTflops.bf16 !== undefined);
      expect(features.wgmma, gpu.id).toBe(capability === 90);
    }
  });
});

describe("machines of devices", () => {
  test("are their row's", () => {
    expect(machineOfDevice(h200Device)).toEqual(machineNamed("h200"));
  });

  test("with fewer multiprocessors have as much less, but all of the memory", () => {
    const [whole, part] = [132, 60].map((multiprocessors) =>
      machineOfDevice({ ...h200Device, multiprocessors }),
    );
    expect(part?.flopPerClock.half).toBeCloseTo(whole?.flopPerClock.half ?? 0);
    expect(part?.bandwidth.dram).toBe(whole?.bandwidth.dram);
    expect((part?.bandwidth.l2 ?? 0) / (whole?.bandwidth.l2 ?? 1)).toBeCloseTo(60 / 132);
  });

  test("without a row are multiprocessors of a relative at the device's own clock and memory", () => {
    const device = {
      ...{ name: "NVIDIA RTX 6000 Ada Generation", computeCapability: 89, multiprocessors: 142 },
      ...{ sharedBytesPerBlock: 101_376, clockMegahertz: 2505, memoryBytesPerSecond: 9.6e11 },
    };
    const machine = machineOfDevice(device);
    expect(machine).toMatchObject({
      architecture: "ada",
      multiprocessors: 142,
      sharedBytesPerBlock: 101_376,
    });
    expect(machine.flopPerClock.half).toBeCloseTo(machineNamed("l4").flopPerClock.half);
    expect(machine.bandwidth.dram / machineNamed("h200").bandwidth.dram).toBeCloseTo(960 / 4800);
    const silent = machineOfDevice({ ...device, memoryBytesPerSecond: 0, clockMegahertz: 0 });
    expect(silent.bandwidth.dram / machineNamed("l4").bandwidth.dram).toBeCloseTo(142 / 58);
    // Newer than every row.
    expect(machineOfDevice({ ...device, computeCapability: 130 }).architecture).toBe("blackwell-graphics");
  });
});
