"""Calls of operators in PyTorch, and what they take in CUDA graphs, several of them interleaved.

What is timed is what the cost model predicts: one call among many in a CUDA graph, on one set of buffers (small ones
stay in L2), without gaps. `cold` rotates over sets that together exceed twice L2 instead.
"""
import gc, json, math, os, statistics, subprocess, sys, time
import torch, torch.nn.functional as F

DTYPES = {"fp16": torch.float16, "tf32": torch.float32, "fp32": torch.float32}
ROUNDS = 5
# Of one replay, in microseconds: many times the resolution of an event, and short enough for many pairs.
REPLAY_US = 2500
MOST_CALLS = 100
# Graphs leave their pools behind, and a capture cannot free them when memory ends.
MOST_RESERVED_BYTES = 16 << 30
TARGETS = [("H200", "h200"), ("H100 PCIe", "h100-pcie"), ("H100", "h100")]


def randn(*shape, dtype):
    return torch.randn(*shape, device="cuda", dtype=DTYPES[dtype]) * 0.1


def set_tf32(dtype):
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"


def gemm(m, n, k, dtype):
    x, w = randn(m, k, dtype=dtype), randn(n, k, dtype=dtype)
    return lambda: F.linear(x, w)


def gemm_nn(m, n, k, dtype):
    x, w = randn(m, k, dtype=dtype), randn(k, n, dtype=dtype)
    return lambda: torch.mm(x, w)


def bmm(batch, m, n, k, layout, dtype):
    x = randn(batch, m, k, dtype=dtype)
    y = randn(batch, k, n, dtype=dtype) if layout == "NN" else randn(batch, n, k, dtype=dtype).transpose(1, 2)
    return lambda: torch.bmm(x, y)


