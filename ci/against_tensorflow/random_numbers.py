"""Random numbers of equal seeds, by gpugraph and by TensorFlow.

    python ci/against_tensorflow/random_numbers.py --tensorflow PYTHON [--count 40] [--seed 1]

Each case is an op with seeds, sizes, dtype and parameters of its own, run twice in one session.
For each op it prints how many numbers are the same, and the largest difference, in units in the
last place. It fails where uniform numbers or choices differ, or others by more than `LIMIT`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, library, python_of_tensorflow, run_side

LIMIT = 8
FLOATS = ("float16", "float32", "float64")
INTS = ("int32", "int64")
NEAR = ("normal", "truncated_normal", "gamma")


def cases(tf: Any, draw: Any) -> dict[str, Callable[[], Any]]:
    """Return the ops to draw, by name; `draw` (NumPy's) gives the parameters."""
    number = int(draw.integers(1, 2**31))
    size = [int(item) for item in draw.integers(0, 60, int(draw.integers(1, 3)))]
    floating, whole = str(draw.choice(FLOATS)), str(draw.choice(INTS))
    low = int(draw.integers(-1000, 1000))
    high = low + int(draw.integers(1, 2**30))
    pair = draw.integers(-(2**31), 2**31, 2)
    logits = draw.normal(0, 2, (4, 6)).astype(floating)
    alphas, rates = draw.gamma(0.7, 2, 3), draw.gamma(0.7, 20, 3)
    random, seed = tf.random, {"seed": number}
    return {
        "uniform": lambda: random.uniform(size, dtype=floating, **seed),
        "normal": lambda: random.normal(size, dtype=floating, **seed),
        "truncated_normal": lambda: random.truncated_normal(size, dtype=floating, **seed),
        "integers": lambda: random.uniform(size, low, high, whole, **seed),
        "shuffle": lambda: random.shuffle(np.arange(2 * size[0]).reshape(size[0], 2), **seed),
        "categorical": lambda: random.categorical(logits, size[0], **seed),
        "gamma": lambda: random.gamma(size, alphas, dtype=floating, **seed),
        "poisson": lambda: random.poisson(rates, size, whole, **seed),
        "stateless uniform": lambda: random.stateless_uniform(size, pair, dtype=floating),
        "stateless normal": lambda: random.stateless_normal(size, pair, dtype=floating),
        "stateless truncated_normal": lambda: random.stateless_truncated_normal(
            size, pair, dtype=floating
        ),
        "stateless integers": lambda: random.stateless_uniform(size, pair, low, high, whole),
        "stateless categorical": lambda: random.stateless_categorical(logits, size[0], pair),
    }


def draw_all(side: str, folder: Path, count: int, seed: int) -> None:
    """Draw on one side, and write the numbers."""
    tf, draw = library(side), np.random.default_rng(seed)
    result = {}
    for index in range(count):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(int(draw.integers(2**31)))
            output = {name: make() for name, make in cases(tf, draw).items()}
            for run in range(2):
                for name, value in session.run(output).items():
                    result[f"{name}/{index}/{run}"] = value
    np.savez(folder / f"{side}.npz", **result)


def difference(result: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference, in units in the last place of floats."""
    assert result.shape == wanted.shape and result.dtype == wanted.dtype
    if not result.size:
        return 0.0
    unit = np.spacing(np.abs(wanted)).astype(float) if result.dtype.kind == "f" else 1.0
    return float((np.abs(result.astype(float) - wanted.astype(float)) / unit).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--count", type=int, default=40, help="cases of each op")
    parser.add_argument("--seed", type=int, default=1, help="of the parameters")
    options = parser.parse_args()
    if options.side:
        draw_all(options.side[0], Path(options.side[1]), options.count, options.seed)
        return
    arguments = ("--count", str(options.count), "--seed", str(options.seed))
    python = {"gpugraph": sys.executable, "tensorflow": python_of_tensorflow(options.tensorflow)}
    with tempfile.TemporaryDirectory() as folder:
        kept = {}
        for side in python:
            run_side(python[side], __file__, side, Path(folder), *arguments)
            with np.load(Path(folder) / f"{side}.npz") as arrays:
                kept[side] = dict(arrays)
    faults = 0
    print(f"{'op':<28}{'numbers':>9}{'the same':>10}{'ulps':>7}")
    for op in dict.fromkeys(key.partition("/")[0] for key in kept["gpugraph"]):
        keys = [key for key in kept["gpugraph"] if key.startswith(f"{op}/")]
        pairs = [(kept["gpugraph"][key], kept["tensorflow"][key]) for key in keys]
        count = sum(mine.size for mine, _ in pairs)
        same = sum(int((mine == other).sum()) for mine, other in pairs)
        worst = max(difference(mine, other) for mine, other in pairs)
        faults += worst > (LIMIT if op.endswith(NEAR) else 0)
        print(f"{op:<28}{count:>9}{same / count:>10.2%}{worst:>7.0f}")
    if faults:
        raise SystemExit(f"{faults} ops give other numbers")


if __name__ == "__main__":
    main()
