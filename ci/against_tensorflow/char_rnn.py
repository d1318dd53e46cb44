"""The losses of examples/char_rnn.py by gpugraph and by TensorFlow, from the same weights.

    python ci/against_tensorflow/char_rnn.py --tensorflow PYTHON [OPTION OF THE EXAMPLE ...]

Both run the example's own file, for TensorFlow with its import changed and nothing else. Prints
the losses of both, and the largest relative differences of losses and of trained weights; fails
where losses differ by more than --limit. Differences of one rounding grow as training goes on.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sides import add_options, example, library, python_of_tensorflow, run_side

FIRST = "first.npz"


def parse_arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--every", type=int, default=10, help="print the loss of each such step")
    parser.add_argument("--limit", type=float, default=1e-4)
    parser.add_argument("--steps", type=int, default=200)
    options, others = parser.parse_known_args()
    return options, ["--steps", str(options.steps), *others]


def train(side: str, folder: Path, arguments: list[str]) -> None:
    """Run one side: leave losses and trained weights; gpugraph also the initial weights of both."""
    tf = library(side)
    program = example("char_rnn")
    assert program.tf is tf
    options = program.parse_arguments(arguments)
    text = program.Text(options.text.read_text(encoding="utf-8"))
    tf.set_random_seed(options.seed)
    network = program.Network(options, len(text.alphabet))
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        if side == "gpugraph":
            np.savez(folder / FIRST, **weights(tf, session))
        else:
            with np.load(folder / FIRST) as first:
                for variable in tf.trainable_variables():
                    variable.load(first[variable.op.name], session)
        losses = program.train(session, network, text, options)
        np.savez(folder / f"{side}.npz", losses=losses, **weights(tf, session))


def weights(tf: Any, session: Any) -> dict[str, np.ndarray]:
    return {variable.op.name: session.run(variable) for variable in tf.trainable_variables()}


def difference(result: np.ndarray, wanted: np.ndarray) -> float:
    """Return the largest difference of two arrays, relative to the largest element."""
    return float(np.abs(result - wanted).max() / np.abs(wanted).max())


def main() -> None:
    options, arguments = parse_arguments()
    if options.side:
        side, folder = options.side
        train(side, Path(folder), arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        result = {}
        python = {
            "gpugraph": sys.executable,
            "tensorflow": python_of_tensorflow(options.tensorflow),
        }
        for side in python:
            run_side(python[side], __file__, side, Path(folder), *arguments)
            with np.load(Path(folder) / f"{side}.npz") as kept:
                result[side] = dict(kept)
    mine, theirs = (result[side].pop("losses") for side in python)
    relative = np.abs(mine - theirs) / theirs
    print(f"{'step':>5}{'gpugraph':>12}{'tensorflow':>12}{'relative':>10}")
    for step in range(options.every, len(mine) + 1, options.every):
        index = step - 1
        print(f"{step:5d}{mine[index]:12.6f}{theirs[index]:12.6f}{relative[index]:10.1e}")
    worst = int(relative.argmax())
    print(f"largest relative difference of losses: {relative[worst]:.1e}, in step {worst + 1}")
    for name, value in result["gpugraph"].items():
        print(f"{name} then differs by {difference(value, result['tensorflow'][name]):.1e}")
    if relative[worst] > options.limit:
        raise SystemExit(f"losses differ by more than {options.limit:.1e}")


if __name__ == "__main__":
    main()
