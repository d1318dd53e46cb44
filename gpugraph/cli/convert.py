"""`gpugraph convert SOURCE TARGET`: converts variables between checkpoints and files of arrays."""

from __future__ import annotations

import argparse
import os
import sys

from gpugraph.base.errors import OpError
from gpugraph.formats.variable_files.conversion import (
    checkpoint_prefix,
    convert_variables,
    is_checkpoint,
)
from gpugraph.library.saved_models.saved_model_file import maybe_saved_model_directory
from gpugraph.library.train.savers.checkpoint_files import write_checkpoint_state
from gpugraph.library.train.savers.checkpoint_reading import checkpoint_path
from gpugraph.memory import human_readable_bytes

_PATHS = {
    "source": "a checkpoint's prefix or its folder, a SavedModel, or a file of arrays",
    "target": "a .safetensors or .npz file, or a checkpoint's prefix",
}


def add_convert(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `convert` and its arguments to the parser."""
    convert = commands.add_parser(
        "convert", help="write variables of a checkpoint as .safetensors or .npz, or back"
    )
    for name, what in _PATHS.items():
        convert.add_argument(name, metavar=name.upper(), help=what)
    convert.set_defaults(command=convert_command)


def convert_command(options: argparse.Namespace) -> int:
    """Convert the file, print the number of variables and bytes, and return the exit status.

    The status is 2 if the source can't be read or the target can't be written.
    """
    if os.path.abspath(options.source) == os.path.abspath(options.target):
        print("gpugraph: the source and the target are the same", file=sys.stderr)
        return 2
    try:
        source = options.source
        if not maybe_saved_model_directory(source):
            source = checkpoint_path(source)
        arrays = convert_variables(source, options.target)
    except OpError as error:
        print(f"gpugraph: {error.message}", file=sys.stderr)
        return 2
    except ValueError as error:  # ValueError: a name is not UTF-8, or the folder has no checkpoint
        print(f"gpugraph: {error}", file=sys.stderr)
        return 2
    if is_checkpoint(options.target):
        try:
            _write_state(options.target)
        except OSError as error:
            print(f"gpugraph: can't write the state file: {error}", file=sys.stderr)
            return 2
    total = human_readable_bytes(sum(array.num_bytes for array in arrays if array.has_fixed_size))
    print(f"{len(arrays)} variables, {total}: {source} -> {options.target}")
    return 0


def _write_state(prefix: str) -> None:
    """Write the file `checkpoint`, which names the latest checkpoint of a folder, unless the folder
    has one already.
    """
    folder, name = os.path.split(checkpoint_prefix(prefix))
    if not os.path.exists(os.path.join(folder, "checkpoint")):
        folder = folder or "."
        write_checkpoint_state(folder, os.path.join(folder, name), save_relative_paths=True)