def conv(n, c, h, w, k, r, stride, pad, groups, layout, dtype, biased=True):
    x, weight = randn(n, c, h, w, dtype=dtype), randn(k, c // groups, r, r, dtype=dtype)
    bias = randn(k, dtype=dtype) if biased else None
    if layout == "NHWC":
        x, weight = (t.contiguous(memory_format=torch.channels_last) for t in (x, weight))
    return lambda: F.conv2d(x, weight, bias, stride, pad, 1, groups)


def conv_nobias(*columns):
    return conv(*columns, biased=False)


def conv_nd(n, c, spatial, k, kernel, stride, pad, groups, layout, transposed, dtype):
    assert len(spatial) == 1 and layout == "NCHW" and not transposed
    x, weight = randn(n, c, *spatial, dtype=dtype), randn(k, c // groups, *kernel, dtype=dtype)
    return lambda: F.conv1d(x, weight, None, stride, pad, groups=groups)


def sdpa(b, heads, s, other, d, causal, dtype):
    q, k, v = (randn(b, heads, length, d, dtype=dtype) for length in (s, other, other))
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def memory(op, rows, cols, dtype):
    x, y = randn(rows, cols, dtype=dtype), randn(rows, cols, dtype=dtype)
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


def written(batch, s, other, d, layout, dtype):
    """Attention as exporters write it: MatMul, scale, Softmax, MatMul; keys stored [d, S] (NN) or [S, d] (NT)."""
    q, v = randn(batch, s, d, dtype=dtype), randn(batch, other, d, dtype=dtype)
    k = randn(batch, d, other, dtype=dtype) if layout == "NN" else randn(batch, other, d, dtype=dtype).transpose(1, 2)
    scale = 1 / math.sqrt(d)
    return lambda: torch.bmm(torch.softmax(torch.bmm(q, k) * scale, -1), v)


def patches(n, c, h, w, k, r, dtype):
    """A convolution whose kernel is its stride, as a copy that gathers patches and a product."""
    x, weight, bias = randn(n, c, h, w, dtype=dtype), randn(k, c * r * r, dtype=dtype), randn(k, dtype=dtype)
    tall, wide = h // r, w // r

    def call():
        gathered = x.view(n, c, tall, r, wide, r).permute(0, 2, 4, 1, 3, 5).reshape(n * tall * wide, c * r * r)
        return F.linear(gathered, weight, bias)

    return call


BUILDERS = {"gemm": gemm, "gemm_nn": gemm_nn, "bmm_typed": bmm, "conv": conv, "conv_nobias": conv_nobias, "conv_nd": conv_nd,
            "sdpa_typed": sdpa, "memory": memory, "written": written, "patches": patches}


def builder(name, columns):
    """(number format, a function that makes operands and returns the call on them)."""
    return columns[-1], lambda: BUILDERS[name](*columns)


def tensors_of(call):
    return [cell.cell_contents for cell in call.__closure__ or () if isinstance(cell.cell_contents, torch.Tensor)]


class Timer:
    def __init__(self, cold=False):
        self.stream = torch.cuda.Stream()
        self.cold = cold
        self.l2 = torch.cuda.get_device_properties(0).L2_cache_size

    def interleaved(self, builders):
        """For each of `builders`: (median microseconds of a call, (largest - smallest) / median of its replays)."""
        sides = []
        for dtype, build in builders:
            set_tf32(dtype)
            sides.append(self.captured(self.call_sets(build)))
        spans = self.replayed([graph for graph, _, _ in sides])
        return [figures(times, count) for times, (_, _, count) in zip(spans, sides)]

    def call_sets(self, build):
        first = build()
        if not self.cold:
            return [first]
        held = sum(t.numel() * t.element_size() for t in tensors_of(first))
        return [first] + [build() for _ in range(min(63, 2 * self.l2 // max(held, 1)))]

    def captured(self, calls):
        """(a graph, the calls whose operands it reads, how many of them it holds)"""
        # Operands are made on another stream.
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            for call in (calls * 3)[:max(3, len(calls))]:
                call()
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            calls[0](), calls[0]()
            last.record()
            self.stream.synchronize()
            one = max(first.elapsed_time(last) * 500, 1)
            count = max(3, min(MOST_CALLS, int(REPLAY_US / one)))
            count = -(-count // len(calls)) * len(calls)
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin()
            try:
                for index in range(count):
                    calls[index % len(calls)]()
            finally:
                graph.capture_end()
        return graph, calls, count

    def replayed(self, graphs):
        """Microseconds of each graph's replays, in turn; the first round warms up."""
        marks = [torch.cuda.Event(enable_timing=True) for _ in range((ROUNDS + 1) * len(graphs) + 1)]
        with torch.cuda.stream(self.stream):
            marks[0].record()
            for index, mark in enumerate(marks[1:]):
                graphs[index % len(graphs)].replay()
                mark.record()
            self.stream.synchronize()
        spans = [a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:])]
        return [spans[index + len(graphs)::len(graphs)] for index in range(len(graphs))]


def figures(times, count):
    each = sorted(microseconds / count for microseconds in times)
    middle = statistics.median(each)
    return round(middle, 3), round((each[-1] - each[0]) / middle, 4)


def start(seed):
    torch.manual_seed(seed)
    torch.set_grad_enabled(False)
    torch.backends.cudnn.benchmark = True
    # Collecting while a graph is captured may free what it holds.
    gc.disable()


def make_room():
    if torch.cuda.memory_reserved() > MOST_RESERVED_BYTES:
        gc.collect()
        torch.cuda.empty_cache()


def machine():
    name = torch.cuda.get_device_name()
    target = next((target for part, target in TARGETS if part in name), None)
    if target is None:
        sys.exit(f"no row of the cost model for {name}")
    return {"gpu": name, "target": target, "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
            "cuda": torch.version.cuda, "date": time.strftime("%Y-%m-%d")}


def is_lost(error):
    """After an error of the device itself nothing runs any more in this process."""
    return isinstance(error, torch.AcceleratorError) or ("CUDA error" in str(error) and "CUBLAS" not in str(error))


def supervised(work, seconds, out, most_restarts=12):
    """Runs `work(from_index, deadline)` in a child, and again behind the row that killed it.

    A child writes how far it is to `out`.at before each row."""
    if "TIMING_FROM" in os.environ:
        return work(int(os.environ["TIMING_FROM"]), float(os.environ["TIMING_UNTIL"]))
    deadline, index, at = time.time() + seconds, 0, f"{out}.at"
    for _ in range(most_restarts + 1):
        child = dict(os.environ, TIMING_FROM=str(index), TIMING_UNTIL=str(deadline))
        code = subprocess.run([sys.executable, *sys.argv], env=child).returncode
        if code == 0 or time.time() > deadline:
            break
        if not os.path.exists(at):
            sys.exit(f"ended with {code} before the first row")
        with open(at) as file:
            index = int(file.read()) + 1
        print(f"row {index - 1} ended the process with {code}: on from {index}", file=sys.stderr, flush=True)
    if os.path.exists(at):
        os.remove(at)


def write_row(out, row):
    with open(out, "a") as file:
        file.write(json.dumps(row) + "\n")


def mark(out, index):
    with open(f"{out}.at", "w") as file:
        file.write(str(index))
