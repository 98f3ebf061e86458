/** @file NHWC as somebody writes it in PyTorch, where no file decides the layout and no command does. */

/** By spatial axes; PyTorch has no such format for signals. */
export function channelsLastIn(axes: number): string {
  if (axes === 1) return "nn.Conv2d of height 1, and model.to(memory_format=torch.channels_last)";
  return `model.to(memory_format=torch.channels_last${axes === 3 ? "_3d" : ""})`;
}
