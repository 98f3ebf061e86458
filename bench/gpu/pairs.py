#!/usr/bin/env python3
"""Times both sides of random changes (padding, layout, precision, fusing) on the GPU at hand: JSON lines for pairs.ts.

    python3 bench/gpu/pairs.py --seed 11 --seconds 400 --out pairs.jsonl [--pairs 2000] [--cold] [--kinds conv=30,layout=20]
                               [--avoid 12,15]

Shapes follow from the seed (pair_shapes.py). --kinds draws those kinds alone, in these shares; --avoid leaves out every shape
that these seeds draw as they are by default, so that what is to judge a fit stays out of it. Each side is a CUDA graph of up to 100 calls on one set of buffers (--cold:
on sets that exceed L2); the graphs replay in turn, before, after, before, after, …, once to warm up and five times more,
and a side's time is the median. cudnn.benchmark is on. The first line is {"meta": …}; a row is {"index", "kind", "part",
"before", "after"}, a side {"call", "rows", "us", "spread"}: spread is (largest - smallest) / median of the five. What
PyTorch refuses is skipped with a line on stderr; what kills the process, too, and the rest goes on in a new one.
"""
import argparse, os, random, sys, time
import graph_timing, pair_shapes


DRAWN = 2000


def shares(text):
    """{what draws a kind: its share}, of "conv=30,precision-tf32=10"."""
    drawers = {draw.__name__.replace("_", "-"): draw for draw in pair_shapes.KINDS}
    return {drawers[name]: float(share) for name, share in (each.split("=") for each in text.split(","))}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--pairs", type=int, default=DRAWN)
    parser.add_argument("--kinds", type=shares, default=pair_shapes.KINDS)
    parser.add_argument("--avoid", type=lambda text: [int(seed) for seed in text.split(",")], default=[])
    parser.add_argument("--cold", action="store_true")
    return parser.parse_args()


def drawn(seed, count=DRAWN, kinds=pair_shapes.KINDS, avoided=()):
    """Changes none of whose shapes another has."""
    rng, seen, pairs = random.Random(seed), set(avoided), []
    while len(pairs) < count:
        pair = pair_shapes.draw(rng, kinds)
        shapes = pair_shapes.shapes_of(pair)
        if not shapes & seen:
            seen |= shapes
            pairs.append(pair)
    return pairs


def shapes_of_seeds(seeds):
    """All that they draw by default."""
    return {shape for seed in seeds for pair in drawn(seed) for shape in pair_shapes.shapes_of(pair)}


def measure(pair, timer):
    sides = [pair["before"], pair["after"]]
    timed = timer.interleaved([graph_timing.builder(call[0], call[1:]) for call in (side["call"] for side in sides)])
    before, after = ({**side, "us": us, "spread": spread} for side, (us, spread) in zip(sides, timed))
    return {**pair, "before": before, "after": after}


def run(options, first, deadline):
    graph_timing.start(options.seed)
    if first == 0:
        timing = f"medians of 5 interleaved graph replays, buffers {'cold' if options.cold else 'hot'}"
        meta = {**graph_timing.machine(), "seed": options.seed, "timing": timing}
        graph_timing.write_row(options.out, {"meta": meta})
    pairs = drawn(options.seed, options.pairs, options.kinds, shapes_of_seeds(options.avoid))
    timer, begun, done, skipped = graph_timing.Timer(options.cold), time.time(), 0, 0
    for index, pair in enumerate(pairs):
        if index < first:
            continue
        if time.time() > deadline:
            break
        graph_timing.mark(options.out, index)
        try:
            graph_timing.write_row(options.out, {"index": index, **measure(pair, timer)})
            done += 1
        except Exception as error:
            print(f"skipped {index}: {pair['before']['call']}: {str(error)[:160]}", file=sys.stderr, flush=True)
            if graph_timing.is_lost(error):
                sys.exit(1)
            skipped += 1
        graph_timing.make_room()
    seconds = time.time() - begun
    print(f"{done} pairs, {skipped} skipped, {seconds:.0f} s, {seconds / max(done, 1):.3f} s a pair", file=sys.stderr)


def main():
    options = parse()
    if "TIMING_FROM" not in os.environ and os.path.exists(options.out):
        sys.exit(f"{options.out} is there already")
    graph_timing.supervised(lambda first, deadline: run(options, first, deadline), options.seconds, options.out)


if __name__ == "__main__":
    main()
