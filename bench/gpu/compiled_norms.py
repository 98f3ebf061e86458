"""What torch.compile's kernels take that reduce rows and rescale them (norms, softmax), with the loops around them: JSON lines for the fit.

    python3 bench/gpu/compiled_norms.py --seed 41 --processes 15 --each 60 --out compiled-norms.jsonl

The first line is ["meta", …]; a row is ["compiled_rows", operator, rows, columns, values read, values written, number format,
microseconds]: values as large as rows × columns, rows of what is reduced. Processes compile side by side and time one after the other, with
the GPU to themselves. An operator is one CUDA graph of up to 100 calls (graph_timing.py), median of five replays.
"""
import argparse, multiprocessing, os, random
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
import torch, torch.nn.functional as F
import graph_timing

# Values of rows × columns that each reads and writes.
OPERATORS = {"layernorm": (1, 1), "add_layernorm": (2, 1), "add_layernorm_kept": (2, 2), "rmsnorm": (1, 1), "softmax": (1, 1),
             "scaled_softmax": (1, 1), "masked_softmax": (1, 1), "instancenorm": (1, 1), "groupnorm_silu": (1, 1)}
LEAST_ELEMENTS, MOST_ELEMENTS = 1 << 12, 1 << 26


def drawn(rng):
    name = rng.choice(list(OPERATORS))
    is_image = name in ("instancenorm", "groupnorm_silu")
    while True:
        columns = int(2 ** (rng.uniform(8, 18) if is_image else rng.uniform(5, 12.5)))
        if rng.random() < 0.7:
            columns = -(-columns // 32) * 32
        rows = int(2 ** (rng.uniform(3, 11) if is_image else rng.uniform(4, 17)))
        if LEAST_ELEMENTS <= rows * columns <= MOST_ELEMENTS:
            return name, rows, columns, "fp32" if rng.random() < 0.2 else "fp16"


def body(name, rows, columns, dtype):
    """(function of tensors, its tensors)"""
    x, y = (graph_timing.randn(rows, columns, dtype=dtype) for _ in range(2))
    weight, bias = (graph_timing.randn(columns, dtype=dtype) for _ in range(2))
    if name == "layernorm":
        return lambda x, w, b: F.layer_norm(x, (columns,), w, b), (x, weight, bias)
    if name == "add_layernorm":
        return lambda x, y, w, b: F.layer_norm(x + y, (columns,), w, b), (x, y, weight, bias)
    if name == "add_layernorm_kept":
        def kept(x, y, w, b):
            total = x + y
            return total, F.layer_norm(total, (columns,), w, b)
        return kept, (x, y, weight, bias)
    if name == "rmsnorm":
        return lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * w, (x, weight)
    if name == "softmax":
        return lambda x: torch.softmax(x, -1), (x,)
    if name == "scaled_softmax":
        return lambda x: torch.softmax(x * 0.125, -1), (x,)
    if name == "masked_softmax":
        return lambda x, b: torch.softmax(x * 0.125 + b, -1), (x, bias)
    channels = graph_timing.randn(1, rows, 1, dtype=dtype), graph_timing.randn(1, rows, 1, dtype=dtype)
    image = x.view(1, rows, columns)
    if name == "instancenorm":
        return lambda x, w, b: F.instance_norm(x) * w + b, (image, *channels)
    return lambda x, w, b: F.silu(F.group_norm(x, rows) * w + b), (image, *channels)


def compiled(row):
    # Compiled code is guarded by it.
    graph_timing.set_tf32(row[-1])
    function, tensors = body(*row)
    call = torch.compile(function, dynamic=False)
    call(*tensors)
    return lambda: call(*tensors)


def work(seed, index, options, barrier, lock):
    graph_timing.start(seed)
    # Shapes are compiled one by one, of few functions.
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1 << 16
    rng, timer, ready = random.Random(seed * 1000 + index), graph_timing.Timer(), []
    for _ in range(options.each):
        row = drawn(rng)
        try:
            ready.append((row, compiled(row)))
        except Exception as error:
            print(row, type(error).__name__, str(error)[:200], flush=True)
    torch.cuda.synchronize()
    barrier.wait()
    with lock:
        for row, call in ready:
            [(us, spread)] = timer.interleaved([(row[-1], lambda: call)])
            name, rows, columns, dtype = row
            graph_timing.write_row(options.out, ["compiled_rows", name, rows, columns, *OPERATORS[name], dtype, us])
    # A process that ends holds the GPU up.
    barrier.wait()


def main():
    parser = argparse.ArgumentParser()
    for name in ("seed", "processes", "each"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    barrier, lock = context.Barrier(options.processes), context.Lock()
    graph_timing.write_row(options.out, ["meta", {**graph_timing.machine(), "seed": options.seed}])
    children = [context.Process(target=work, args=(options.seed, index, options, barrier, lock)) for index in range(options.processes)]
    for child in children:
        child.start()
    for child in children:
        child.join()


if __name__ == "__main__":
    main()
