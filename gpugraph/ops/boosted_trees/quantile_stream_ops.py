"""Ops that estimate the quantiles of features, and that find the buckets of values.

A session keeps a resource of several streams, one for each feature, and the boundaries of buckets.
Flushing the streams computes the boundaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.boosted_trees.created_resources import Resource, declare_resource, resource_of
from gpugraph.ops.boosted_trees.quantile_summaries import (
    QuantileStream,
    boundaries_of,
    quantiles_of,
    summary_of_rows,
)
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.queues.handle_ops import HOST, Run, handle_op

_COUNT = Attr("int", required=True, minimum=0)


class QuantileStreams(Resource):
    """Streams of the values of several features, and the boundaries of the features' buckets."""

    kind_name = "BoostedTreesQuantileStreamResource"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lock = new_rlock()
        self._boundaries: list[Any] = []

    def create(self, epsilon: float, count: int, max_elements: int) -> None:
        """Create `count` empty streams, unless streams exist already."""
        with self.lock:
            if self.is_initialized:
                return
            self._epsilon, self._max_elements = epsilon, max_elements
            self._streams = [QuantileStream(epsilon, max_elements) for _ in range(count)]
            self._boundaries = [np.zeros(0, np.float32)] * count
            self.is_initialized = True

    def boundaries(self, count: int) -> list[Any]:
        """Return the boundaries of each of `count` features, as arrays [number of boundaries]."""
        self.check_count(count)
        return self._boundaries

    def check_count(self, count: int) -> None:
        """Raise InvalidArgumentError unless there are `count` streams."""
        if count != len(self._streams):
            raise invalid_argument(
                f"{self.name} has {len(self._streams)} streams, but the node has {count} features"
            )

    def add(self, summaries: Sequence[Any]) -> None:
        """Add a summary, [number of values, 4], to each stream."""
        self.check_count(len(summaries))
        for rows in summaries:
            if rows.ndim != 2 or rows.shape[1] != 4:
                raise invalid_argument(
                    "Expected summaries of shape [?,4], given shape: " + shape_text(rows.shape)
                )
        with self.lock:
            for stream, rows in zip(self._streams, summaries):
                stream.push_summary(summary_of_rows(rows))

    def flush(self, num_buckets: int, by_quantiles: bool) -> None:
        """Compute the boundaries from the values of the streams, and empty the streams."""
        with self.lock:
            summaries = [stream.finish() for stream in self._streams]
            if by_quantiles:
                self._boundaries = [quantiles_of(part, num_buckets - 1) for part in summaries]
            else:
                self._boundaries = [boundaries_of(part, num_buckets) for part in summaries]
            self._reset()

    def take_summaries(self, count: int) -> list[Any]:
        """Return the summary of each stream, [number of values, 4], and empty the streams."""
        self.check_count(count)
        with self.lock:
            rows = [stream.finish().rows() for stream in self._streams]
            self._reset()
        return rows

    def restore(self, boundaries: Sequence[Any]) -> None:
        """Set the boundaries of each feature."""
        self.check_count(len(boundaries))
        with self.lock:
            self._boundaries = [np.array(values) for values in boundaries]

    def _reset(self) -> None:
        self._streams = [QuantileStream(self._epsilon, self._max_elements) for _ in self._streams]


def _streams(handle: Any) -> QuantileStreams:
    return resource_of(handle, QuantileStreams)


declare_resource(
    "BoostedTreesQuantileStreamResourceHandleOp",
    "IsBoostedTreesQuantileStreamResourceInitialized",
    "quantile_stream_resource_handle",
    QuantileStreams,
    "Streams of the values of features.",
)


def _bind_create(context: KernelContext, handle: Any, epsilon: Any, count: Any) -> Run:
    def create() -> None:
        streams = resource_of(handle, QuantileStreams, is_created=False)
        if float(epsilon) == 0:
            raise invalid_argument("An epsilon value of zero is not allowed.")
        if not 0 < float(epsilon) < 1:
            raise invalid_argument(f"epsilon must be in (0, 1), got {float(epsilon)}")
        streams.create(float(epsilon), int(count), context.attrs["max_elements"])

    return create


_HANDLE = "quantile_stream_resource_handle: resource"

handle_op(
    "BoostedTreesCreateQuantileStreamResource", _bind_create,
    "Create the streams of a handle, unless they exist.",
    inputs=f"{_HANDLE}, epsilon: scalar float32, num_streams: scalar int64",
    attrs={"max_elements": Attr("int", 1 << 40)},
)  # fmt: skip


def _bind_add(_: KernelContext, handle: Any, *summaries: Any) -> Run:
    return lambda: _streams(handle).add(summaries)


