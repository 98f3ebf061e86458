#!/usr/bin/env python3
"""Measures operators in FP32 and TF32 on the GPU at hand, as rows that `npm run fit` reads (scripts/fit/data.ts).

    python3 bench/gpu/precision_rows.py --seed 31 --seconds 300 --out rows.jsonl --avoid 11,12 [--shapes 4000]

A shape is measured in FP32, in TF32 or in both, for about a third in FP16 too, and some convolutions in the other layout:
rows of one shape replay in turn, as pairs.py does. A line is [family, columns…, microseconds], as measure_pytorch.py
writes them; the first is ["meta", {…}]. --avoid: seeds of pairs.py (with its --pairs as it is by default) whose shapes are
left out, so that what judges a fit stays out of it.
"""
import argparse, os, pathlib, random, sys, time
import graph_timing, pair_shapes, pairs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import measure_pytorch

TRAFFIC = [op for op in measure_pytorch.TRAFFIC if op != "cast"]
SHARES = {"gemm": 18, "bmm": 15, "conv": 38, "sdpa": 12, "memory": 11, "traffic": 8}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--avoid", default="")
    parser.add_argument("--shapes", type=int, default=4000)
    return parser.parse_args()


def traffic_row(rng, dtype):
    """Without its bytes, which the call knows."""
    op, n, h = rng.choice(TRAFFIC), rng.choice([1, 1, 2, 4, 8, 16, 32]), rng.choice(pair_shapes.SIDES[:6] + [20, 40, 80, 160, 64, 32])
    c = rng.choice([32, 64, 96, 128, 192, 256, 320, 512, 768, 1024, 1280, 116, 58, 30, 67])
    return ["traffic_typed", op, n, c, h, dtype] if n * c * h * h < 3e7 else None


ROWS = {**pair_shapes.ROWS, "traffic": traffic_row}


def variants(rng, family):
    """Rows of one shape; None where it is too large."""
    precisions = rng.choice([["fp32"], ["fp32"], ["tf32"], ["tf32"], ["fp32", "tf32"]])
    if family in ("memory", "traffic"):
        # Nothing multiplies there: TF32 is FP32.
        precisions = ["fp32"]
    row = ROWS[family](rng, precisions[0])
    if row is None:
        return None
    formats = precisions + (["fp16"] if rng.random() < 0.35 else [])
    rows = [[*row[:-1], dtype] for dtype in formats]
    if family == "conv" and rng.random() < 0.25:
        other = "NHWC" if row[10] == "NCHW" else "NCHW"
        rows.append(pair_shapes.with_columns(rows[0], {10: other}))
    return rows


def drawn(seed, count, avoided):
    rng, seen, shapes = random.Random(seed), set(avoided), []
    while len(shapes) < count:
        family = rng.choices(list(SHARES), list(SHARES.values()))[0]
        rows = next(found for found in (variants(rng, family) for _ in range(500)) if found)
        key = pair_shapes.sizes_of(rows[0])
        if key not in seen:
            seen.add(key)
            shapes.append(rows)
    return shapes


def builder(row):
    if row[0] != "traffic_typed":
        return graph_timing.builder(row[0], row[1:])
    _, op, n, c, h, dtype = row
    return dtype, lambda: measure_pytorch.traffic_call(op, n, c, h, graph_timing.DTYPES[dtype])[0]


def line_of(row, us):
    if row[0] != "traffic_typed":
        return [*row, us]
    family, op, n, c, h, dtype = row
    sizes = measure_pytorch.traffic_call(op, n, c, h, graph_timing.DTYPES[dtype])[1:]
    return [family, op, measure_pytorch.TRAFFIC[op], *sizes, dtype, us]


def run(options, first, deadline):
    graph_timing.start(options.seed)
    if first == 0:
        graph_timing.write_row(options.out, ["meta", {**graph_timing.machine(), "seed": options.seed}])
    avoided = pairs.shapes_of_seeds([int(seed) for seed in options.avoid.split(",") if seed])
    timer, begun, done, skipped = graph_timing.Timer(), time.time(), 0, 0
    for index, rows in enumerate(drawn(options.seed, options.shapes, avoided)):
        if index < first:
            continue
        if time.time() > deadline:
            break
        graph_timing.mark(options.out, index)
        try:
            for row, (us, _) in zip(rows, timer.interleaved([builder(row) for row in rows])):
                graph_timing.write_row(options.out, line_of(row, us))
                done += 1
        except Exception as error:
            print(f"skipped {index}: {rows[0]}: {str(error)[:160]}", file=sys.stderr, flush=True)
            if graph_timing.is_lost(error):
                sys.exit(1)
            skipped += 1
        graph_timing.make_room()
    seconds = time.time() - begun
    print(f"{done} rows, {skipped} shapes skipped, {seconds:.0f} s", file=sys.stderr)


def main():
    options = parse()
    if "TIMING_FROM" not in os.environ and os.path.exists(options.out):
        sys.exit(f"{options.out} is there already")
    graph_timing.supervised(lambda first, deadline: run(options, first, deadline), options.seconds, options.out)


if __name__ == "__main__":
    main()
