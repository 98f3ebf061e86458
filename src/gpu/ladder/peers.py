"""What PyTorch takes for the ladders' work, on the GPU of the number given:

operations on stdin, {"torch": versions, "rows": [{"us"} or {"error"}, ...]} or {"missing": why} on stdout.

A CUDA graph of calls that rotate over enough sets of operands to leave the L2; the median of its replays.
"""
import json
import statistics
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    json.dump({"missing": str(error)}, sys.stdout)
    sys.exit(0)

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
CALLS, REPLAYS, MOST_SETS, WARM_UP = 20, 21, 64, 3


def randn(*shape, dtype):
    return torch.randn(*shape, device="cuda", dtype=dtype) * 0.1


def conv(op, dtype):
    last = torch.channels_last
    x = randn(op["batch"], op["channels"], op["side"], op["side"], dtype=dtype).to(memory_format=last)
    w = randn(op["filters"], op["channels"], 3, 3, dtype=dtype).to(memory_format=last)
    y_bytes = x.nbytes * op["filters"] // op["channels"]
    return lambda: F.conv2d(x, w, padding=1), x.nbytes + w.nbytes + y_bytes


def attention(op, dtype):
    q, k, v = (randn(op["batch"], op["heads"], op["length"], op["dim"], dtype=dtype) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v), 4 * q.nbytes


def resample(op, dtype):
    """Neighbours and weights are given: a search by PyTorch would be several calls more."""
    batch, source, target, features = (op[name] for name in ("batch", "source", "target", "features"))
    x = randn(batch, source, features, dtype=dtype)
    times = torch.rand(batch, target, device="cuda").sort(1).values * (source - 1)
    low = times.floor().clamp(max=source - 2)
    weight = (times - low)[..., None].to(dtype)
    index = low.long()[..., None].expand(-1, -1, features)
    bytes_moved = 3 * batch * target * features * x.element_size()
    return lambda: torch.lerp(x.gather(1, index), x.gather(1, index + 1), weight), bytes_moved


BUILDERS = {"conv": conv, "attention": attention, "resample": resample}


def microseconds(op):
    build = lambda: BUILDERS[op["op"]](op, DTYPES[op["dtype"]])
    call, size = build()
    l2 = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    count = max(1, min(MOST_SETS, -(-2 * l2 // size)))
    calls = [call] + [build()[0] for _ in range(count - 1)]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls * WARM_UP:
            call()
        stream.synchronize()
    rounds = -(-CALLS // count)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls * rounds:
            call()
    graph.replay()
    times = []
    for _ in range(REPLAYS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1000 * start.elapsed_time(end) / (rounds * count))
    return statistics.median(times)


def row_of(op):
    try:
        row = {"us": microseconds(op)}
    except RuntimeError as error:
        row = {"error": str(error)[:300]}
    torch.cuda.empty_cache()
    return row


operations = json.load(sys.stdin)
if not torch.cuda.is_available():
    json.dump({"missing": "PyTorch finds no CUDA device"}, sys.stdout)
    sys.exit(0)
torch.cuda.set_device(int(sys.argv[1]))
torch.set_grad_enabled(False)
torch.backends.cudnn.benchmark = True
rows = [row_of(op) for op in operations]
versions = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"
json.dump({"torch": versions, "rows": rows}, sys.stdout)
