/**
 * @file Convolutions of few channels over planes (conv-planes.cu): which there are, what they are predicted to take, and the
 * choice among them. A launch packs the image; positions of the product are numbered through the planes' rows.
 */
import { cheapest } from "../../cost/candidate.ts";
import { passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { type ActivationKind, noActivation } from "../../ir/epilogue.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { distinctCount } from "../../ir/view.ts";
import { type Parts, storageOf } from "./operands.ts";
import {
  type PlaneStage,
  type Planes,
  type PlaneTile,
  planeSharedBytes,
  planesOf,
  planeTiles,
  stageOf,
  storedBytes,
} from "./planes-table.ts";
import { spatialOf, vectorWidth } from "./spatial.ts";

/** How one is computed. */
export interface PlaneChoice {
  readonly planes: Planes;
  readonly tile: PlaneTile;
  readonly stage: PlaneStage;
  readonly stages: number;
  /** Tiles of positions, and of filters. */
  readonly tilesM: number;
  readonly tilesN: number;
  /** That one multiprocessor holds at once. */
  readonly blocks: number;
  readonly packMicroseconds: number;
  readonly productMicroseconds: number;
}

const stageCounts = [4, 3, 2] as const;
const mostBlocks = 2;
const mostElements = 2 ** 31 - 1;

/** The best way over planes, undefined where there is none. `accepts` narrows it, for measurements and tests. */
export function planeChoice(
  emitter: Emitter,
  parts: Parts,
  accepts: (tile: PlaneTile) => boolean = () => true,
): PlaneChoice | undefined {
  const { target } = emitter;
  if (!target.features.wgmma || !suits(parts)) return undefined;
  return choiceAmong(parts, (tile) => tile.math === parts.math && accepts(tile), target);
}

/** The best of some tiles, undefined where none takes the window. */
export function choiceAmong(
  parts: Parts,
  accepts: (tile: PlaneTile) => boolean,
  target: PlanTarget,
): PlaneChoice | undefined {
  const planes = planesOf(parts);
  if (planes === undefined || 2 * planes.count * planes.positions > mostElements) return undefined;
  const candidates = planeTiles
    .filter(accepts)
    .map((tile) => choiceOfTile(parts, planes, tile, target))
    .filter((choice) => choice !== undefined);
  const timed = candidates.map((launch) => ({ launch, microseconds: planeMicroseconds(launch) }));
  return cheapest(timed)?.launch;
}

/** With the packing. */
export function planeMicroseconds({ packMicroseconds, productMicroseconds }: PlaneChoice): number {
  return packMicroseconds + productMicroseconds;
}

/** Halves to channels that lie beside each other, and nothing added to them. */
function suits(parts: Parts): boolean {
  const { request, math, y } = parts;
  const { epilogue } = request;
  const isAlone = epilogue.residual === undefined && epilogue.last.kind === noActivation.kind;
  const isStored = y.view.type === storageOf[math] && y.channelStride === 1;
  return isAlone && isStored && isOfImage(parts);
}

/** Of one group, of an image, whose elements 32 bits count. */
export function isOfImage({ request, window, y, filters }: Parts): boolean {
  const { groups, x } = request;
  const input = spatialOf(x);
  const isImage = input.size[0] === 1 && window.kernel[0] === 1 && y.size[0] === 1;
  const isPlain = groups === 1 && window.dilation.every((step) => step === 1) && window.pad[0] === 0;
  const reach = [...[y.batch, ...y.size].entries()].reduce(
    (sum, [axis, size]) => sum + (size - 1) * Math.abs([y.batchStride, ...y.strides][axis] ?? 0),
    filters,
  );
  return isImage && isPlain && reach <= mostElements;
}

/** With as many stages as leave room for a second block, as far as there is one. */
function choiceOfTile(
  parts: Parts,
  planes: Planes,
  tile: PlaneTile,
  target: PlanTarget,
): PlaneChoice | undefined {
  const stage = stageOf(planes, tile);
  if (stage === undefined) return undefined;
  const fitting = (stages: number) =>
    Math.floor(target.sharedBytes / (planeSharedBytes(tile, stage, stages) + target.reservedSharedBytes));
  const stages =
    stageCounts.find((count) => fitting(count) >= mostBlocks) ??
    stageCounts.find((count) => fitting(count) >= 1);
  if (stages === undefined || planeSharedBytes(tile, stage, stages) > target.sharedBytesPerBlock)
    return undefined;
  const cut = {
    ...{ planes, tile, stage, stages },
    tilesM: Math.ceil(planes.positions / tile.rows),
    tilesN: Math.ceil(parts.filters / tile.filters),
    blocks: Math.min(mostBlocks, fitting(stages)),
  };
  return {
    ...cut,
    packMicroseconds: packMicroseconds(parts, planes, target),
    productMicroseconds: productMicroseconds(parts, cut, target),
  };
}

/** Against a plain pass over memory, of 14 first layers on an H100 (ADR 26, "Planes"). */
const packPasses = 1.15;

function packMicroseconds({ request }: Parts, planes: Planes, target: PlanTarget): number {
  const { x } = request;
  const bytes = distinctCount(x) * bytesOfType(x.type) + planeBytes(planes);
  return passMicroseconds({ bytes, passes: packPasses, isLeftInL2: true }, target);
}

function planeBytes({ count, positions }: Planes): number {
  return count * positions * 16;
}

/**
 * Of 14 first layers on an H100 (ADR 26, "Planes"), whose products they tell within 12 %: clocks of a multiprocessor for 64 positions, a step along k (for each filter, and at least)
 * and the end of each filter; from the launch until the first store; the share of DRAM's rate.
 */
const rates = { step: 8, stepOfFilter: 0.5, endOfFilter: 8, fill: 1.5, dramShare: 0.88 } as const;

type Cut = Omit<PlaneChoice, "packMicroseconds" | "productMicroseconds">;

/** Of the same for each filter more: where fewer than eight are stored at once, and of a formula that is long. Of 12 layers in models on an H100. */
const narrowStoreClocks = { 8: 0, 2: 10, 1: 14 } as const;
const formulaClocks: Readonly<Partial<Record<ActivationKind, number>>> = { tanh: 16 };

function productMicroseconds({ y, filters, request }: Parts, cut: Cut, target: PlanTarget): number {
  const { planes, tile, stage, tilesM, tilesN } = cut;
  const tiles = Math.ceil((tilesM * tilesN) / target.multiprocessors);
  const steps = (stage.places.length / 2) * (rates.step + rates.stepOfFilter * tile.filters);
  const narrow = tile.math === "codes" ? 0 : narrowStoreClocks[vectorWidth(y, filters)];
  const formula = formulaClocks[request.epilogue.activation?.kind ?? "none"] ?? 0;
  const clocks = ((tiles * tile.rows) / 64) * (steps + (rates.endOfFilter + narrow + formula) * tile.filters);
  const positions = y.batch * y.size[1] * y.size[2];
  const bytes = tilesN * planeBytes(planes) + positions * filters * storedBytes(tile);
  const memory = bytes / (rates.dramShare * target.bandwidth.dram);
  return target.launchMicroseconds + rates.fill + Math.max(clocks / target.clocksPerMicrosecond, memory);
}

/** For the printed plan. */
export function describePlanes({ tile, stages, planes }: PlaneChoice): string {
  const { math, rows, filters } = tile;
  return `planes, wgmma ${math} ${rows}x${filters}, ${stages} stages, ${planes.taps.length} taps of ${planes.slots}`;
}
