/** @file Convolutions of few results and much to add up for each, as networks of small batches have them: timed in every way of cutting that sum. */
import type { Layer } from "./operations.ts";

/** 3 × 3, padded by one; square images. */
export interface DeepLayer {
  readonly from: string;
  readonly batch: number;
  readonly channels: number;
  readonly size: number;
  readonly filters: number;
  readonly stride: number;
}

const listed: readonly (readonly [
  from: string,
  batch: number,
  channels: number,
  size: number,
  filters: number,
  stride: number,
])[] = [
  ["resnet50 stage 3", 1, 256, 14, 256, 1],
  ["resnet50 stage 3 of stride 2", 1, 256, 28, 256, 2],
  ["resnet50 stage 4", 1, 512, 7, 512, 1],
  ["resnet50 stage 4 of stride 2", 1, 512, 14, 512, 2],
  ["resnet50 stage 2", 1, 128, 28, 128, 1],
  ["video_unet_48 8x8", 2, 384, 8, 384, 1],
  ["video_unet_48 8x8 after a skip", 2, 768, 8, 384, 1],
  ["video_unet_48 16x16 after a skip", 2, 576, 16, 192, 1],
  ["densenet121 28x28", 1, 128, 28, 32, 1],
  ["densenet121 14x14", 1, 128, 14, 32, 1],
  ["densenet121 7x7", 1, 128, 7, 32, 1],
  ["sd_unet 16x16", 2, 640, 16, 640, 1],
  ["sd_unet 32x32 after a skip", 2, 960, 32, 320, 1],
  ["sd_unet last", 2, 320, 32, 4, 1],
  ["yolo deep, one image", 1, 256, 20, 256, 1],
  ["vgg11 14x14", 1, 512, 14, 512, 1],
  ["deeplabv3 head, one image", 1, 2048, 17, 256, 1],
  ["video_unet_192 8x8", 2, 1536, 8, 1536, 1],
  ["video_unet_192 8x8 after a skip", 2, 3072, 8, 1536, 1],
  ["video_unet_192 16x16", 2, 768, 16, 768, 1],
  ["video_unet_192 16x16 after a skip", 2, 2304, 16, 768, 1],
  ["video_unet_192 16x16, wide", 2, 1536, 16, 1536, 1],
  ["video_unet_192 32x32 after a skip", 2, 1152, 32, 384, 1],
];

export const deepLayers: readonly DeepLayer[] = listed.map(
  ([from, batch, channels, size, filters, stride]) => ({ from, batch, channels, size, filters, stride }),
);

export function layerOf({ channels, size, filters, stride }: DeepLayer): Layer {
  return { channels, size: [size, size], filters, taps: 3, stride, pad: 1, groups: 1 };
}
