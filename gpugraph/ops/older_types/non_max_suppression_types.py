"""NonMaxSuppression and NonMaxSuppressionV2, which run the kernel of NonMaxSuppressionV3 without
a minimum score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float16, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, Attr
from gpugraph.ops.image.native_box_selection import chosen_boxes
from gpugraph.ops.older_types.numpy_op import numpy_op

_LIKE = "NonMaxSuppressionV3"
_NO_MINIMUM = np.float32("-inf")


def _infer(context: InferContext) -> Sequence[TensorShape]:
    infer_like = DECLARATIONS[_LIKE].op_def.infer
    assert infer_like is not None
    return infer_like(context)


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    entry = find_kernel(_LIKE, "CPU", {})
    assert entry is not None and isinstance(entry.kernel, Call) and entry.kernel.function
    best = entry.kernel.function
    boxes, scores, max_boxes, *threshold = arrays
    limit = threshold[0] if threshold else np.float32(context.attrs["iou_threshold"])
    return lambda: best(boxes, scores, max_boxes, limit, _NO_MINIMUM)


_DOC = "The boxes of the highest scores, the best first, without those that overlap a better one "
numpy_op(
    "NonMaxSuppression",
    "boxes: float32, scores: float32, max_output_size: int32 -> selected_indices: int32",
    {"iou_threshold": Attr("float", 0.5)}, _infer,
    Call(make=_bind, dynamic=True), _DOC + "by more than the attr iou_threshold.",
    native=chosen_boxes(),
)  # fmt: skip
numpy_op(
    "NonMaxSuppressionV2",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold -> "
    "selected_indices: int32", {"T": (float32, float16), "T_threshold": (float32, float16)},
    _infer,
    Call(make=_bind, dynamic=True), _DOC + "by more than iou_threshold.",
    native=chosen_boxes(),
)  # fmt: skip
