"""DynamicPartition, which distributes the slices of a tensor among several tensors. The op
receives, for each slice, the number of the tensor to which the slice belongs. `dynamic_stitch` is
the inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import UNKNOWN
from gpugraph.ops.indexing.gather import check_inside
from gpugraph.ops.indexing.partition_and_stitch_launches import partitioned
from gpugraph.ops.indexing.row_sources import distributed_rows


def _infer(context: InferContext) -> Sequence[TensorShape]:
    data, parts = context.shapes
    count = context.attrs["num_partitions"]
    if data.sizes is None or parts.sizes is None:
        return [UNKNOWN] * count
    rank = len(parts.sizes)
    data.with_rank_at_least(rank)
    for size, expected in zip(data.sizes, parts.sizes):
        if size != expected and None not in (size, expected):
            raise Misfit(
                f"Dimensions must be equal, but are {size} and {expected}",
                detail="data must start with the shape of partitions",
            )
    return [TensorShape.of((None, *data.sizes[rank:]))] * count


def _bind(context: KernelContext, data: Any, parts: Any) -> Callable[[], Any]:
    count = context.attrs["num_partitions"]

    def run() -> list[Any]:
        check_inside(parts, count, "partitions")
        return [data[parts == index] for index in range(count)]

    return run


def _back(op: Any, *dys: Any) -> list[Any]:
    data, parts = op.inputs
    positions = raw_ops.Range(0, raw_ops.Size(parts), 1)
    places = raw_ops.DynamicPartition(
        raw_ops.Reshape(positions, raw_ops.Shape(parts)), parts, num_partitions=len(dys)
    )
    gradients = [raw_ops.ZerosLike(out) if dy is None else dy for out, dy in zip(op.outputs, dys)]
    whole = raw_ops.DynamicStitch(places, gradients)
    return [raw_ops.Reshape(whole, raw_ops.Shape(data)), None]


_partition = op(
    "DynamicPartition",
    inputs="data: T, partitions: int32",
    outputs="outputs: num_partitions * T",
    attrs={"num_partitions": Attr("int", required=True, minimum=1), "T": ALL},
    infer=_infer,
    cpu=Call(make=_bind, dynamic=True),
    gpu=partitioned(Call(make=_bind, dynamic=True)),
    native=distributed_rows(),
    grad=_back,
    doc=(
        "A list of tensors. Tensor n has the slices of data whose number in `partitions` is n, in "
        "the same order as in data."
    ),
)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Return a list of `num_partitions` tensors. Tensor n has the slices of `data` for which
    `partitions` contains the number n, in the same order as in `data`.

    Args:
      partitions: an int32 tensor with a number for each slice. Its shape is a prefix of the shape
        of `data`. A run raises InvalidArgumentError if a number is outside [0, num_partitions).
    """
    outputs: Any = _partition(data, partitions, num_partitions=num_partitions, name=name)
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)
