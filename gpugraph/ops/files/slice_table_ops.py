"""Save, SaveSlices, Restore and RestoreSlice, the ops of V1 checkpoints. Graphs from before
TensorFlow 1.0 contain them.

Restore and RestoreSlice also read V2 checkpoints.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import ALL, as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.formats.checkpoints.slice_tables import open_checkpoint, write_slice_table
from gpugraph.formats.checkpoints.slices import parse_slice_spec, shape_of_slice
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.files.checkpoint_ops import check_types, restored
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank

_HOST = HostOnly("files are read and written by the host")


def _as_bytes(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else bytes(item)


def _bind_save(count: int) -> Callable[..., Any]:
    """Return a function that binds a save op to its arrays.

    Args:
      count: the number of inputs before the tensors to save. It is 2 for Save, and 3 for
        SaveSlices.
    """

    def bind(context: KernelContext, *inputs: Any) -> Callable[[], list[Any]]:
        filename, names, *specs = inputs[:count]
        tensors, types = inputs[count:], [as_dtype(dtype) for dtype in context.attrs["T"]]

        def save() -> list[Any]:
            keys = [_as_bytes(name) for name in names.tolist()]
            parts = [_as_bytes(spec) for spec in specs[0].tolist()] if specs else [b""] * len(keys)
            if len(keys) != len(tensors) or len(parts) != len(tensors):
                raise invalid_argument(
                    f"Got {len(keys)} tensor names and {len(parts)} slices for {len(tensors)} "
                    "tensors"
                )
            slices = [parse_slice_spec(os.fsdecode(part)) for part in parts]
            write_slice_table(
                os.fsdecode(filename[()]), list(zip(keys, slices, tensors, types, strict=True))
            )
            return []

        return save

    return bind


def _infer_save(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "filename")
    of_rank(context.shapes[1], 1, "tensor_names")
    return []


def _bind_restore(context: KernelContext, pattern: Any, name: Any, *spec: Any) -> Any:
    dtype = as_dtype(context.attrs["dt"])

    def restore() -> list[Any]:
        key = os.fsdecode(name[()])
        with open_checkpoint(os.fsdecode(pattern[()])) as reader:
            check_types(reader, [key], [dtype])
            return [restored(reader, key, os.fsdecode(spec[0][()]) if spec else "")]

    return restore


def _infer_restore(context: InferContext) -> Sequence[TensorShape]:
    for index, name in enumerate(("file_pattern", "tensor_name", "shape_and_slice")):
        if index < len(context.shapes):
            of_rank(context.shapes[index], 0, name)
    spec = context.value(2) if len(context.shapes) == 3 else None
    part = None if spec is None else parse_slice_spec(os.fsdecode(spec[()]))
    return [as_shape(None if part is None else list(shape_of_slice(*part)))]


for _type, _specs in (("Save", ()), ("SaveSlices", ("shapes_and_slices: string",))):
    op(
        _type,
        inputs=("filename: string", "tensor_names: string", *_specs, "data: T"),
        attrs={"T": Attr("list(type)", required=True, minimum=1)},
        infer=_infer_save,
        cpu=Call(make=_bind_save(2 + len(_specs)), dynamic=True, direct=True),
        gpu=_HOST,
        grad=NO_GRADIENT,
        stateful=True,
        reaches_out=True,
        doc="Saves tensors, or slices of tensors, as a V1 checkpoint of one file.",
    )

for _type, _specs in (("Restore", ()), ("RestoreSlice", ("shape_and_slice: string",))):
    op(
        _type,
        inputs=("file_pattern: string", "tensor_name: string", *_specs),
        outputs="tensor: dt",
        attrs={"dt": Attr("type", required=True, allowed=ALL), "preferred_shard": Attr("int", -1)},
        infer=_infer_restore,
        cpu=Call(make=_bind_restore, dynamic=True, direct=True),
        gpu=_HOST,
        grad=NO_GRADIENT,
        stateful=True,
        doc="A tensor of a checkpoint, or a part of it.",
    )
