"""`dataset_op`, which declares the inputs, attrs and stage of an op type that returns a dataset.

    dataset_op("TakeDataset", "input_dataset: variant, count: int64",
               lambda row: Take(row.source, row.number("count")), "The first `count` elements.")

The stage is created when the op runs, which happens each time an iterator over the dataset is
initialized.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import OpDef
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.datasets.elements.dataset_calls import MAKERS
from gpugraph.ops.datasets.elements.stage import Function, Stage, stage_in
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, of_rank

HOST = HostOnly("datasets are in host memory")

TYPES: dict[str, Any] = {
    "output_types": Attr("list(type)", required=True, minimum=1),
    "output_shapes": Attr("list(shape)", required=True, minimum=1),
}

FUNC = Attr("func", required=True)


def arguments(name: str) -> Attr:
    """Return the declaration of the attr `name`, which lists the dtypes of the tensors that a
    function captures.
    """
    del name
    return Attr("list(type)", required=True, minimum=0)


class Row:
    """The values of a node's inputs, attrs and functions, by name."""

    def __init__(self, op_type: str, context: KernelContext, arrays: Sequence[Any]) -> None:
        self.op_type = op_type
        self.attrs = context.attrs
        self.node = context.name
        self.context = context
        self._arrays: dict[str, Any] = {}
        op_def: OpDef = OP_DEFS[op_type]
        start = 0
        for arg in op_def.inputs:
            if arg.is_list:
                key = arg.type_list_attr or arg.number_attr
                count = len(self.attrs[key]) if arg.type_list_attr else self.attrs[key]
                self._arrays[arg.name] = arrays[start : start + count]
            else:
                count = 1
                self._arrays[arg.name] = arrays[start]
            start += count

    @property
    def names(self) -> Collection[str]:
        """The names of the node's inputs."""
        return self._arrays.keys()

    @property
    def source(self) -> Stage:
        """The dataset in the input `input_dataset`."""
        return stage_in(self._arrays["input_dataset"])

    def __getitem__(self, name: str) -> Any:
        """Return a copy of the input `name`. If the input is a list, return a list of copies."""
        held = self._arrays[name]
        if isinstance(held, (list, tuple)):
            return [np.array(array) for array in held]
        return np.array(held)

    def number(self, name: str) -> int:
        """Return the integer or bool in the input `name`."""
        return int(self._arrays[name].item(0))

    def text(self, name: str) -> str:
        """Return the string in the input `name`."""
        value = self._arrays[name].item(0)
        return value.decode("utf-8", "surrogateescape")

    def function(self, name: str = "f", captured: str = "other_arguments") -> Function:
        """Return the function in the attr `name`, with the captured values in the input
        `captured`.
        """
        return Function(self.context.function(self.attrs[name]), self[captured])


_SCALARS = frozenset(
    [
        *("batch_size", "buffer_size", "compression_type", "count", "drop_remainder"),
        *("footer_bytes", "header_bytes", "index", "num_shards", "record_bytes", "seed", "seed2"),
        *("shift", "size", "start", "step", "stop", "stride"),
    ]
)
"""The names of inputs that must be scalars where the graph is built."""

_SINGLE = frozenset(["bool", "float", "int32", "int64", "resource", "string", "variant"])
"""The types of inputs that are one tensor."""


def _infer_of(inputs: str) -> Callable[[InferContext], Sequence[TensorShape]]:
    """Return the shape inference function of a dataset op. It checks the shapes of the inputs and
    returns a scalar shape.
    """
    pairs = [tuple(map(str.strip, part.split(":"))) for part in inputs.split(",") if part]
    before = list(takewhile(lambda pair: pair[1] in _SINGLE, pairs))  # those after a list move
    places = [(place, name) for place, (name, _) in enumerate(before) if name in _SCALARS]

    def infer(context: InferContext) -> Sequence[TensorShape]:
        for place, name in places:
            of_rank(context.shapes[place], 0, name)
        return [SCALAR]

    return infer


def dataset_op(
    op_types: str,
    inputs: str,
    make: Callable[[Row], Stage],
    doc: str,
    attrs: dict[str, Any] | None = None,
    has_types: bool = True,
    harmless_without: int | None = None,
) -> None:
    """Declare each of `op_types`, which are separated by spaces, as an op that returns the dataset
    `make(row)`.

    Args:
      has_types: whether the op has the attrs `output_types` and `output_shapes`, which determine
        the dataset's dtypes and shapes.
      harmless_without: for a dataset that writes files, the index of the input with the path. If
        the path is empty, nothing is written.
    """
    for op_type in op_types.split():
        build = MAKERS[op_type] = _maker(op_type, make, has_types)
        op(
            op_type, inputs=inputs, outputs="handle: variant", infer=_infer_of(inputs),
            attrs={**(attrs or {}), **(TYPES if has_types else {})},
            memory=OpMemory(host_inputs=tuple(range(inputs.count(":"))), host_outputs=(0,)),
            stateful=True,
            cpu=Call(make=_binder(build), late=True, direct=True),
            gpu=HOST, grad=NO_GRADIENT, doc=doc,
            reaches_out=harmless_without is not None, harmless_without=harmless_without,
        )  # fmt: skip


def _maker(
    op_type: str, make: Callable[[Row], Stage], has_types: bool
) -> Callable[[Any, Sequence[Any]], Stage]:
    """Return a function that creates the dataset from a node's context and inputs."""

    def build(context: Any, inputs: Sequence[Any]) -> Stage:
        stage = make(Row(op_type, context, inputs))
        if has_types:
            stage.typed(context.attrs)
        if not stage.node:
            stage.node = context.name
        return stage

    return build


def _binder(build: Callable[[Any, Sequence[Any]], Stage]) -> Callable[..., Callable[[], None]]:
    def bind(context: KernelContext, *arrays: Any) -> Callable[[], None]:
        *inputs, target = arrays

        def run() -> None:
            target.fill(build(context, inputs))

        return run

    return bind
