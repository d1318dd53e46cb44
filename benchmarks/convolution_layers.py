"""Convolutions of ResNet-50, MobileNet and VGG16, layer by layer, beside TensorFlow's (oneDNN).

    python benchmarks/convolution_layers.py --tensorflow PYTHON [--batches 1 8] [--only WORD ...]
        [--gradients] [--json FILE]

A row has the minima of wall and processor time of a layer's forward convolution, or with
--gradients of its two gradients, in two processes that measure alternately, as `every_op.py` does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from every_op import HEAD, Process, Row, mean, text, versions

LAYERS = {
    "resnet 7x7/2 3-64 224": (224, 3, 64, 7, 2),
    "resnet 1x1 64-64 56": (56, 64, 64, 1, 1),
    "resnet 3x3 64-64 56": (56, 64, 64, 3, 1),
    "resnet 1x1 64-256 56": (56, 64, 256, 1, 1),
    "resnet 1x1 256-64 56": (56, 256, 64, 1, 1),
    "resnet 1x1/2 256-512 56": (56, 256, 512, 1, 2),
    "resnet 3x3 128-128 28": (28, 128, 128, 3, 1),
    "resnet 1x1 128-512 28": (28, 128, 512, 1, 1),
    "resnet 1x1 512-128 28": (28, 512, 128, 1, 1),
    "resnet 3x3 256-256 14": (14, 256, 256, 3, 1),
    "resnet 1x1 256-1024 14": (14, 256, 1024, 1, 1),
    "resnet 1x1 1024-256 14": (14, 1024, 256, 1, 1),
    "resnet 3x3 512-512 7": (7, 512, 512, 3, 1),
    "resnet 1x1 512-2048 7": (7, 512, 2048, 1, 1),
    "resnet 1x1 2048-512 7": (7, 2048, 512, 1, 1),
    "mobilenet 3x3/2 3-32 224": (224, 3, 32, 3, 2),
    "mobilenet depthwise 32 112": (112, 32, 0, 3, 1),
    "mobilenet 1x1 32-64 112": (112, 32, 64, 1, 1),
    "mobilenet depthwise/2 64 112": (112, 64, 0, 3, 2),
    "mobilenet 1x1 128-128 56": (56, 128, 128, 1, 1),
    "mobilenet depthwise 256 28": (28, 256, 0, 3, 1),
    "mobilenet depthwise 512 14": (14, 512, 0, 3, 1),
    "mobilenet 1x1 512-512 14": (14, 512, 512, 1, 1),
    "mobilenet 1x1 1024-1024 7": (7, 1024, 1024, 1, 1),
    "vgg 3x3 3-64 224": (224, 3, 64, 3, 1),
    "vgg 3x3 64-64 224": (224, 64, 64, 3, 1),
    "vgg 3x3 128-128 112": (112, 128, 128, 3, 1),
    "vgg 3x3 256-256 56": (56, 256, 256, 3, 1),
    "vgg 3x3 512-512 28": (28, 512, 512, 3, 1),
    "vgg 3x3 512-512 14": (14, 512, 512, 3, 1),
}
"""By name: the images' height and width, channels, outputs (0: depthwise), window, stride."""


def case_of(name: str, batch: int) -> dict[str, Any]:
    """Return a layer's convolution, as data for both sides."""
    size, channels, outputs, window, stride = LAYERS[name]
    random = np.random.default_rng(1)
    images = random.random((batch, size, size, channels), np.float32)
    filter = random.random((window, window, channels, outputs or 1), np.float32)
    return {
        "op": "Conv2D" if outputs else "DepthwiseConv2dNative",
        "label": f"{name} batch {batch}",
        "special": False,
        "inputs": [images, filter],
        "attrs": {"strides": [1, stride, stride, 1], "padding": "SAME"},
        "names": ["input", "filter"],
        "refs": [False, False],
        "constant": [False, False],
        "writes": [],
        "by": [0, 1],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tensorflow", default=os.environ.get("TENSORFLOW_PYTHON", sys.executable))
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sides = Process(sys.executable, "gpugraph"), Process(options.tensorflow, "tensorflow")
    what, rows = "gradient" if options.gradients else "op", []
    print(HEAD)
    for batch in options.batches:
        for name in LAYERS:
            if options.only and not any(word in name for word in options.only):
                continue
            case, least = case_of(name, batch), [float("inf")] * 4
            if any(isinstance(side.ask("build", case, what), str) for side in sides):
                continue
            for _ in range(options.rounds):
                times = [time for side in sides for time in side.ask("measure", 0.03)]
                least = list(map(min, least, times))
            rows.append(Row(case["op"], what, case["label"], *least))
            print(text(rows[-1]), flush=True)
    print(f"geometric mean {mean([row.ratio for row in rows]):.2f}, ", end="")
    print(f"CPU {mean([row.cpu_ratio for row in rows]):.2f}")
    if options.json:
        kept = versions(options.tensorflow) | {"rows": [row._asdict() for row in rows]}
        options.json.write_text(json.dumps(kept, indent=1) + "\n")
    for side in sides:
        side.close()


if __name__ == "__main__":
    main()
