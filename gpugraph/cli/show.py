"""`gpugraph show PATH`: prints the content of a graph, SavedModel, checkpoint, Keras model, event
file, record file or file of arrays, or of the event and record files of a folder.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from gpugraph.base.errors import OpError
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.base.whole_files import open_to_read
from gpugraph.cli.shown_files import Section, known_file
from gpugraph.cli.shown_graphs import ShownGraph, printable
from gpugraph.formats import messages_pb2
from gpugraph.formats.variable_files.archived_array import ArchivedArray
from gpugraph.formats.variable_files.conversion import VariableFile, is_checkpoint
from gpugraph.library.saved_models.saved_model_file import (
    maybe_saved_model_directory,
    parse_saved_model,
)
from gpugraph.library.train.savers.checkpoint_files import latest_checkpoint
from gpugraph.memory import human_readable_bytes

_MAX_LINES = 40
_OP_TYPE = re.compile(r"[A-Za-z_][\w>./-]*")
_BEGINNING = 4096
_FIRST_TAGS = tuple(bytes([field << 3 | kind]) for field in range(1, 6) for kind in (0, 2))
_TEXT_FIELD = re.compile(rb"\s*(#.*\s*)*[a-z_]+\s*[:{]")
_ARRAY_FILES = (".safetensors", ".npz")


def add_show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `show` and its arguments to the parser."""
    show = commands.add_parser(
        "show", help="print the content of a graph, model, checkpoint, event file or file of arrays"
    )
    show.add_argument("--all", action="store_true", help="all lines of long lists")
    show.add_argument(
        "paths", nargs="+", metavar="PATH", help="a file, a checkpoint's prefix, or a folder"
    )
    show.set_defaults(command=show_command)


def show_command(options: argparse.Namespace) -> int:
    """Print the contents of the files or folders and return the exit status.

    The status is 1 if gpugraph can't run an op of a graph, and 2 if a file can't be read.
    """
    max_lines = sys.maxsize if options.all else _MAX_LINES
    return max(_status(path, max_lines) for path in options.paths)


def _status(path: str, max_lines: int) -> int:
    """Print the content of one file or folder, or the reason why it can't be read."""
    try:
        return _show(path, max_lines)
    except OpError as error:
        print(f"gpugraph: {error.message}", file=sys.stderr)
    except BrokenPipeError:
        raise
    except OSError as error:
        problem = f"can't open {path!r}: {error.strerror}" if error.strerror else error
        print(f"gpugraph: {problem}", file=sys.stderr)
    except (ValueError, ImportError) as error:
        print(f"gpugraph: {error}", file=sys.stderr)
    return 2


def _show(path: str, max_lines: int) -> int:
    if maybe_saved_model_directory(path):
        return _show_saved_model(path, parse_saved_model(path), max_lines)
    if os.path.isdir(path):
        latest = latest_checkpoint(path)
        if latest is None:
            return _show_files(path, max_lines)
        path = latest
    if is_checkpoint(path) or os.path.splitext(path)[1] in _ARRAY_FILES:
        kind = "checkpoint" if is_checkpoint(path) else "arrays of"
        with VariableFile(path) as opened:
            _print(f"{kind} {path}", [_arrays(opened.arrays.values())], max_lines)
        return 0
    with open_to_read(path) as file:
        content = file.read()
    known = known_file(path, content[:_BEGINNING])
    if known is not None:
        title, sections = known(path)
        _print(title, sections, max_lines)
        return 0
    message = _message(path, content)
    kind = message.DESCRIPTOR.name
    if kind == "SavedModel":
        return _show_saved_model(path, message, max_lines)
    if kind == "MetaGraphDef":
        return _show_graphs(f"MetaGraphDef {path}", [("", message)], max_lines)
    shown = ShownGraph(message)
    versions = f"producer version {message.versions.producer}"
    _print(f"GraphDef {path}, {versions}", shown.sections(), max_lines)
    return int(shown.cannot_run)


