"""The decoders of bench/gpu/decode.ts in PyTorch, FP16, random weights: a prompt and one token, each a CUDA graph.

python3 decode_torch.py llama,qwen PROMPT PAST > rows.json
"""
import json, statistics, sys
import torch, torch.nn.functional as F

SIZES = {
    "llama": dict(hidden=4096, heads=32, kv=8, dim=128, inner=14336, vocab=128256, bias=False),
    "qwen": dict(hidden=3584, heads=28, kv=4, dim=128, inner=18944, vocab=152064, bias=True),
}
LAYERS = 2


def weight(n, k):
    return torch.randn(n, k, device="cuda", dtype=torch.float16) / k**0.5


class Decoder:
    def __init__(self, hidden, heads, kv, dim, inner, vocab, bias, capacity):
        self.heads, self.kv, self.dim, self.hidden = heads, kv, dim, hidden
        self.table, self.head = weight(vocab, hidden), weight(vocab, hidden)
        self.layers = [
            dict(
                qkv=weight((heads + 2 * kv) * dim, hidden),
                qkv_bias=torch.randn((heads + 2 * kv) * dim, device="cuda", dtype=torch.float16) if bias else None,
                o=weight(hidden, heads * dim), gate=weight(inner, hidden), up=weight(inner, hidden), down=weight(hidden, inner),
                k=torch.zeros(1, kv, capacity, dim, device="cuda", dtype=torch.float16),
                v=torch.zeros(1, kv, capacity, dim, device="cuda", dtype=torch.float16),
            )
            for _ in range(LAYERS)
        ]
        self.norm = torch.ones(hidden, device="cuda", dtype=torch.float16)
        angle = torch.outer(torch.arange(capacity, device="cuda").float(), 500000.0 ** (-torch.arange(dim // 2, device="cuda") / (dim // 2)))
        self.cos, self.sin = (torch.cat([f(angle)] * 2, -1).half() for f in (torch.cos, torch.sin))

    def turned(self, x, place):
        half = x.shape[-1] // 2
        return x * self.cos[place] + torch.cat([-x[..., half:], x[..., :half]], -1) * self.sin[place]

    def __call__(self, ids, place, length):
        """`length`: keys that are attended to; a token sees all, a prompt those up to itself."""
        x = self.table[ids]
        for w in self.layers:
            h = F.rms_norm(x, (self.hidden,), self.norm, 1e-5)
            qkv = F.linear(h, w["qkv"], w["qkv_bias"]).view(1, ids.shape[1], -1, self.dim).transpose(1, 2)
            q, k, v = qkv.split([self.heads, self.kv, self.kv], 1)
            w["k"].index_copy_(2, place, self.turned(k, place))
            w["v"].index_copy_(2, place, v)
            a = F.scaled_dot_product_attention(self.turned(q, place), w["k"][:, :, :length], w["v"][:, :, :length],
                                               is_causal=ids.shape[1] > 1, enable_gqa=True)
            x = x + F.linear(a.transpose(1, 2).reshape(1, ids.shape[1], -1), w["o"])
            h = F.rms_norm(x, (self.hidden,), self.norm, 1e-5)
            x = x + F.linear(F.silu(F.linear(h, w["gate"])) * F.linear(h, w["up"]), w["down"])
        return F.linear(F.rms_norm(x, (self.hidden,), self.norm, 1e-5), self.head)


def timed(call):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            call()
        flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, device="cuda", dtype=torch.uint8)
        times = []
        for _ in range(30):
            flush.zero_()
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            graph.replay()
            last.record()
            stream.synchronize()
            times.append(first.elapsed_time(last) * 1e3)
    return statistics.median(times)


def main(names, prompt, past):
    rows = []
    for name in names.split(","):
        model = Decoder(**SIZES[name], capacity=past + 1)
        ids = torch.randint(0, 1000, (1, prompt), device="cuda")
        one = torch.zeros(1, 1, device="cuda", dtype=torch.long)
        weights = sum(w[k].numel() * 2 for w in model.layers for k in ("qkv", "o", "gate", "up", "down")) + model.head.numel() * 2
        here = torch.tensor([past], device="cuda")
        step = timed(lambda: model(one, here, past + 1))
        places = torch.arange(prompt, device="cuda")
        rows.append(dict(sizes=name, peer="torch fp16", prefillUs=timed(lambda: model(ids, places, prompt)),
                         stepUs=step, weightBytes=weights, gbps=weights / step / 1e3))
        del model
        torch.cuda.empty_cache()
    print(json.dumps(rows))


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
