#!/usr/bin/env python3
"""Measures random operations in PyTorch on the GPU at hand, as rows that `npm run fit` reads.

    python3 bench/measure_pytorch.py SEED SECONDS [FAMILY,…] > rows.jsonl

Each base shape comes with a neighbour that differs by padding an axis, so that the rows hold pairs. A call is timed
as the median of 5 replays of a CUDA graph of up to 100 calls on one buffer set; convolutions with cudnn.benchmark.
A line is [family, columns…, microseconds]: families and columns are those of h200-pytorch-ops.json, and a few more
(see COLUMNS); the first line is ["meta", {…}].
"""
import gc, json, math, random, statistics, sys, time
import torch, torch.nn.functional as F

COLUMNS = {
    "gemm": ["M", "N", "K", "dtype", "us"],
    "gemm_nn": ["M", "N", "K", "dtype", "us"],
    "bmm": ["batch", "M", "N", "K", "layout", "us"],
    "conv": ["N", "C", "H", "W", "K", "R", "stride", "pad", "groups", "layout", "dtype", "us"],
    "conv_nobias": ["N", "C", "H", "W", "K", "R", "stride", "pad", "groups", "layout", "dtype", "us"],
    "conv_nd": ["N", "C", "input", "K", "kernel", "stride", "pad", "groups", "layout", "transposed", "us"],
    "sdpa": ["B", "heads", "S_q", "S_kv", "head_dim", "causal", "us"],
    "sdpa_masked": ["B", "heads", "S_q", "S_kv", "head_dim", "causal", "us"],
    "memory": ["op", "rows", "cols", "dtype", "us"],
    "traffic": ["op", "pattern", "rows", "cols", "bytes_read", "bytes_written", "us"],
    "recurrent": ["gates", "layers_in", "steps", "batch", "input", "hidden", "us"],
}
# Parts of the time each family gets; cudnn.benchmark makes convolutions slow to measure.
SHARE = {
    "gemm": 14, "gemm_nn": 4, "bmm": 6, "conv": 56, "conv_nobias": 40, "conv_nd": 8, "sdpa": 6, "sdpa_masked": 6,
    "memory": 5, "traffic": 5, "recurrent": 3,
}
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "fp32": torch.float32}
STREAM = None
rng = random.Random()


def randn(*shape, dtype=torch.float16):
    return torch.randn(*shape, device="cuda", dtype=dtype) * 0.1


def median_us(call):
    # Operands are made on another stream.
    torch.cuda.synchronize()
    with torch.cuda.stream(STREAM):
        for _ in range(3):
            call()
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        call(), call()
        last.record()
        STREAM.synchronize()
        calls = max(3, min(100, int(4000 / max(first.elapsed_time(last) * 500, 1))))
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        for _ in range(calls):
            call()
        graph.capture_end()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(7)]
        for event in events:
            event.record()
            graph.replay()
        STREAM.synchronize()
        # The first replay warms up, and no event follows the last.
        spans = [a.elapsed_time(b) * 1e3 / calls for a, b in zip(events[1:], events[2:])]
    return round(statistics.median(spans), 3)


def log_uniform(low, high):
    return int(round(math.exp(rng.uniform(math.log(low), math.log(high)))))


