"""TensorSummary and TensorSummaryV2, which record whole tensors. V2 also records metadata that
determines how they are displayed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.formats.message_bytes import fields_of
from gpugraph.formats.summary_bytes import tensor_message, tensor_summary
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.summaries.scalar_and_histogram_summary_ops import summary_op, tag_of

_TYPES = (*dtypes.NUMERIC, dtypes.bool, dtypes.string)


def _tensor_parts(context: KernelContext, tensor: Any) -> list[Any]:
    """Return the parts of the serialized tensor."""
    number = as_dtype(context.attrs["T"]).as_datatype_enum
    if tensor.dtype == object:
        return tensor_message(number, tensor.shape, tensor.reshape(-1).tolist())
    content: Any = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
    return tensor_message(number, tensor.shape, None, memoryview(content))


def _bind_first(context: KernelContext, tensor: Any, out: Any) -> Callable[[], Any]:
    def run() -> None:
        name = context.name.encode()
        out[()] = tensor_summary(b"", _tensor_parts(context, tensor), b"", name)

    return run


def _bind_second(
    context: KernelContext, tag: Any, tensor: Any, metadata: Any, out: Any
) -> Callable[[], Any]:
    def run() -> None:
        described = tag_of(metadata, "serialized_summary_metadata")
        try:
            list(fields_of(described))
        except ValueError as error:
            raise refusal(f"Could not parse the summary metadata: {error}") from error
        out[()] = tensor_summary(tag_of(tag), _tensor_parts(context, tensor), described)

    return run


summary_op(
    "TensorSummary",
    Call(make=_bind_first),
    "A Summary of a whole tensor, under the name of the node.",
    "tensor: T",
    stateful=True,  # The result contains the node's name, so that equal nodes must not be merged.
    T=_TYPES,
    description=Attr("string", ""),
    labels=Attr("list(string)", ()),
    display_name=Attr("string", ""),
)
tensor_summary_op = summary_op(
    "TensorSummaryV2",
    Call(make=_bind_second),
    "A Summary of a whole tensor, under a tag, with the bytes of its SummaryMetadata.",
    "tag: string, tensor: T, serialized_summary_metadata: string",
    T=_TYPES,
)
