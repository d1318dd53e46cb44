"""Shared parts of the scripts of this folder: running a program by gpugraph and by TensorFlow.

They compare gpugraph with an installed TensorFlow, used by its v1 API, and are no part of the
tests. TensorFlow has a separate Python, which --tensorflow or TENSORFLOW_PYTHON names:

    TENSORFLOW_PYTHON=/path/to/python python ci/against_tensorflow/char_rnn.py

Each side runs in a separate process, `SCRIPT --side SIDE FOLDER ...`, and writes its results
to the folder.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "add_options", "example", "library", "python_of_tensorflow", "run_side"]
__all__ += ["side_environment"]

ROOT = Path(__file__).resolve().parents[2]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all scripts have."""
    parser.add_argument("--tensorflow", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--side", nargs=2, metavar=("SIDE", "FOLDER"), help=argparse.SUPPRESS)


def python_of_tensorflow(value: str | None) -> str:
    """Return the Python that has TensorFlow; ends the program where none is named."""
    result = value or os.environ.get("TENSORFLOW_PYTHON")
    if not result:
        raise SystemExit("name a Python that has TensorFlow: --tensorflow, or TENSORFLOW_PYTHON")
    return result


def side_environment() -> dict[str, str]:
    """Return the environment of a side's process: it finds gpugraph where these scripts are."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def run_side(python: str, script: str, side: str, folder: Path, *options: str) -> None:
    """Run one side of a script; end the program, with its last words, where it fails."""
    command = [python, str(Path(script).resolve()), "--side", side, str(folder.resolve()), *options]
    done = subprocess.run(
        command, capture_output=True, text=True, env=side_environment(), check=False, cwd=folder
    )  # in the folder: some programs write files where they are
    if done.returncode:
        raise SystemExit(f"the side of {side} failed:\n{done.stderr[-4000:]}")


def library(side: str) -> Any:
    """gpugraph, or TensorFlow as TensorFlow 1: static graphs, sessions, v1 control flow.

    In the latter case `import gpugraph` gives TensorFlow from now on, so that a program for
    gpugraph runs as it is.
    """
    if side == "gpugraph":
        return importlib.import_module("gpugraph")
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    tf = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    tf.disable_control_flow_v2()
    tf.disable_resource_variables()
    tf.logging.set_verbosity("ERROR")
    sys.modules["gpugraph"] = tf
    return tf


def example(name: str) -> Any:
    """Return the program of that name in examples/, as a module with the last result of
    `library`.
    """
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