def _show_files(folder: str, max_lines: int) -> int:
    """Print the content of each event file and record file of a folder without checkpoint.

    Raises ValueError if the folder has no such file.
    """
    shown = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open_to_read(path) as file:
                known = known_file(path, file.read(_BEGINNING))
            if known is not None:
                shown.append((path, known))
    if not shown:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {folder}, and no "
            "event file or record file"
        )
    print(printable(f"folder {folder}, {len(shown)} files"))
    status = 0
    for path, known in shown[:max_lines]:
        try:
            title, sections = known(path)
        except (OpError, ValueError) as error:
            print(f"gpugraph: {error.message if isinstance(error, OpError) else error}",
                  file=sys.stderr)  # fmt: skip
            status = 2
            continue
        _print(title, sections, max_lines)
    if len(shown) > max_lines:
        print(f"... and {len(shown) - max_lines} more: --all shows them")
    return status


def _show_saved_model(path: str, saved_model: Any, max_lines: int) -> int:
    graphs = [
        (f"meta graph [{', '.join(meta.meta_info_def.tags)}]", meta)
        for meta in saved_model.meta_graphs
    ]
    return _show_graphs(f"SavedModel {path}, {len(graphs)} meta graphs", graphs, max_lines)


def _show_graphs(title: str, meta_graphs: list[tuple[str, Any]], max_lines: int) -> int:
    print(printable(title))
    status = 0
    for name, meta_graph in meta_graphs:
        version = meta_graph.meta_info_def.tensorflow_version or "an unknown version"
        shown = ShownGraph(meta_graph.graph_def, meta_graph)
        written = f"written by {version}"
        _print(f"{name}, {written}" if name else written, shown.sections(), max_lines)
        status |= shown.cannot_run
    return int(status)


def _arrays(arrays: Iterable[ArchivedArray]) -> Section:
    listed = sorted(arrays, key=lambda array: array.name)
    total = human_readable_bytes(sum(a.num_bytes for a in listed if a.has_fixed_size))
    width = max((len(array.name) for array in listed), default=0)
    lines = [
        f"{array.name.ljust(width)}  {array.dtype.name:10} {list(array.shape)}" for array in listed
    ]
    return f"variables: {len(listed)}, {total}", lines


def _print(title: str, sections: Iterable[Section], max_lines: int) -> None:
    print(printable(title))
    for heading, lines in sections:
        print(f"  {printable(heading)}")
        for line in lines[:max_lines]:
            print(f"    {printable(line).rstrip()}")
        if len(lines) > max_lines:
            print(f"    ... and {len(lines) - max_lines} more: --all shows them")


# -- the message type of a file


def _message(path: str, content: bytes) -> Any:
    """Parse a file's content as the first type of message that gives a plausible result.

    A file with the suffix `.meta` is tried as a MetaGraphDef first. Raises ValueError if no type
    gives a plausible result.
    """
    if not content:
        raise ValueError(f"{path} is empty")
    kinds = ["GraphDef", "MetaGraphDef", "SavedModel"] if _may_be_message(content) else []
    if kinds and path.endswith(".meta"):
        kinds = ["MetaGraphDef", *kinds]
    for message in _parsed(kinds, content):
        if _is_likely(message):
            return message
    reason = (
        "no GraphDef, MetaGraphDef or SavedModel, no checkpoint, HDF5, .keras, event or record "
        f"file{pointer_text(content)}"
    )
    raise ValueError(f"{path} is {reason}")


def _may_be_message(content: bytes) -> bool:
    """Return whether the content could be a message. A binary message must begin with the tag of a
    field that these types of message write first. A message may also be text.
    """
    return content[:1] in _FIRST_TAGS or _TEXT_FIELD.match(content) is not None


def _parsed(kinds: Iterable[str], content: bytes) -> Iterator[Any]:
    for kind in kinds:
        try:
            yield messages_pb2.parse_message(getattr(messages_pb2, kind), content)
        except ValueError:
            continue


def _is_likely(message: Any) -> bool:
    """Return whether a parsed message probably has the correct type: whether it has nodes, and all
    names of op types are valid.

    The bytes of a message of a different type can often be parsed too, but the names of op types
    are then invalid.
    """
    kind = message.DESCRIPTOR.name
    if kind == "SavedModel":
        return all(_is_likely(meta.graph_def) for meta in message.meta_graphs) and bool(
            message.meta_graphs
        )
    graph_def = message.graph_def if kind == "MetaGraphDef" else message
    return bool(graph_def.node) and all(_OP_TYPE.fullmatch(node.op) for node in graph_def.node)
