"""Draws changes that the cost model prices, with sizes as networks have them: `draw(rng)` gives one.

A change is {"kind", "part", "before", "after"}; a side is {"call": [name, columns…], "rows": [[family, columns…], …]}:
what graph_timing.py builds, and the kernels of it as rows that scripts/fit/data.ts reads.
"""
import math

SIDES = [7, 14, 28, 56, 112, 224, 8, 16, 32, 64, 128, 256, 20, 40, 80, 160, 13, 26, 52, 104]
FILTERS = [255, 21, 27, 19, 85, 10, 100, 150, 75, 91, 30, 58, 67, 116, 129, 251, 36, 12, 20, 28, 44, 60, 92, 172, 54]
WIDTHS = [64, 128, 256, 512, 96, 192, 384, 768, 1024, 320, 32, 48, 160, 640, 1280, 2048]
VOCABULARIES = [50257, 30522, 32001, 49409, 50265, 51865, 28997, 21129, 119547, 32003, 65521, 64793, 31002, 250002,
                35004, 57522, 10001, 1001, 1203, 8404, 5002, 3806]
LENGTHS = [49, 50, 64, 77, 128, 196, 197, 256, 257, 384, 512, 577, 1024, 1500, 2048]
# Of the slowest kernels that a shape may meet: a pair should take a quarter of a second.
MOST_WORK = {"fp16": 3e10, "tf32": 2e10, "fp32": 8e9}
MOST_ELEMENTS = 1.2e8


def log_uniform(rng, low, high):
    return int(round(math.exp(rng.uniform(math.log(low), math.log(high)))))


