"""What torch.compile launches for whole ONNX files, launch by launch, and what each takes.

    python3 bench/gpu/inductor_launches.py OUT.jsonl FILE.onnx...

Needs ../shared/peers (onnx_torch.py), PyTorch and a GPU. Appends a line a file: model, microseconds of one replay (median of 31), launches in
order (name, microseconds: median of five replays under CUPTI). Several processes may share a GPU: launches' times hold, a replay's do not.
"""
import json
import os
import sys

import torch
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, os.environ.get("PEERS", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "peers")))
import onnx_torch

REPLAYS = 6


def launches(graph):
    """By launch, of all replays but the first, which is cold."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.synchronize()
    cuda = torch.autograd.DeviceType.CUDA
    events = sorted((e.time_range.start, e.time_range.end, e.name) for e in profiled.events() if e.device_type == cuda)
    count, rest = divmod(len(events), REPLAYS)
    if rest != 0:
        raise RuntimeError(f"{len(events)} launches in {REPLAYS} replays")

    def median(at):
        times = sorted(end - start for start, end, _ in events[at + count :: count])
        return round(times[len(times) // 2], 2)

    return [[events[at][2][:90], median(at)] for at in range(count)]


def main():
    out, *files = sys.argv[1:]
    captured = {}
    capture = torch.cuda.CUDAGraph

    class Kept(capture):
        def __new__(cls, *args, **kwargs):
            captured["graph"] = super().__new__(cls, *args, **kwargs)
            return captured["graph"]

    torch.cuda.CUDAGraph = Kept
    for path in files:
        row = {"model": os.path.basename(path)[:-5]}
        try:
            model = onnx_torch.load(path)
            _, row["us"] = onnx_torch.time_mode(model, "compile", onnx_torch.feeds(model, {}), False)
            row["launches"] = launches(captured["graph"])
        except Exception as error:
            row["why"] = f"{type(error).__name__}: {error}"[:200]
        with open(out, "a") as file:
            file.write(json.dumps(row) + "\n")
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
