"""cuDNN's LSTM and GRU, whole layers in FP16 by graph replay, of the sizes of recurrent.ts: what they take in microseconds.

    python3 recurrent_torch.py [recurrent.json]
"""
import json
import os
import sys

import torch

CALLS = 20
REPLAYS = 15


def graph_microseconds(call) -> float:
    """The median of one call among many in a graph."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(CALLS):
            call()
    times = []
    for _ in range(REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / CALLS)
    return sorted(times)[len(times) // 2]


def layer_microseconds(cell: str, steps: int, batch: int, hidden: int, directions: int) -> float:
    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}[cell]
    layer = kind(hidden, hidden, bidirectional=directions == 2).cuda().half().eval()
    layer.flatten_parameters()
    x = torch.randn(steps, batch, hidden, device="cuda", dtype=torch.half)
    return graph_microseconds(lambda: layer(x))


def main() -> None:
    with open(sys.argv[1] if len(sys.argv) > 1 else "recurrent.json", encoding="utf-8") as file:
        rows = json.load(file)
    best = {}
    for row in rows:
        if row["cell"] not in ("lstm", "gru", "rnn"):
            continue
        key = tuple(row[name] for name in ("cell", "steps", "batch", "hidden", "directions"))
        best[key] = min(best.get(key, float("inf")), row["us"])
    results = []
    with torch.no_grad():
        for key, own in best.items():
            layer = layer_microseconds(*key)
            print(*key, f"cuDNN's layer {layer:.1f}, the best recurrence {own:.1f}: {layer / own:.2f}x", flush=True)
            results.append({"key": key, "layer": layer, "own": own})
    with open(os.path.join(os.environ.get("OUT", "."), "recurrent-torch.json"), "w", encoding="utf-8") as file:
        json.dump(results, file)


if __name__ == "__main__":
    main()
