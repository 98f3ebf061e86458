#!/usr/bin/env python3
"""Measures, in PyTorch on the GPU at hand, what rules claim: a layer as exporters write it, and the change that a rule names.

    python3 bench/measure_rewrites.py [FAMILY,…] > rewrites.jsonl

A line is [[family, sizes…], {variant: microseconds}]. FP16; medians of replayed CUDA graphs on one set of buffers, with
cudnn.benchmark, as measure_pytorch.py times. bench/results/rewrites.jsonl is what an H200 said (PyTorch 2.11, CUDA 13.0,
cuDNN 9.19, 2026-11-22); test/rules/measured.test.ts holds the rules to it.
"""
import gc, json, statistics, sys
import torch, torch.nn.functional as F

STREAM = torch.cuda.Stream()
LAST = {"memory_format": torch.channels_last}


def randn(*shape):
    return (torch.randn(*shape, device="cuda") * 0.1).half()


def median_us(call):
    torch.cuda.synchronize()
    with torch.cuda.stream(STREAM), torch.no_grad():
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
    return round(statistics.median(spans), 2)


def emit(*key, **variants):
    print(json.dumps([key, {name: median_us(call) for name, call in variants.items()}]), flush=True)
    gc.collect()


def patches():
    """[batch, channels, side, patch, filters]: n channels first, l channels last, nobias the same; as a product, and turned back."""
    sizes = [(b, 3, 224, p, f) for p, f in ((4, 96), (8, 384), (14, 1152), (16, 192), (16, 768), (32, 1024)) for b in (1, 8, 32)]
    sizes += [(b, c, 64, p, 256) for c in (4, 8, 16, 32) for p in (2, 4, 8) for b in (1, 32)]
    sizes += [(b, 96, 56, 2, 192) for b in (1, 32)]
    for b, c, s, p, f in sizes:
        x, w, z, o = randn(b, c, s, s), randn(f, c, p, p), randn(f), s // p
        xl, wl, rows = x.to(**LAST), w.to(**LAST), w.flatten(1)

        def product():
            gathered = x.reshape(b, c, o, p, o, p).permute(0, 2, 4, 1, 3, 5).reshape(b * o * o, c * p * p)
            return F.linear(gathered, rows, z)

        emit("patch", b, c, s, p, f,
             nchw=lambda: F.conv2d(x, w, z, stride=p), nhwc=lambda: F.conv2d(xl, wl, z, stride=p),
             nobias=lambda: F.conv2d(xl, wl, stride=p), mm=product,
             back=lambda: product().view(b, o * o, f).transpose(1, 2).contiguous())


def conv1d(b, length, kernel, groups, width):
    """[batch, length, kernel, groups, channels a group]: n as conv1d, l as a conv2d of height 1, channels last."""
    c = groups * width
    x, w, z = randn(b, c, length), randn(c, width, kernel), randn(c)
    xl, wl, pad = x[:, :, None].to(**LAST), w[:, :, None].to(**LAST), kernel // 2
    emit("g1", b, length, kernel, groups, width,
         n=lambda: F.conv1d(x, w, z, padding=pad, groups=groups), l=lambda: F.conv2d(xl, wl, z, padding=(0, pad), groups=groups))


def conv2d(family, b, side, kernel, groups, width):
    c = groups * width
    x, w, z, pad = randn(b, c, side, side), randn(c, width, kernel, kernel), randn(c), kernel // 2
    xl, wl = x.to(**LAST), w.to(**LAST)
    emit(family, b, side, kernel, groups, width,
         n=lambda: F.conv2d(x, w, z, padding=pad, groups=groups), l=lambda: F.conv2d(xl, wl, z, padding=pad, groups=groups))


def grouped():
    """[batch, side, kernel, groups, channels a group]: n channels first, l channels last."""
    few, many = (24, 32, 40, 48, 56, 64), (8, 12, 16, 20, 24, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 120, 128)
    for b, length in ((1, 499), (8, 499), (1, 1500)):
        for kernel in (3, 9, 19, 32, 64, 128):
            for width in many if kernel == 128 else few:
                conv1d(b, length, kernel, 16, width)
    for width in many:
        conv1d(8, 1500, 5, 16, width)
    for b, side, groups in ((1, 14, 16), (1, 56, 4), (2, 28, 8), (4, 28, 8), (8, 28, 8), (8, 14, 16)):
        for width in few:
            conv2d("g2", b, side, 3, groups, width)
    for b, side, groups in ((1, 28, 8), (32, 28, 8), (32, 14, 32)):
        for width in many:
            conv2d("g2", b, side, 3, groups, width)


