"""Print and PrintV2, which write the contents of tensors when a run reaches them.

Print returns its input. PrintV2 has no output, so it must be run or be a control input. Print
writes to the value that `sys.stderr` has at the time of the run. PrintV2 writes to `sys.stderr`, to
another stream, or to a file.
"""

from __future__ import annotations

import pprint
import random
import string as letters
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import ALL, string as string_type
from gpugraph.base.errors import invalid_argument
from gpugraph.base.nest import flatten, is_nested, pack_sequence_as
from gpugraph.base.shapes import shape_text
from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.debugging.assert_kernel import summarize as summary
from gpugraph.ops.framework.kernel_registry import HostOnly, add_kernel
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import no_outputs, same_shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.strings.string_format import string_format
from gpugraph.platform import logging

_FILE = "file://"


# -- Print


def _bind_print(context: KernelContext, source: Any, *others: Any) -> Callable[[], Any]:
    *data, out = others
    attrs = context.attrs
    message, first, limit = attrs["message"], attrs["first_n"], attrs["summarize"]
    count = context.state(lambda: [0])

    def show() -> None:
        if source is not out:
            out[...] = source
        if first >= 0:
            if count[0] >= first:
                return
            count[0] += 1
        text = "".join(summary(array, limit) for array in data)
        _write(sys.stderr, f"{message}{text}\n")

    return show


_print_op = op(
    "Print",
    inputs="input: T, data: U",
    outputs="output: T",
    attrs={
        "T": ALL,
        "U": Attr("list(type)", required=True, minimum=0),
        "message": Attr("string", ""),
        "first_n": Attr("int", -1),
        "summarize": Attr("int", 3),
    },
    infer=same_shape(0),
    memory=OpMemory(view={0: 0}, host_inputs=(1,)),
    cpu=Call(make=_bind_print, late=True),
    gpu=Call(make=_bind_print, late=True),
    grad=lambda op, dy: [dy, *[None] * (len(op.inputs) - 1)],
    stateful=True,
    doc=(
        "The input. `message` and the first `summarize` elements of each of `data` are "
        "written to standard error."
    ),
)
add_kernel(
    "Print", "GPU", HostOnly("strings live on the host"), types={"T": (string_type,)}, priority=1
)