handle_op(
    "BoostedTreesQuantileStreamResourceAddSummaries", _bind_add,
    "Add summaries of values to streams.",
    inputs=f"{_HANDLE}, summaries: num_features * float32", attrs={"num_features": _COUNT},
)  # fmt: skip


def _bind_restore(_: KernelContext, handle: Any, *boundaries: Any) -> Run:
    return lambda: _streams(handle).restore(boundaries)


handle_op(
    "BoostedTreesQuantileStreamResourceDeserialize", _bind_restore,
    "Set the boundaries of buckets.",
    inputs=f"{_HANDLE}, bucket_boundaries: num_streams * float32",
    attrs={"num_streams": Attr("int", required=True, minimum=1)},
)  # fmt: skip


def _bind_flush(context: KernelContext, handle: Any, num_buckets: Any) -> Run:
    by_quantiles = context.attrs["generate_quantiles"]
    return lambda: _streams(handle).flush(int(num_buckets), by_quantiles)


handle_op(
    "BoostedTreesQuantileStreamResourceFlush", _bind_flush,
    "Set the boundaries of buckets from the streams, and empty the streams.",
    inputs=f"{_HANDLE}, num_buckets: scalar int64",
    attrs={"generate_quantiles": Attr("bool", False)},
)  # fmt: skip


def _vectors(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((None,))] * context.num_outputs


def _tables(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((None, 4))] * context.num_outputs


def _answering(op_type: str, method: str, output: str, infer: Any, doc: str) -> None:
    """Declare an op that returns a list of arrays, one for each feature."""

    def bind(context: KernelContext, handle: Any) -> Run:
        count = context.attrs["num_features"]
        return lambda: getattr(_streams(handle), method)(count)

    handle_op(
        op_type, bind, doc, inputs=_HANDLE, outputs=f"{output}: num_features * float32",
        attrs={"num_features": _COUNT}, infer=infer, is_dynamic=True,
    )  # fmt: skip


_answering(
    "BoostedTreesQuantileStreamResourceGetBucketBoundaries", "boundaries", "bucket_boundaries",
    _vectors, "The boundaries of the buckets of each feature.",
)  # fmt: skip
_answering(
    "BoostedTreesFlushQuantileSummaries", "take_summaries", "summaries", _tables,
    "Take the summaries of streams, [number of values, 4], and empty the streams.",
)  # fmt: skip


# -- summaries and buckets of values


def _make_summaries(*arrays: Any) -> list[Any]:
    *features, weights, epsilon = arrays
    result = []
    for values in features:
        weight_count = weights.size
        if weight_count not in (1, values.size):
            raise invalid_argument(
                f"example_weights has {weight_count} elements, but a feature has {values.size}"
            )
        stream = QuantileStream(float(epsilon), values.size + 1)
        stream.push_values(values, np.broadcast_to(weights, values.shape))
        result.append(stream.finish().rows())
    return result


def _bind_summaries(_: KernelContext, *arrays: Any) -> Run:
    return lambda: _make_summaries(*arrays)


op(
    "BoostedTreesMakeQuantileSummaries",
    inputs="float_values: num_features * float32, example_weights: float32, "
    "epsilon: scalar float32",
    outputs="summaries: num_features * float32", attrs={"num_features": _COUNT},
    infer=_tables, cpu=Call(make=_bind_summaries, dynamic=True), gpu=HOST, grad=NO_GRADIENT,
    doc="Summaries of the values of each feature: values, weights, minimum and maximum ranks.",
)  # fmt: skip


def _infer_buckets(context: InferContext) -> Sequence[TensorShape]:
    shapes = context.shapes
    for index in range(context.num_outputs, len(shapes)):
        of_rank(shapes[index], 1, "bucket_boundaries")
    return [
        TensorShape.of(of_rank(shape, 1, "float_values")) for shape in shapes[: context.num_outputs]
    ]


def _bucketize(*arrays: Any) -> None:
    count = len(arrays) // 3
    for values, boundaries, out in zip(
        arrays[:count], arrays[count : 2 * count], arrays[2 * count :]
    ):
        out[:] = np.minimum(np.searchsorted(boundaries, values), max(len(boundaries) - 1, 0))


op(
    "BoostedTreesBucketize",
    inputs="float_values: num_features * float32, bucket_boundaries: num_features * float32",
    outputs="buckets: num_features * int32", attrs={"num_features": _COUNT},
    infer=_infer_buckets, cpu=Call(_bucketize), gpu=HOST, grad=NO_GRADIENT,
    doc="The index of the first boundary that is not less than each value, or the last index.",
)  # fmt: skip