def depthwise():
    for b, c, side in ((1, 96, 56), (32, 96, 56), (1, 384, 14), (32, 384, 14)):
        for kernel in (3, 5, 7, 9, 13, 21, 31):
            conv2d("dw", b, side, kernel, c, 1)


def norms():
    """gn [batch, channels, side, groups], ln and rms [rows, columns]: as nodes of their own, and as one operator."""
    for b, c, side, groups in ((1, 320, 64, 32), (1, 320, 32, 32), (2, 640, 32, 32), (8, 320, 64, 32), (1, 1280, 8, 32), (1, 48, 64, 16)):
        x, w, z = randn(b, c, side, side), randn(c), randn(c)
        scale, shift, ones, zeros = w.view(-1, 1, 1), z.view(-1, 1, 1), torch.ones_like(w[:groups]), torch.zeros_like(w[:groups])
        inst = lambda: F.instance_norm(x.view(b, groups, -1), weight=ones, bias=zeros)
        emit("gn", b, c, side, groups, inst=inst, written=lambda: inst().view(x.shape) * scale + shift,
             mul=lambda: x * scale, op=lambda: F.group_norm(x, groups, w, z))
    for rows, columns in ((64, 288), (64, 768), (512, 768), (2048, 1024), (4096, 4096), (65536, 768)):
        x, w, z = randn(rows, columns), randn(columns), randn(columns)

        def layer():
            centred = x - x.mean(-1, True)
            return centred / (centred.pow(2).mean(-1, True) + 1e-3).sqrt() * w + z

        emit("ln", rows, columns, written=layer, op=lambda: F.layer_norm(x, (columns,), w, z))
        emit("rms", rows, columns, written=lambda: x * (x.pow(2).mean(-1, True) + 1e-3).sqrt().reciprocal() * w,
             op=lambda: F.rms_norm(x, (columns,), w))


def gelus():
    """[rows, columns]: the form with erf, with tanh, and each as one operator."""
    for rows, columns in ((64, 768), (64, 3072), (512, 3072), (2048, 4096), (4096, 16384), (65536, 3072)):
        x = randn(rows, columns)
        emit("gelu", rows, columns, erf=lambda: x * (torch.erf(x / 1.4142) + 1) * 0.5, op=lambda: F.gelu(x),
             tanh=lambda: x * 0.5 * (torch.tanh((x + x.pow(3) * 0.0447) * 0.7978) + 1), opt=lambda: F.gelu(x, approximate="tanh"))


def merged():
    """[rows, inputs, [outputs…]]: products of one input, apart and as one."""
    shapes = ((768, (768,) * 3), (4096, (4096, 1024, 1024)), (288, (288, 96, 96)), (768, (768,) * 2), (768, (2048,) * 2),
              (4096, (11008,) * 2), (320, (320,) * 3))
    for rows in (1, 64, 256, 1024, 4096, 16384):
        for k, outputs in shapes:
            x, parts = randn(rows, k), [randn(n, k) for n in outputs]
            whole = torch.cat(parts)
            emit("merge", rows, k, outputs, apart=lambda: [F.linear(x, w) for w in parts], one=lambda: F.linear(x, whole))


def rows():
    """[rows, outputs, inputs] of one product."""
    for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        for n, k in ((128, 128), (512, 512), (768, 3072), (4096, 4096), (4096, 25088)):
            x, w = randn(m, k), randn(n, k)
            emit("rows", m, n, k, t=lambda: F.linear(x, w))


FAMILIES = {each.__name__: each for each in (patches, grouped, depthwise, norms, gelus, merged, rows)}


def main():
    torch.backends.cudnn.benchmark = True
    for name in sys.argv[1].split(",") if len(sys.argv) > 1 else FAMILIES:
        FAMILIES[name]()


if __name__ == "__main__":
    main()
