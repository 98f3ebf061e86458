#!/usr/bin/env python3
"""Exports the zoo's networks at another batch, for those whose exports hold a fixed one.

    python3 export_batch.py PEERS FOLDER BATCH name [name ...]

PEERS holds networks.py. Writes FOLDER/NAME@BATCH.onnx, through the TorchScript exporter, with constants folded as it does
by default. Exit code 1 where a network does not export; the others are written.
"""
import os
import sys
import warnings

import torch

OPSET = 17


def main(peers, folder, batch, names):
    sys.path.insert(0, peers)
    from networks import MODELS, randomize

    failed = [name for name in names if not export(MODELS[name], randomize, os.path.join(folder, f"{name}@{batch}.onnx"), batch)]
    sys.exit(1 if failed else 0)


def export(entry, randomize, path, batch):
    """Whether it could be exported; says why not."""
    torch.manual_seed(0)
    module = entry["mk"]().eval()
    inputs = tuple(torch.cat([tensor[:1]] * batch) for tensor in entry["inp"])
    try:
        with torch.no_grad():
            randomize(module)
            torch.onnx.export(module, inputs, path, opset_version=OPSET, dynamo=False)
        return True
    except Exception as error:  # Whatever the exporter raises is its answer for this network.
        print(f"{path}: {error}", file=sys.stderr)
        return False


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