def up(value, step=8):
    return -(-value // step) * step


def misaligned(rng, low, high):
    """Odd, twice odd, or four times odd."""
    rest = rng.choices([rng.choice([1, 3, 5, 7]), rng.choice([2, 6]), 4], [45, 25, 30])[0]
    return max(low, log_uniform(rng, low, high) // 8 * 8 + rest)


def aligned(rng, low, high):
    return max(8, log_uniform(rng, low, high) // 8 * 8)


def either(rng, low, high, share_aligned=0.65):
    return aligned(rng, low, high) if rng.random() < share_aligned else misaligned(rng, low, high)


def channels(rng, low=5, high=1300):
    return rng.choice(FILTERS) if rng.random() < 0.3 else misaligned(rng, low, high)


def width(rng, low=16, high=1500):
    return rng.choice(WIDTHS) if rng.random() < 0.4 else aligned(rng, low, high)


def batch(rng):
    return rng.choice([1, 1, 1, 1, 2, 3, 4, 6, 8, 8, 12, 16, 24, 32, 64])


def image(rng):
    h = rng.choice(SIDES) if rng.random() < 0.55 else log_uniform(rng, 5, 300)
    return h, h if rng.random() < 0.75 else max(5, int(h * rng.uniform(0.5, 2)))


def side(row):
    return {"call": row, "rows": [row]}


def conv_row(rng, n, c, h, w, k, groups, layout, dtype, taps=None):
    r = taps or rng.choices([3, 1, 5, 7], [48, 30, 12, 10])[0]
    stride = 2 if rng.random() < 0.25 else 1
    family = "conv" if rng.random() < 0.75 else "conv_nobias"
    return [family, n, c, h, w, k, r, stride, r // 2, groups, layout, dtype]


def fits_conv(row, share=1.0):
    _, n, c, h, w, k, r, stride, pad, groups, _, dtype = row
    tall, wide = ((size + 2 * pad - r) // stride + 1 for size in (h, w))
    work = n * tall * wide * k * (c // groups) * r * r
    return (min(tall, wide) > 0 and work < MOST_WORK[dtype] * share
            and max(n * c * h * w, n * k * tall * wide) < MOST_ELEMENTS)


def with_columns(row, changes):
    return [changes.get(index, value) for index, value in enumerate(row)]


def conv(rng):
    """Input channels, filters or both to the next multiple of 8; three channels of an image also to 4."""
    stem = rng.random() < 0.08
    which = rng.choices(["C", "K", "CK"], [25, 35, 40])[0]
    c = rng.choice([1, 2, 3, 3, 3]) if stem else channels(rng) if "C" in which else width(rng)
    k = channels(rng) if "K" in which and not stem else width(rng, 16, 128) if stem else width(rng)
    layout = rng.choice(["NHWC", "NCHW"])
    before = conv_row(rng, batch(rng), c, *image(rng), k, 1, layout, "fp16")
    if not fits_conv(before):
        return None
    step = rng.choice([4, 8]) if stem else 8
    changes = {2: up(c, step), 5: up(k)}
    if which == "CK" and not stem and rng.random() < 0.25:
        del changes[rng.choice([2, 5])]
    return "conv", layout, side(before), side(with_columns(before, changes))


def grouped(rng):
    """Channels a group to the next multiple of 8, or from such a one to the next power of two."""
    groups = rng.choice([2, 2, 3, 4, 4, 6, 8, 8, 12, 16, 16, 24, 32, 32, 48, 64])
    to_power = rng.random() < 0.12
    per_group = rng.choice([24, 40, 48, 56]) if to_power else min(63, misaligned(rng, 3, 63))
    filters = per_group if rng.random() < 0.75 else min(63, misaligned(rng, 3, 63))
    layout = rng.choice(["NHWC", "NCHW"])
    taps = rng.choices([3, 1, 5, 7], [66, 16, 10, 8])[0]
    before = conv_row(rng, batch(rng), groups * per_group, *image(rng), groups * filters, groups, layout, "fp16", taps)
    if not fits_conv(before, 0.12):
        return None
    padded = (lambda size: 1 << (size - 1).bit_length()) if to_power else up
    after = with_columns(before, {2: groups * padded(per_group), 5: groups * padded(filters)})
    return "grouped", layout, side(before), side(after)


def blocked(size):
    """The next width that divides 64 or is a multiple of it."""
    return up(size, 64) if size > 64 else 1 << (size - 1).bit_length()


def sequence(rng):
    """Convolutions along one axis, as speech models have them: channels (a group) to the next multiple of 8 or to a blocked width."""
    groups = rng.choice([1, 1, 2, 4, 8, 12, 16, 16, 24, 32])
    taps = rng.choice([1, 3, 5, 9, 15, 19, 25, 31, 32, 41, 51, 64, 80, 95, 96, 112, 128, 128, 144, 160])
    length, n = log_uniform(rng, 40, 3000), rng.choice([1, 1, 1, 2, 4, 8])
    to_block = groups > 1 and rng.random() < 0.6
    per_group = aligned(rng, 8, 130) if to_block else misaligned(rng, 3, 130 if groups > 1 else 700)
    filters = per_group if groups > 1 or rng.random() < 0.5 else width(rng)
    if n * length * groups * filters * per_group * taps > 2e10:
        return None

    def row(c, k):
        columns = ["conv_nd", n, groups * c, [length], groups * k, [taps], 1, taps // 2, groups, "NCHW", False]
        return {"call": [*columns, "fp16"], "rows": [columns]}

    padded = blocked if to_block else up
    if padded(per_group) == per_group:
        return None
    return "grouped" if groups > 1 else "conv", "sequence", row(per_group, filters), row(padded(per_group), padded(filters))


def fits_product(m, n, k, dtype, copies=1):
    largest = max(m * n, m * k, n * k)
    return copies * m * n * k < MOST_WORK[dtype] and copies * largest < MOST_ELEMENTS


def rows_of_product(rng):
    return log_uniform(rng, 1, 64) if rng.random() < 0.3 else log_uniform(rng, 16, 16384)


def gemm(rng):
    which = rng.choices(["N", "K", "NK", "vocabulary"], [28, 28, 24, 20])[0]
    m, family = rows_of_product(rng), "gemm" if rng.random() < 0.7 else "gemm_nn"
    if which == "vocabulary":
        n, k = rng.choice(VOCABULARIES), width(rng, 128, 4096)
    else:
        n = misaligned(rng, 3, 12000) if "N" in which else aligned(rng, 16, 12000)
        k = misaligned(rng, 9, 8192) if "K" in which else aligned(rng, 16, 8192)
    if not fits_product(m, n, k, "fp16"):
        return None
    after = [m, up(n), up(k)]
    if which == "NK" and rng.random() < 0.25:
        after = rng.choice([[m, n, up(k)], [m, up(n), k]])
    return "gemm", which, side([family, m, n, k, "fp16"]), side([family, *after, "fp16"])


def heads(rng):
    s = rng.choice(LENGTHS) if rng.random() < 0.5 else log_uniform(rng, 8, 3000)
    other = s if rng.random() < 0.7 else rng.choice(LENGTHS) if rng.random() < 0.5 else log_uniform(rng, 8, 2000)
    return rng.choice([1, 1, 2, 3, 4, 8, 16, 32]), rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32]), s, other


def fits_heads(b, count, s, other, d, dtype):
    return (b * count * s * other < 1.5e8 and b * count * max(s, other) * d < MOST_ELEMENTS
            and b * count * s * other * d < MOST_WORK[dtype])


def sdpa(rng):
    b, count, s, other = heads(rng)
    d, causal = misaligned(rng, 9, 250), s == other and rng.random() < 0.3
    if not fits_heads(b, count, s, other, d, "fp16"):
        return None
    before, after = (["sdpa_typed", b, count, s, other, size, causal, "fp16"] for size in (d, up(d)))
    return "sdpa", "causal" if causal else "full", side(before), side(after)


def written_side(copies, s, other, d, layout, dtype="fp16"):
    scores = copies * s * other * (2 if dtype == "fp16" else 4)
    return {
        "call": ["written", copies, s, other, d, layout, dtype],
        "rows": [
            ["bmm_typed", copies, s, other, d, layout, dtype],
            ["traffic_typed", "scale", "elementwise", copies * s, other, scores, scores, dtype],
            ["memory", "softmax", copies * s, other, dtype],
            ["bmm_typed", copies, s, d, other, "NN", dtype],
        ],
    }


def written(rng):
    b, count, s, other = heads(rng)
    d, layout = misaligned(rng, 9, 160), rng.choice(["NN", "NT"])
    if not fits_heads(b, count, s, other, d, "fp16"):
        return None
    before, after = (written_side(b * count, s, other, size, layout) for size in (d, up(d)))
    return "written", layout, before, after


def fuse(rng):
    b, count, s, other = heads(rng)
    d, layout = either(rng, 9, 200, 0.6), rng.choice(["NN", "NT"])
    if not fits_heads(b, count, s, other, d, "fp16"):
        return None
    after = side(["sdpa_typed", b, count, s, other, d, False, "fp16"])
    return "fuse", "misaligned" if d % 8 else "aligned", written_side(b * count, s, other, d, layout), after


def product_row(rng, dtype):
    m, n, k = rows_of_product(rng), either(rng, 24, 12000), either(rng, 32, 8192)
    row = ["gemm" if rng.random() < 0.7 else "gemm_nn", m, n, k, dtype]
    return row if fits_product(m, n, k, dtype) else None


def bmm_row(rng, dtype):
    copies, m, n, k = log_uniform(rng, 2, 400), *(either(rng, 8, 1500, 0.6) for _ in range(3))
    row = ["bmm_typed", copies, m, n, k, rng.choice(["NN", "NT"]), dtype]
    return row if fits_product(m, n, k, dtype, copies) else None


def any_conv_row(rng, dtype, layouts=("NCHW", "NCHW", "NHWC")):
    c, k = (either(rng, 8, 1000, 0.7) for _ in range(2))
    groups, kind = 1, rng.random()
    if kind < 0.12:
        groups = k = c
    elif kind < 0.22:
        groups = rng.choice([2, 4, 8, 16, 32])
        c = k = groups * max(2, log_uniform(rng, 2, 64))
    elif kind < 0.3:
        c = 3
    row = conv_row(rng, batch(rng), c, *image(rng), k, groups, rng.choice(layouts), dtype)
    return row if fits_conv(row, 1 if groups == 1 else 0.1) else None


def sdpa_row(rng, dtype):
    (b, count, s, other), d = heads(rng), either(rng, 9, 256, 0.8)
    row = ["sdpa_typed", b, count, s, other, d, s == other and rng.random() < 0.3, dtype]
    return row if fits_heads(b, count, s, other, d, dtype) else None


MEMORY_OPS = ["add", "relu", "silu", "gelu", "layernorm", "layernorm", "softmax", "softmax", "copy", "transpose"]


def memory_row(rng, dtype):
    rows, cols = log_uniform(rng, 4, 65536), either(rng, 16, 8192)
    return ["memory", rng.choice(MEMORY_OPS), rows, cols, dtype] if rows * cols < MOST_ELEMENTS / 2 else None


ROWS = {"gemm": product_row, "bmm": bmm_row, "conv": any_conv_row, "sdpa": sdpa_row, "memory": memory_row}


def halved(row):
    return [*row[:-1], "fp16"]


def precision(rng, dtype, shares):
    part = rng.choices(list(ROWS), shares)[0]
    row = ROWS[part](rng, dtype)
    return row and (f"precision-{dtype}", part, side(row), side(halved(row)))


def precision_fp32(rng):
    return precision(rng, "fp32", [26, 14, 28, 12, 20])


def precision_tf32(rng):
    return precision(rng, "tf32", [30, 18, 34, 14, 4])


def layout(rng):
    before = any_conv_row(rng, "fp16", ["NCHW"])
    if before is None:
        return None
    groups = before[9]
    part = "dense" if groups == 1 else "depthwise" if groups == before[2] else "grouped"
    return "layout", part, side(before), side(with_columns(before, {10: "NHWC"}))


def patch(rng):
    r = rng.choices([2, 4, 8, 14, 16, 32], [25, 20, 12, 14, 20, 9])[0]
    c = rng.choice([3, 3, 1, 4, 12]) if r > 4 else rng.choice([3, 48, 64, 96, 128, 192, 256, 384])
    k = rng.choice([48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1152, 1280]) if rng.random() < 0.7 else either(rng, 24, 1500)
    tall = log_uniform(rng, 2, 64)
    wide = tall if rng.random() < 0.7 else log_uniform(rng, 2, 64)
    before = ["conv", batch(rng), c, tall * r, wide * r, k, r, r, 0, 1, "NCHW", "fp16"]
    if not fits_conv(before):
        return None
    n, elements, positions = before[1], before[1] * c * tall * wide * r * r, before[1] * tall * wide
    after = {
        "call": ["patches", n, c, tall * r, wide * r, k, r, "fp16"],
        "rows": [
            ["traffic_typed", "patches", "copy", elements // r, r, 2 * elements, 2 * elements, "fp16"],
            ["gemm", positions, k, c * r * r, "fp16"],
        ],
    }
    return "patch", f"{r}x{r}", side(before), after


# A kind of no share is drawn where it is asked for alone: what a seed draws by default stays what it was.
KINDS = {conv: 20, grouped: 10, gemm: 16, sdpa: 8, written: 8, fuse: 8, precision_fp32: 15, precision_tf32: 13,
         layout: 10, patch: 6, sequence: 0}


def draw(rng, kinds=KINDS):
    while True:
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        # Of one kind until one fits: shares of kinds are not those of what fits.
        for _ in range(200):
            found = kind(rng)
            if found:
                return dict(zip(("kind", "part", "before", "after"), found))


def shapes_of(pair):
    """What both sides measure, whatever the number format, layout or bias."""
    return {sizes_of(row) for side in (pair["before"], pair["after"]) for row in [side["call"]]}


def sizes_of(row):
    family = row[0].replace("_nobias", "").replace("_nn", "")
    return json_key([family, *(column for column in row[1:] if column not in ("fp16", "tf32", "fp32", "NHWC", "NCHW", "NN", "NT"))])


def json_key(row):
    return "|".join(map(str, row))
