"""What PyTorch takes for resampling, for steps of diffusion and for what stands beside them: eager operators in a CUDA graph.

    python3 torch_steps.py < ops.json > times.json

A row comes back with "us", the median microseconds of a call, and "spread". Calls rotate over sets of operands that leave L2.
"""
import json, sys
import torch, torch.nn.functional as F
import graph_timing
from graph_timing import Timer, make_room, start

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
graph_timing.DTYPES.update(DTYPES)


def randn(*shape, dtype):
    return torch.randn(*shape, device="cuda", dtype=dtype) * 0.1


def resample(op, dtype):
    batch, source, target, features = (op[name] for name in ("batch", "source", "target", "features"))
    x = randn(batch, source, features, dtype=dtype)
    times = torch.arange(source, device="cuda", dtype=torch.float32).expand(batch, source).contiguous()
    targets = (torch.rand(batch, target, device="cuda") * (source - 1)).sort(1).values

    def call():
        high = torch.searchsorted(times, targets, right=True).clamp(1, source - 1)
        low = high - 1
        before, behind = times.gather(1, low), times.gather(1, high)
        weight = ((targets - before) / (behind - before)).clamp(0, 1)[..., None].to(dtype)
        index = low[..., None].expand(-1, -1, features)
        return torch.lerp(x.gather(1, index), x.gather(1, index + 1), weight)

    return call


def elementwise(op, dtype):
    shape = op["shape"]
    x, y, z = (randn(*shape, dtype=dtype) for _ in range(3))
    a, b, c, d, e = 0.9, 0.4, 0.7, 0.6, 0.1
    return {
        "add": lambda: x + y,
        # x0 = (x - sqrt(1 - a) eps) / sqrt(a), limited; then sqrt(a') x0 + sqrt(1 - a') eps.
        "ddim": lambda: c * ((x - b * y) / a).clamp(-1, 1) + d * y,
        # The same x0, the mean of the posterior, and noise that is given.
        "ddpm": lambda: (c * ((x - b * y) / a).clamp(-1, 1) + d * x) + e * z,
        "flow": lambda: x + e * y,
        "blend": lambda: (c * x + (1 - c) * y).clamp(-1, 1),
    }[op["kind"]]


def conv_silu(op, dtype):
    n, c, size, k = op["batch"], op["channels"], op["size"], op["filters"]
    x = randn(n, c, size, size, dtype=dtype).to(memory_format=torch.channels_last)
    conv = torch.nn.Conv2d(c, k, 3, padding=1, bias=False).cuda().to(dtype).to(memory_format=torch.channels_last)
    norm = torch.nn.BatchNorm2d(k).cuda().to(dtype).eval()
    return lambda: F.silu(norm(conv(x)))


def qkv(op, dtype):
    x = randn(op["rows"], op["width"], dtype=dtype)
    weights = [randn(op["width"], op["width"], dtype=dtype) for _ in range(3)]
    return lambda: [F.linear(x, w) for w in weights]


def group_silu(op, dtype):
    x = randn(op["batch"], op["channels"], op["size"], op["size"], dtype=dtype).to(memory_format=torch.channels_last)
    scale, bias = randn(op["channels"], dtype=dtype), randn(op["channels"], dtype=dtype)
    return lambda: F.silu(F.group_norm(x, 32, scale, bias))


class Denoiser(torch.nn.Module):
    """The network of fixtures/sampling.ts."""

    def __init__(self, channels, width, depth):
        super().__init__()
        conv = lambda a, b, stride=1: torch.nn.Conv2d(a, b, 3, stride=stride, padding=1)
        self.stem = conv(channels, width)
        self.down = torch.nn.ModuleList([conv(width << i, width << i + 1, 2) for i in range(depth)])
        self.same = torch.nn.ModuleList([conv(width << i + 1, width << i + 1) for i in range(depth)])
        self.norms = torch.nn.ModuleList([torch.nn.GroupNorm(8, width << i + 1) for i in range(depth)])
        self.up = torch.nn.ModuleList([conv(width << i + 1, width << i) for i in range(depth)])
        self.last = conv(width, channels)

    def forward(self, x):
        h = self.stem(x)
        skips = []
        for down, norm, same in zip(self.down, self.norms, self.same):
            skips.append(h)
            h = F.silu(norm(down(h)))
            h = same(h) + h
        for up, skip in zip(reversed(self.up), reversed(skips)):
            h = F.silu(up(F.interpolate(h, scale_factor=2.0)) + skip)
        return self.last(h)


def sampling(op, dtype):
    net = Denoiser(op["channels"], op["width"], op["depth"]).cuda().to(dtype).to(memory_format=torch.channels_last).eval()
    x = randn(op["batch"], op["channels"], op["size"], op["size"], dtype=dtype).to(memory_format=torch.channels_last)

    def call():
        at = x
        for _ in range(op["steps"]):
            at = at + (1 / op["steps"]) * net(at)
        return at

    return call


BUILDERS = {"resample": resample, "elementwise": elementwise, "conv_silu": conv_silu, "qkv": qkv, "group_silu": group_silu,
            "sampling": sampling}


def timed(op):
    dtype = op["dtype"]
    [(us, spread)] = Timer(cold=op["op"] != "sampling").interleaved([(dtype, lambda: BUILDERS[op["op"]](op, DTYPES[dtype]))])
    return {"us": us, "spread": spread}


start(1)
known, results = {}, []
for op in json.load(sys.stdin):
    key = json.dumps(op, sort_keys=True)
    if key not in known:
        try:
            known[key] = timed(op)
        except Exception as error:
            known[key] = {"us": None, "spread": 0, "error": f"{key}: {error}"[:300]}
        make_room()
    results.append(known[key])
json.dump(results, sys.stdout, indent=1)
