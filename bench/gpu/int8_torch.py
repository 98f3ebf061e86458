"""Times of torch._int_mm, torch._scaled_mm and torch.mm for the rows of int8.ts: rows on stdin, times on stdout.

A CUDA graph of calls that rotate over sets of operands which together exceed L2; the median of its replays.
"""
import json, statistics, sys
import torch

L2_BYTES = torch.cuda.get_device_properties(0).L2_cache_size
CALLS, REPLAYS = 20, 21


def operands(m, n, k, dtype):
    if dtype == "int8":
        make = lambda *shape: torch.randint(-127, 128, shape, device="cuda", dtype=torch.int8)
    elif dtype == "fp8":
        make = lambda *shape: torch.randn(*shape, device="cuda").to(torch.float8_e4m3fn)
    else:
        make = lambda *shape: torch.randn(*shape, device="cuda").half()
    return make(m, k), make(n, k).t()


def microseconds(m, n, k, dtype):
    size = (m * k + n * k) * (2 if dtype == "fp16" else 1) + 4 * m * n
    count = max(1, min(64, -(-2 * L2_BYTES // size)))
    sets = [operands(m, n, k, dtype) for _ in range(count)]
    one = torch.ones((), device="cuda")

    def run(x, w):
        if dtype == "int8":
            return torch._int_mm(x, w)
        if dtype == "fp8":
            return torch._scaled_mm(x, w, scale_a=one, scale_b=one, out_dtype=torch.float16)
        return torch.mm(x, w)

    for x, w in sets:
        run(x, w)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    calls = max(CALLS, count)
    with torch.cuda.graph(graph):
        for index in range(calls):
            run(*sets[index % count])
    times = []
    for _ in range(REPLAYS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / calls)
    return statistics.median(times)


def row_of(row):
    try:
        return {"us": round(microseconds(row["M"], row["N"], row["K"], row["dtype"]), 3)}
    except RuntimeError as error:
        print(row, error, file=sys.stderr)
        return {"us": None}


json.dump([row_of(row) for row in json.load(sys.stdin)], sys.stdout)