def Print(
    input_: Any,
    data: Any,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return `input_`. Each time a run computes it, `message` and `data` are written to standard
    error.

    Raises TypeError if `data` is not a list.

    Args:
      data: a list of tensors to write.
      first_n: the number of times that the op writes in a session. The default, -1, means no limit.
      summarize: the number of elements of each tensor to write, by default 3. -1 means all.
    """
    return _print_op(
        input_,
        data,
        message="" if message is None else message,
        first_n=-1 if first_n is None else first_n,
        summarize=3 if summarize is None else summarize,
        name=name,
    )


# -- PrintV2

_STREAMS: dict[str, Callable[[str], None]] = {
    "stderr": lambda text: _write(sys.stderr, text),
    "stdout": lambda text: _write(sys.stdout, text),
    "log(info)": lambda text: logging.info("%s", text),
    "log(warning)": lambda text: logging.warning("%s", text),
    "log(error)": lambda text: logging.error("%s", text),
}


def _write(stream: Any, text: str) -> None:
    stream.write(text)
    stream.flush()


def _append_to(path: str) -> Callable[[str], None]:
    def append(text: str) -> None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)

    return append


def _bind_print_v2(context: KernelContext, text: Any) -> Callable[[], Any]:
    stream, end = context.attrs["output_stream"], context.attrs["end"]
    if text.shape != ():
        raise invalid_argument(f"Input is expected to be scalar, but got {shape_text(text.shape)}")
    if stream.startswith(_FILE):
        write = _append_to(stream.removeprefix(_FILE))
    elif stream in _STREAMS:
        write = _STREAMS[stream]
    else:
        raise invalid_argument(f"Unknown output stream: {stream}")

    def show() -> None:
        write(text[()].decode("utf-8", "backslashreplace") + end)

    return show


_print_v2 = op(
    "PrintV2",
    inputs="input: string",
    attrs={"output_stream": Attr("string", "stderr"), "end": Attr("string", "\n")},
    infer=no_outputs,
    cpu=Call(make=_bind_print_v2),
    gpu=HostOnly("strings live on the host"),
    grad=NO_GRADIENT,
    stateful=True,
    reaches_out=True,
    doc="Writes a scalar string, and `end`, to a stream: stderr, stdout, a log or a file.",
)


def print(
    *inputs: Any,
    output_stream: Any = None,
    end: str = "\n",
    sep: str = " ",
    summarize: int = 3,
    name: str | None = None,
) -> Operation:
    """Return an operation that writes `inputs` when it runs. The inputs are tensors, text, or
    nested structures.

    Raises ValueError if the output stream is unknown.

    Args:
      output_stream: sys.stderr (the default), sys.stdout, tf.logging.info, .warning or .error, or
        "file://" followed by a path. The text is appended to this file.
      summarize: the number of elements that are written at both ends of each axis of a tensor. -1
        means all.
    """
    stream = _stream_name(sys.stderr if output_stream is None else output_stream)
    first = inputs[0] if len(inputs) == 1 else None
    if isinstance(first, Tensor) and first.dtype is string_type and first.shape.sizes == ():
        text = first
    else:
        text = _format_inputs(inputs, sep, summarize, f"{name}_format" if name else None)
    return _print_v2(text, output_stream=stream, end=end, name=name)


def _stream_name(output_stream: Any) -> str:
    if isinstance(output_stream, str) and output_stream.startswith(_FILE):
        return output_stream
    known = [
        (sys.stdout, "stdout"),
        (sys.stderr, "stderr"),
        (logging.info, "log(info)"),
        (logging.warning, "log(warning)"),
        (logging.warn, "log(warning)"),
        (logging.error, "log(error)"),
    ]
    for stream, name in known:
        if output_stream is stream:
            return name
    raise ValueError(
        f"Unsupported output stream, logging level, or file: {output_stream!r}. Supported are "
        "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error, and "
        "'file://<path>'."
    )


class _Literal:
    """A leaf of a nested structure that is written as `text` when the structure is formatted."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _format_inputs(inputs: Sequence[Any], sep: str, summarize: int, name: str | None) -> Tensor:
    """Return the inputs as one scalar string tensor, which a single StringFormat op computes.

    The op's template has a placeholder for each tensor. Inputs that are not tensors are part of the
    template's text.
    """
    leaves = [leaf for structure in inputs for leaf in flatten(structure)]
    place = _placeholder([*(str(leaf) for leaf in leaves if not _tensors_of(leaf)), sep])
    tensors = [convert_to_tensor(tensor) for leaf in leaves for tensor in _tensors_of(leaf)]
    parts = []
    for value in inputs:
        if is_nested(value):
            literals = [_literal(leaf, place) for leaf in flatten(value)]
            parts.append(pprint.pformat(pack_sequence_as(value, literals)))
        else:
            parts.append(str(_literal(value, place)))
    return string_format(text_of("sep", sep).join(parts), tensors, place, summarize, name)


def _tensors_of(leaf: Any) -> list[Any]:
    """Return the tensors of which a leaf of a structure consists. If the leaf is not a tensor, the
    result is empty.
    """
    if isinstance(leaf, SparseTensor):
        return [leaf.indices, leaf.values, leaf.dense_shape]
    return [leaf] if _is_tensor(leaf) else []


def _literal(leaf: Any, place: str) -> Any:
    """Return the text for a leaf in the template. It has placeholders for the tensors of the leaf.
    If the leaf is not a tensor, return the leaf itself.
    """
    if isinstance(leaf, SparseTensor):
        return _Literal(f"'SparseTensor(indices={place}, values={place}, shape={place})'")
    return _Literal(place) if _is_tensor(leaf) else leaf


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "initialized_value")


def _placeholder(texts: Sequence[str]) -> str:
    """Return a placeholder that no text contains: "{}", followed by random digits if necessary."""
    place = "{}"
    while any(place in text for text in texts):
        place += random.choice(letters.digits)
    return place
