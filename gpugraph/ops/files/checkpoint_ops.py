"""Ops on checkpoints: SaveV2, RestoreV2, MergeV2Checkpoints, and ops that return the names of
shards.

SaveV2 writes each tensor directly from the tensor's memory, so a save copies no tensor.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.base.whole_files import local_path
from gpugraph.config.environment import thread_count
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter, merge_bundles
from gpugraph.formats.checkpoints.direct_restore import RestoreTarget, restore_into
from gpugraph.formats.checkpoints.slice_tables import open_checkpoint
from gpugraph.formats.checkpoints.slices import parse_slice_spec, shape_of_slice
from gpugraph.formats.checkpoints.tensor_reader import TensorReader
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.platform.progress import progress_bar

_HOST = HostOnly("files are read and written by the host")
_host_op = partial(op, gpu=_HOST, grad=NO_GRADIENT)


def _text(scalar: Any) -> str:
    return os.fsdecode(scalar[()])


def _texts(vector: Any) -> list[bytes]:
    return [item.encode() if isinstance(item, str) else item for item in vector.tolist()]


def _same_length(names: Sequence[bytes], specs: Sequence[bytes], tensors: int) -> None:
    if len(names) != tensors or len(specs) != tensors:
        raise invalid_argument(
            f"Got {len(names)} tensor names and {len(specs)} slices for {tensors} tensors"
        )


def _bind_save(context: KernelContext, prefix: Any, names: Any, specs: Any, *tensors: Any) -> Any:
    types = [as_dtype(dtype) for dtype in context.attrs["dtypes"]]

    def save() -> list[Any]:
        keys, parts = _texts(names), _texts(specs)
        _same_length(keys, parts, len(tensors))
        with BundleWriter(_text(prefix)) as writer:
            for key, spec, tensor, dtype in zip(keys, parts, tensors, types, strict=True):
                part = parse_slice_spec(os.fsdecode(spec))
                if part is None:
                    writer.add(key, tensor, dtype)
                else:
                    writer.add_slice(key, *part, tensor, dtype)
        return []

    return save


def _infer_save(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "prefix")
    count = len(context.shapes) - 3
    for index, name in ((1, "tensor_names"), (2, "shape_and_slices")):
        shape = context.shapes[index]
        of_rank(shape, 1, name)
        if shape.num_elements() not in (None, count):
            raise ValueError(f"{name} has {shape.num_elements()} elements for {count} tensors")
    return []


save_v2 = _host_op(
    "SaveV2",
    inputs=(
        *("prefix: string", "tensor_names: string", "shape_and_slices: string"),
        "tensors: dtypes",
    ),
    attrs={"dtypes": Attr("list(type)", required=True, minimum=1)},
    infer=_infer_save,
    cpu=Call(make=_bind_save, dynamic=True, direct=True),
    stateful=True,
    reaches_out=True,
    doc=(
        "Saves tensors, or slices of tensors, as a checkpoint whose files' names begin "
        "with `prefix`."
    ),
)


def _bind_restore(context: KernelContext, prefix: Any, names: Any, specs: Any) -> Any:
    types = [as_dtype(dtype) for dtype in context.attrs["dtypes"]]

    def restore() -> list[Any]:
        keys, parts = _texts(names), _texts(specs)
        _same_length(keys, parts, len(types))
        with open_checkpoint(_text(prefix)) as reader:
            items = [(os.fsdecode(key), os.fsdecode(spec)) for key, spec in zip(keys, parts)]
            check_types(reader, [name for name, _ in items], types)
            return [restored(reader, name, spec) for name, spec in items]

    return restore


def check_types(reader: TensorReader, names: Sequence[str], types: Sequence[DType]) -> None:
    """Raise InvalidArgumentError if the dtype of a stored tensor differs from the dtype in `types`.
    The message names all such tensors.

    The error is raised before any tensor is read.
    """
    wrong = [
        f"tensor_name = {name}; expected dtype {dtype.name} does not equal original dtype "
        f"{reader.entry(name).dtype.name}"
        for name, dtype in zip(names, types)
        if reader.entry(name).dtype != dtype
    ]
    if wrong:
        raise InvalidArgumentError(None, None, "\n".join(wrong))


def restored(reader: TensorReader, name: str, spec: str) -> Any:
    """Return a tensor of a checkpoint, or a slice of it.

    Args:
      spec: TensorFlow's slice spec, which describes the slice. If it is empty, return the whole
        tensor.
    """
    part = parse_slice_spec(spec)
    return reader.read(name) if part is None else reader.read_slice(name, *part)


def _infer_restore(context: InferContext) -> Sequence[TensorShape]:
    for index, name in enumerate(("prefix", "tensor_names", "shape_and_slices")):
        of_rank(context.shapes[index], min(index, 1), name)
    unknown = [TensorShape.of(None)] * context.num_outputs
    specs = context.value(2)
    if specs is None:
        return unknown
    shapes = []
    for spec in _texts(specs):
        part = parse_slice_spec(os.fsdecode(spec))
        shapes.append(as_shape(None if part is None else list(shape_of_slice(*part))))
    return shapes if len(shapes) == len(unknown) else unknown


restore_v2 = _host_op(
    "RestoreV2",
    inputs=("prefix: string", "tensor_names: string", "shape_and_slices: string"),
    outputs="tensors: dtypes",
    attrs={"dtypes": Attr("list(type)", required=True, minimum=1)},
    infer=_infer_restore,
    cpu=Call(make=_bind_restore, dynamic=True, direct=True),
    stateful=True,
    doc="The tensors of a checkpoint with the given names, or slices of them.",
)


def _bind_restore_sized(
    context: KernelContext, prefix: Any, names: Any, specs: Any, *outs: Any
) -> Callable[[], Any]:
    types = [as_dtype(dtype) for dtype in context.attrs["dtypes"]]
    takers = context.attrs["takers"]

    def restore() -> None:
        keys = [os.fsdecode(key) for key in _texts(names)]
        parts = [parse_slice_spec(os.fsdecode(spec)) for spec in _texts(specs)]
        with open_checkpoint(_text(prefix)) as reader:
            check_types(reader, keys, types)
            for key, part, out, taker in zip(keys, parts, outs, takers):
                _check_assigned(reader, key, part, out.shape, taker)
            total = 2 * sum(out.nbytes for out in outs)  # all bytes are read twice
            with progress_bar(total, "restoring variables", "B") as advance:
                restore_into(
                    reader, list(map(RestoreTarget, keys, parts, outs)), thread_count(), advance
                )

    return restore


def _check_assigned(
    reader: TensorReader, name: str, part: Any, shape: tuple[int, ...], taker: bytes
) -> None:
    """Raise InvalidArgumentError if a stored tensor does not have the shape of the assigned
    variable.

    Args:
      part: the slice to restore, or None.
      taker: the name of the Assign operation, for the message.
    """
    stored = reader.entry(name).shape if part is None else shape_of_slice(*part)
    if stored != shape:
        raise invalid_argument(
            f"Assign requires shapes of both tensors to match. lhs shape= {shape_text(shape)} rhs "
            f"shape= {shape_text(stored)}: '{os.fsdecode(taker)}' of tensor_name = {name}"
        )


def _infer_sized(context: InferContext) -> Sequence[TensorShape]:
    return [as_shape(shape) for shape in context.attrs["shapes"]]


restore_sized = _host_op(
    "_RestoreSized",
    inputs=("prefix: string", "tensor_names: string", "shape_and_slices: string"),
    outputs="tensors: dtypes",
    attrs={
        "dtypes": Attr("list(type)", required=True, minimum=1),
        "shapes": Attr("list(shape)", required=True),
        "takers": Attr("list(string)", required=True),
    },
    infer=_infer_sized,
    cpu=Call(make=_bind_restore_sized, direct=True),
    stateful=True,
    memory=OpMemory(writes_last=True),
    doc=(
        "RestoreV2 for tensors that the Assign operations `takers` assign to variables of these "
        "shapes."
    ),
)


def _merge(context: KernelContext, prefixes: Any, destination: Any) -> Callable[[], Any]:
    deletes = context.attrs["delete_old_dirs"]

    def merge() -> list[Any]:
        sources = [local_path(prefix) for prefix in _texts(prefixes.reshape(-1))]
        target = local_path(_text(destination))
        merge_bundles(sources, target)
        folders = {os.path.dirname(source) for source in sources} if deletes else set()
        for folder in folders - {os.path.dirname(target)}:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        return []

    return merge


def _infer_merge(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 1, "checkpoint_prefixes")
    of_rank(context.shapes[1], 0, "destination_prefix")
    return []


merge_v2_checkpoints = _host_op(
    "MergeV2Checkpoints",
    inputs=("checkpoint_prefixes: string", "destination_prefix: string"),
    attrs={"delete_old_dirs": Attr("bool", True)},
    infer=_infer_merge,
    cpu=Call(make=_merge, dynamic=True),
    stateful=True,
    reaches_out=True,
    doc="Merges several checkpoints into one, which has their data files as shards.",
)


def _scalars(context: InferContext) -> Sequence[TensorShape]:
    for shape in context.shapes:
        of_rank(shape, 0, f"Each input of a shard's name ({shape_text(shape)})")
    return [TensorShape.of(())]


def _shard_name(basename: Any, shard: Any, num_shards: Any, out: Any) -> None:
    out[()] = b"%s-%05d-of-%05d" % (os.fsencode(_text(basename)), int(shard), int(num_shards))


def _shard_names(basename: Any, num_shards: Any, out: Any) -> None:
    out[()] = b"%s-?????-of-%05d" % (os.fsencode(_text(basename)), int(num_shards))


sharded_filename = _host_op(
    "ShardedFilename",
    inputs=("basename: string", "shard: int32", "num_shards: int32"),
    outputs="filename: string",
    infer=_scalars,
    cpu=Call(_shard_name),
    doc="The name of a shard: `basename-00001-of-00003`.",
)
sharded_filespec = _host_op(
    "ShardedFilespec",
    inputs=("basename: string", "num_shards: int32"),
    outputs="filename: string",
    infer=_scalars,
    cpu=Call(_shard_names),
    doc="A pattern that the names of all shards match, such as `basename-?????-of-00003`.",
)
