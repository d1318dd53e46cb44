"""ReadFile, WriteFile and MatchingFiles, which access files of the machine on which the op runs.

An op accesses its files again in each run that needs the op. An error of the operating system
becomes the corresponding TensorFlow error (`gpugraph.files` has the table).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.base.whole_files import local_path, open_to_read, system_errors
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.platform.files import Glob

_HOST = HostOnly("files are read and written by the host")


def _infer_scalars(context: InferContext) -> Sequence[TensorShape]:
    for shape in context.shapes:
        of_rank(shape, 0, "Each input")
    return [TensorShape.of(())] * context.num_outputs


def _read(path: Any, out: Any) -> None:
    with system_errors(path[()]), open_to_read(path[()]) as source:
        out[()] = source.read()


def _write(path: Any, contents: Any) -> None:
    name = local_path(path[()])
    with system_errors(name):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "wb") as target:
            target.write(contents[()])


def _infer_matching(context: InferContext) -> Sequence[TensorShape]:
    rank = context.shapes[0].rank
    if rank is not None and rank > 1:
        raise ValueError(
            f"pattern must be a scalar or a vector, but has shape {shape_text(context.shapes[0])}"
        )
    return [TensorShape.of((None,))]


def _match(patterns: Any) -> list[Any]:
    paths = sorted(os.fsencode(path) for path in Glob(patterns.reshape(-1).tolist()))
    names = np.empty(len(paths), object)
    names[:] = paths
    return [names]


def _file_op(
    op_type: str, kernel: Call, doc: str, infer: InferFunction = _infer_scalars, **arguments: Any
) -> OpFunction:
    return op(
        op_type,
        **arguments,
        infer=infer,
        cpu=kernel,
        gpu=_HOST,
        grad=NO_GRADIENT,
        stateful=True,
        doc=doc,
    )


_read_file = _file_op(
    "ReadFile",
    Call(_read),
    "The whole contents of a file; NotFoundError where there is none.",
    inputs="filename: string",
    outputs="contents: string",
)
_write_file = _file_op(
    "WriteFile",
    Call(_write),
    "Writes a file with these contents, and creates its folders.",
    inputs="filename: string, contents: string",
    reaches_out=True,
)
_matching_files = _file_op(
    "MatchingFiles",
    Call(_match, dynamic=True),
    "The paths that match one of the patterns (a scalar or a vector), sorted.",
    _infer_matching,
    inputs="pattern: string",
    outputs="filenames: string",
)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Return the contents of a file as a string scalar. Each run reads the file again.

    A run raises NotFoundError if there is no such file.
    """
    return _read_file(filename, name=name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Add an operation that writes a string scalar to a file in each run, and creates missing
    folders.
    """
    return _write_file(filename, contents, name=name)


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return a string vector of the sorted paths that match `pattern`, which is one pattern or a
    vector of patterns.

    A pattern may contain `*`, `?` and `[...]` in each component of the path.
    """
    return _matching_files(pattern, name=name)