def size(low, high):
    """About two thirds multiples of 8, as in the shared rows."""
    value, kind = log_uniform(low, high), rng.random()
    if kind < 0.15:
        return 64
    if kind < 0.4:
        return max(64, value // 64 * 64)
    if kind < 0.66:
        return max(8, value // 8 * 8)
    return max(1, value)


def up(value, multiple):
    return -(-value // multiple) * multiple


def padded(value):
    """A larger size that someone might pad to."""
    steps = [step for step in (2, 4, 8, 8, 8, 16, 64) if up(value, step) != value and up(value, step) <= 1.5 * value]
    return up(value, rng.choice(steps)) if steps else value


def neighbours(row, axes):
    """The row, and for most rows one with an axis (or all of them) padded."""
    yield row
    if rng.random() < 0.25:
        return
    chosen = axes if rng.random() < 0.25 else [rng.choice(axes)]
    other = list(row)
    for axis in chosen:
        other[axis] = up(row[axis], 8) if rng.random() < 0.5 else padded(row[axis])
    if other != list(row):
        yield other


def dtype():
    return rng.choices(["fp16", "bf16", "tf32", "fp32"], [82, 8, 6, 4])[0]


def gemm_shapes():
    m, n, k, kind = size(1, 16384), size(4, 16384), size(8, 8192), dtype()
    if m * n * k < 2e11:
        yield from neighbours([m, n, k, kind], [1, 1, 2, 2, 0])


def set_tf32(kind):
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    torch.backends.cudnn.allow_tf32 = kind == "tf32"


def gemm(m, n, k, kind):
    set_tf32(kind)
    x, w = randn(m, k, dtype=DTYPES[kind]), randn(n, k, dtype=DTYPES[kind])
    return lambda: F.linear(x, w)


def gemm_nn(m, n, k, kind):
    set_tf32(kind)
    x, w = randn(m, k, dtype=DTYPES[kind]), randn(k, n, dtype=DTYPES[kind])
    return lambda: x @ w


def bmm_shapes():
    lengths = [16, 32, 49, 64, 77, 128, 196, 197, 256, 384, 512, 577, 1024, 2048]
    widths = [16, 20, 25, 32, 40, 48, 64, 64, 72, 80, 88, 96, 128, 160, 256]
    any_of = lambda: rng.choice(lengths + widths) if rng.random() < 0.8 else size(16, 2048)
    batch, m, n, k = log_uniform(4, 512), rng.choice(lengths) if rng.random() < 0.8 else size(16, 2048), any_of(), any_of()
    if batch * m * n * k < 1e11 and batch * m * n < 6e8:
        yield from neighbours([batch, m, n, k, rng.choice(["NN", "NT"])], [2, 3, 1])


def bmm(batch, m, n, k, layout):
    x = randn(batch, m, k)
    y = randn(batch, k, n) if layout == "NN" else randn(batch, n, k).transpose(1, 2)
    return lambda: torch.bmm(x, y)


COMMON = [64, 64, 64, 128, 16, 192, 256, 320, 40, 32, 640, 768, 48, 24, 384, 144, 672, 96, 112, 960, 80, 240, 576,
          2048, 480, 512, 1280, 160, 1152, 1024]


def channels(small):
    kind = rng.random()
    if kind < 0.6:
        return rng.choice(COMMON)
    return rng.choice(small) if kind < 0.72 else max(2, min(log_uniform(4, 1100), 1024))


def conv_shapes():
    n = rng.choice([1, 1, 1, 2, 4, 8, 16, 32, 64])
    h = rng.choice([7, 8, 13, 14, 16, 20, 26, 28, 32, 40, 52, 56, 64, 80, 104, 112, 128, 160, 224, 256, 320, 512])
    r = rng.choices([3, 1, 5, 7], [45, 31, 13, 11])[0]
    stride = 2 if rng.random() < 0.26 else 1
    layout = "NCHW" if rng.random() < 0.19 else "NHWC"
    kind = rng.choices(["fp16", "bf16", "tf32"], [90, 4, 6])[0]
    c, k, groups = channels([1, 3, 3, 4, 6, 8, 8]), channels([1, 2, 3, 4, 8, 10, 19, 21, 27, 75, 85, 100, 150, 251, 255]), 1
    shape = rng.random()
    if shape < 0.11:
        k, groups = c, c
    elif shape < 0.19:
        groups = rng.choice([2, 4, 8, 16, 32])
        c = k = up(max(c, groups), groups)
    elif shape < 0.3:
        k = c
    out = (h + 2 * (r // 2) - r) // stride + 1
    work = n * out * out * k * (c // groups) * r * r
    if n * c * h * h > 8e8 or n * k * out * out > 9e8 or work > (1e11 if groups == 1 else 1e10):
        return
    row = [n, c, h, h, k, r, stride, r // 2, groups, layout, kind]
    if groups == 1:
        yield from neighbours(row, [1, 4])
    elif groups == c:
        for wide in {c, up(c, 8)}:
            yield [n, wide, h, h, wide, r, stride, r // 2, wide, layout, kind]
    else:
        for wide in {c, up(c // groups, 8) * groups if rng.random() < 0.4 and c // groups > 4 else c}:
            yield [n, wide, h, h, wide, r, stride, r // 2, groups, layout, kind]


def conv(n, c, h, w, k, r, stride, pad, groups, layout, kind, bias=True):
    set_tf32(kind)
    x, weight = randn(n, c, h, w, dtype=DTYPES[kind]), randn(k, c // groups, r, r, dtype=DTYPES[kind])
    b = randn(k, dtype=DTYPES[kind]) if bias else None
    if layout == "NHWC":
        x, weight = (t.contiguous(memory_format=torch.channels_last) for t in (x, weight))
    return lambda: F.conv2d(x, weight, b, stride, pad, 1, groups)


def conv_nobias(*row):
    return conv(*row, bias=False)


def conv_nd_shapes():
    rank, transposed = rng.choice([1, 1, 2, 3, 3]), False
    n = rng.choice([1, 2, 4, 8, 16])
    side = {1: [64, 128, 500, 1000, 3000], 2: [8, 16, 32, 64, 128], 3: [7, 14, 16, 28]}[rank]
    spatial = [rng.choice(side) for _ in range(rank)] if rank != 2 else [rng.choice(side)] * 2
    c, k = (rng.choice(COMMON[:20] + [3, 25, 67, 80, 100, 30]) for _ in range(2))
    r = rng.choice([1, 3, 3, 5]) if rank != 2 else rng.choice([2, 3, 4])
    stride = 2 if rank == 2 or rng.random() < 0.2 else 1
    transposed = rank == 2
    groups = 1
    if rank == 1 and rng.random() < 0.25:
        k = groups = c
    pad = r // 2 if not transposed else (r - 1) // 2
    work = n * math.prod(spatial) * c * k // groups * r**rank
    if work < 5e10:
        yield [n, c, spatial, k, [r] * rank, stride, pad, groups, rng.choice(["NHWC", "NCHW"]), transposed]


def conv_nd(n, c, spatial, k, kernel, stride, pad, groups, layout, transposed):
    x = randn(n, c, *spatial)
    weight = randn(*((c, k) if transposed else (k, c // groups)), *kernel)
    formats = {2: torch.channels_last, 3: torch.channels_last_3d}
    if layout == "NHWC" and len(spatial) in formats:
        x, weight = (t.contiguous(memory_format=formats[len(spatial)]) for t in (x, weight))
    function = F.conv_transpose2d if transposed else [F.conv1d, F.conv2d, F.conv3d][len(spatial) - 1]
    return lambda: function(x, weight, None, stride, pad, groups=groups)


def sdpa_shapes():
    lengths = [49, 64, 77, 128, 196, 197, 256, 384, 512, 577, 1024, 1500, 2048, 4096]
    s = rng.choice(lengths) if rng.random() < 0.8 else log_uniform(32, 4096)
    other = s if rng.random() < 0.65 else rng.choice([64, 77, 128, 256, 1024])
    causal = s == other and rng.random() < 0.3
    d = rng.choice([16, 24, 32, 40, 48, 56, 64, 64, 72, 80, 88, 96, 104, 112, 120, 128, 128, 144, 160, 192, 256, 36, 44, 50, 60, 100])
    b, heads = rng.choice([1, 2, 4, 8, 16, 32]), rng.choice([3, 4, 6, 8, 12, 16, 20, 32])
    if b * heads * s * other * d < 4e11:
        yield from neighbours([b, heads, s, other, d, causal], [4])


def sdpa(b, heads, s, other, d, causal, mask=None):
    q, k, v = randn(b, heads, s, d), randn(b, heads, other, d), randn(b, heads, other, d)
    return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


def sdpa_masked_shapes():
    for row in sdpa_shapes():
        if row[0] * row[2] * row[3] < 3e8:
            yield row[:5] + [False]
            return


def sdpa_masked(b, heads, s, other, d, causal):
    return sdpa(b, heads, s, other, d, causal, mask=randn(b, 1, s, other))


def memory_shapes():
    rows, cols = log_uniform(1, 65536), size(16, 8192)
    if rows * cols < 5e8:
        yield from neighbours([rng.choice(["add", "silu", "relu", "gelu", "layernorm", "softmax", "transpose", "copy"]), rows, cols, "fp16"], [2])


def memory(op, rows, cols, kind):
    x, y = randn(rows, cols), randn(rows, cols)
    out = torch.empty_like(x)
    return {
        "add": lambda: x + y,
        "silu": lambda: F.silu(x),
        "relu": lambda: F.relu(x),
        "gelu": lambda: F.gelu(x),
        "layernorm": lambda: F.layer_norm(x, (cols,)),
        "softmax": lambda: torch.softmax(x, -1),
        "transpose": lambda: x.t().contiguous(),
        "copy": lambda: out.copy_(x),
    }[op]


TRAFFIC = {
    "batchnorm": "elementwise", "bias_nhwc": "elementwise", "scale_channels": "elementwise", "cast": "elementwise",
    "concat": "copy", "to_nchw": "copy", "to_nhwc": "copy", "slice": "copy", "embedding": "copy",
    "upsample": "copy", "pad": "copy", "permute_heads": "copy", "mean": "reduction", "global_pool": "reduction",
    "maxpool": "pool", "avgpool": "pool", "groupnorm": "normalization", "batchnorm_nchw": "elementwise",
}


def traffic_shapes():
    op = rng.choice(list(TRAFFIC))
    n, c = rng.choice([1, 1, 4, 16, 32]), rng.choice([32, 64, 96, 128, 192, 256, 320, 512, 768, 1024, 1280, 116, 58])
    h = rng.choice([7, 14, 20, 28, 32, 40, 56, 64, 80, 112, 160])
    if n * c * h * h < 1.5e8:
        yield [op, n, c, h]


def traffic_call(op, n, c, h, dtype=torch.float16):
    """(call, rows, columns, bytes read, bytes written); activations are NHWC unless the name says otherwise."""
    x = randn(n, c, h, h, dtype=dtype).contiguous(memory_format=torch.channels_last)
    count, width = n * c * h * h, x.element_size()
    whole = width * count
    flat, per_channel = x.contiguous(), randn(c, dtype=dtype).abs()
    groups = math.gcd(c, 32)
    table, index = randn(30000, c, dtype=dtype), torch.randint(0, 30000, (n * h * h,), device="cuda")
    norm = lambda t: F.batch_norm(t, per_channel, per_channel, per_channel, per_channel)
    pooled = n * c * (-(-h // 2)) ** 2
    return {
        "batchnorm": (lambda: norm(x), n * h * h, c, whole, whole),
        "batchnorm_nchw": (lambda: norm(flat), n * h * h, c, whole, whole),
        "bias_nhwc": (lambda: x + per_channel[:, None, None], n * h * h, c, whole, whole),
        "scale_channels": (lambda: x * flat[:, :, :1, :1], n * h * h, c, whole, whole),
        "cast": (lambda: x.float(), n * h * h, c, whole, 4 * count),
        "concat": (lambda: torch.cat([x, x], 1), n * h * h, 2 * c, 2 * whole, 2 * whole),
        "to_nchw": (lambda: x.contiguous(), n * c, h * h, whole, whole),
        "to_nhwc": (lambda: flat.contiguous(memory_format=torch.channels_last), n * h * h, c, whole, whole),
        "slice": (lambda: x[:, : c // 2].clone(memory_format=torch.channels_last), n * h * h, c // 2, whole // 2, whole // 2),
        "embedding": (lambda: F.embedding(index, table), n * h * h, c, whole, whole),
        "upsample": (lambda: F.interpolate(x, scale_factor=2), 4 * n * h * h, c, whole, 4 * whole),
        "pad": (lambda: F.pad(x, (1, 1, 1, 1)), n * (h + 2) ** 2, c, whole, width * n * c * (h + 2) ** 2),
        "permute_heads": (lambda: flat.view(n, c, h * h).transpose(1, 2).contiguous(), n * h * h, c, whole, whole),
        "mean": (lambda: flat.mean(-1), n * c * h, h, whole, width * n * c * h),
        "global_pool": (lambda: F.adaptive_avg_pool2d(x, 1), n * c, h * h, whole, width * n * c),
        "maxpool": (lambda: F.max_pool2d(x, 3, 2, 1), pooled, 9, whole, width * pooled),
        "avgpool": (lambda: F.avg_pool2d(x, 2, 2), n * c * (h // 2) ** 2, 4, whole, width * n * c * (h // 2) ** 2),
        "groupnorm": (lambda: F.group_norm(x, groups, per_channel, per_channel), n * groups, count // (n * groups), whole, whole),
    }[op]


def recurrent_shapes():
    gates = rng.choice([4, 4, 3])
    yield [gates, 1, rng.choice([16, 25, 50, 100, 200]), rng.choice([1, 4, 16, 32, 64]), rng.choice([64, 100, 256, 512]), rng.choice([64, 100, 128, 256, 512])]


def recurrent(gates, layers, steps, batch, width, hidden):
    kind = torch.nn.LSTM if gates == 4 else torch.nn.GRU
    net = kind(width, hidden, layers).cuda().half().eval()
    x = randn(steps, batch, width)
    return lambda: net(x)


def measure(family, row):
    if family == "traffic":
        call, rows, cols, read, written = traffic_call(*row)
        return [row[0], TRAFFIC[row[0]], rows, cols, read, written, median_us(call)]
    return [*row, median_us(globals()[family](*row))]


def shapes_of(family):
    return globals()[{"gemm_nn": "gemm_shapes", "conv_nobias": "conv_shapes"}.get(family, f"{family}_shapes")]()


def run_family(family, seconds, failures):
    """Prints a row as soon as it is measured: a crash costs the rest, not what went before."""
    end, seen = time.time() + seconds, set()
    while time.time() < end:
        for row in shapes_of(family):
            if str(row) in seen:
                continue
            seen.add(str(row))
            try:
                print(json.dumps([family, *measure(family, row)]), flush=True)
            except torch.AcceleratorError:
                raise
            except Exception as error:
                failures.append([family, row, str(error)[:120]])
                # A failed capture leaves PyTorch unusable.
                if len(failures) > 40:
                    sys.exit(f"too many failures: {failures[:3]}")
            if len(seen) % 100 == 0:
                torch.cuda.empty_cache()
                gc.collect()
    return len(seen)


def main():
    global STREAM
    STREAM = torch.cuda.Stream()
    seed, seconds = int(sys.argv[1]), float(sys.argv[2])
    families = sys.argv[3].split(",") if len(sys.argv) > 3 else list(SHARE)
    rng.seed(seed)
    torch.manual_seed(seed)
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    gc.disable()
    meta = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
            "cuda": torch.version.cuda, "date": time.strftime("%Y-%m-%d"), "seed": seed}
    print(json.dumps(["meta", meta]), flush=True)
    whole, failures = sum(SHARE[family] for family in families), []
    for family in families:
        print(family, run_family(family, seconds * SHARE[family] / whole, failures), file=sys.stderr, flush=True)
    print("failures", len(failures), failures[:12], file=sys.stderr)


if __name__ == "__main__":
    main()
