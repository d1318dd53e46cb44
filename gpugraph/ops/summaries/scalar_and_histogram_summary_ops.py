"""ScalarSummary and HistogramSummary, which record a number or the distribution of numbers under a
tag.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import REAL
from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.formats.summary_bytes import histogram_summary, scalar_summary
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.strings.native_texts import scalars
from gpugraph.ops.strings.string_ops import host_op
from gpugraph.ops.summaries.histogram_buckets import histogram_of


def _infer(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of a scalar. A summary is a single string, which is a serialized Summary
    message.
    """
    del context
    return [TensorShape.of(())]


def summary_op(op_type: str, kernel: Call, doc: str, inputs: str, **attrs: Any) -> OpFunction:
    """Declare an op whose output is a summary, which is a serialized Summary message."""
    return host_op(op_type, kernel, doc, inputs, "summary: string", _infer, **attrs)


def tag_of(tag: Any, input_name: str = "tag") -> bytes:
    """Return the tag, which is a scalar. Raises InvalidArgumentError if it is not a scalar.

    Args:
      input_name: the input's name for the message.
    """
    if tag.ndim or not tag.size:
        raise refusal(f"{input_name} must be scalar, but has shape {shape_text(tag.shape)}")
    return bytes(tag[()])


def _scalar_kernel(tags: Any, values: Any, out: Any) -> None:
    if tags.shape != values.shape and not (tags.size == 1 == values.size and tags.ndim < 2):
        single = f" (tag '{_shown(tags.reshape(-1)[0])}')" if tags.size == 1 else ""
        raise refusal(
            f"tags and values not the same shape: {shape_text(tags.shape)} != "
            f"{shape_text(values.shape)}{single}"
        )
    pairs = zip(tags.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True)
    out[()] = b"".join(scalar_summary(tag, value) for tag, value in pairs)


def _shown(tag: bytes) -> str:
    return tag.decode("utf-8", "replace")


def _bind_histogram(context: KernelContext, tag: Any, values: Any, out: Any) -> Callable[[], Any]:
    def run() -> None:
        name = tag_of(tag, "tags")
        numbers = values.reshape(-1).astype(np.float64)
        finite = np.isfinite(numbers)
        if not finite.all():
            kind = "Nan" if np.isnan(numbers[np.argmin(finite)]) else "Infinity"
            raise refusal(f"{kind} in summary histogram for: {context.name} (tag '{_shown(name)}')")
        out[()] = histogram_summary(name, *histogram_of(numbers))

    return run


scalar_summary_op = summary_op(
    "ScalarSummary",
    Call(_scalar_kernel),
    "A Summary of numbers, each under its tag; `tags` and `values` have one shape.",
    "tags: string, values: T",
    native=scalars(),
    T=REAL,
)
histogram_summary_op = summary_op(
    "HistogramSummary",
    Call(make=_bind_histogram),
    "A Summary of the distribution of a tensor's values, which must be finite.",
    "tag: string, values: T",
    T=REAL,
)
