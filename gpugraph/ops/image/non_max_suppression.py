"""Non-maximum suppression, which selects the boxes with the best scores, but drops boxes that
overlap better boxes.

Boxes are considered in descending order of score. Among boxes with equal scores, the lowest index
comes first. A box that overlaps a chosen box by more than the threshold is suppressed. In soft
suppression, such a box is considered again with a lower score (Bodla and others, "Soft-NMS", 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float16, float32
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import SCALAR, of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.image.box_selection import choose_boxes, overlaps_of_boxes
from gpugraph.ops.image.native_box_selection import chosen_boxes, chosen_boxes_with_scores

_REASON = "how many boxes it selects depends on values, which the host must read"
ON_HOST: dict[str, Any] = {"gpu": HostOnly(_REASON), "grad": NO_GRADIENT}
_OPEN = TensorShape.of((None,))


def check_limits(threshold: Any, max_boxes: Any = 0) -> None:
    if not 0 <= float(threshold) <= 1:
        raise invalid_argument(f"iou_threshold must be in [0, 1], but is {threshold}")
    if max_boxes < 0:
        raise invalid_argument(f"max_output_size must not be negative, but is {max_boxes}")


# -- by overlaps


def _infer_overlaps(context: InferContext) -> Sequence[TensorShape]:
    rows, columns = of_rank(context.shapes[0], 2, "overlaps")
    (count,) = of_rank(context.shapes[1], 1, "scores")
    if len({rows, columns, count} - {None}) > 1:
        raise ValueError(
            "overlaps must be of shape (n, n) for n scores, but shapes are "
            f"{shape_text(context.shapes[0])} "
            f"and {shape_text(context.shapes[1])}"
        )
    for shape in context.shapes[2:]:
        of_rank(shape, 0, "A limit")
    return [_OPEN]


def _indices(chosen: list[tuple[int, float]]) -> list[Any]:
    return [np.array([box for box, _ in chosen], np.int32)]


def _of_overlaps(
    overlaps: Any, scores: Any, max_boxes: Any, threshold: Any, min_score: Any
) -> list[Any]:
    limits = float(min_score), float(threshold)
    chosen = choose_boxes(
        scores, int(max_boxes), *limits, lambda box, others: overlaps[box, others]
    )
    return _indices(chosen)


op(
    "NonMaxSuppressionWithOverlaps",
    inputs="overlaps: float32, scores: float32, max_output_size: int32, "
    "overlap_threshold: float32, score_threshold: float32",
    outputs="selected_indices: int32",
    infer=_infer_overlaps,
    cpu=Call(_of_overlaps, dynamic=True),
    native=chosen_boxes(by_overlaps=True),
    **ON_HOST,
    doc=(
        "The indices of the boxes with the highest scores, the best first. A box is omitted if it "
        "overlaps a better box by more than overlap_threshold."
    ),
)


def non_max_suppression_overlaps(
    overlaps: Any,
    scores: Any,
    max_output_size: Any,
    overlap_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Return the int32 indices of at most `max_output_size` items, sorted by descending score.

    Args:
      overlaps: a tensor of shape [n, n], with the overlap of each pair of items.
      scores: a tensor of shape [n]. An item is never chosen if its score is `score_threshold` or
        less, or if it overlaps a better chosen item by more than `overlap_threshold`.
    """
    with op_scope(name, "non_max_suppression_overlaps", overlaps, scores):
        limit = convert_to_tensor(overlap_threshold, float32, name="overlap_threshold")
        return raw_ops.NonMaxSuppressionWithOverlaps(
            overlaps, scores, max_output_size, limit, score_threshold
        )


# -- by boxes


def _infer_boxes(context: InferContext) -> TensorShape:
    """Return the shape of the chosen indices. The number of indices is unknown, or is
    `max_output_size` if they are padded.
    """
    count, columns = of_rank(context.shapes[0], 2, "boxes")
    (others,) = of_rank(context.shapes[1], 1, "scores")
    if columns not in (4, None):
        raise value_error(
            f"boxes need 4 columns, but have {columns}", f"Dimension must be 4 but is {columns}"
        )
    if count is not None and others is not None and count != others:
        raise value_error(
            f"There are {count} boxes, but {others} scores",
            f"Dimensions must be equal, but are {count} and {others}",
        )
    for shape in context.shapes[2:]:
        of_rank(shape, 0, "A limit")
    max_boxes = context.value(2)
    if not context.attrs.get("pad_to_max_output_size") or max_boxes is None:
        return _OPEN
    return TensorShape.of((int(max_boxes),))


def _bind_boxes(context: KernelContext, *arrays: Any) -> Callable[[], list[Any]]:
    boxes, scores, max_boxes, threshold, min_score = arrays[:5]
    pads = context.attrs["pad_to_max_output_size"]

    def run() -> list[Any]:
        check_limits(threshold, max_boxes)
        sigma = float(arrays[5]) if len(arrays) > 5 else 0.0
        if not sigma >= 0:
            raise invalid_argument(f"soft_nms_sigma must not be negative, but is {sigma}")
        chosen = choose_boxes(
            scores,
            int(max_boxes),
            float(min_score),
            float(threshold),
            overlaps_of_boxes(boxes),
            sigma,
        )
        size = int(max_boxes) if pads else len(chosen)
        indices, values = np.zeros(size, np.int32), np.zeros(size, scores.dtype)
        indices[: len(chosen)] = [box for box, _ in chosen]
        values[: len(chosen)] = [score for _, score in chosen]
        count = np.array(len(chosen), np.int32)
        return [indices, values, count] if len(arrays) > 5 else [indices, count]

    return run


def _best(boxes: Any, scores: Any, max_boxes: Any, threshold: Any, min_score: Any) -> list[Any]:
    check_limits(threshold)
    chosen = choose_boxes(
        scores, int(max_boxes), float(min_score), float(threshold), overlaps_of_boxes(boxes)
    )
    return _indices(chosen)


op(
    "NonMaxSuppressionV3",
    inputs="boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold",
    outputs="selected_indices: int32",
    attrs={"T": (float32, float16), "T_threshold": (float32, float16)},
    infer=lambda context: [_infer_boxes(context)],
    cpu=Call(_best, dynamic=True),
    native=chosen_boxes(),
    **ON_HOST,
    doc=(
        "The indices of the boxes with the highest scores, the best first. A box is omitted if it "
        "overlaps a better box by more than iou_threshold."
    ),
)
op(
    "NonMaxSuppressionV4",
    inputs="boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold",
    outputs="selected_indices: int32, valid_outputs: int32",
    attrs={
        "T": (float32, float16),
        "T_threshold": (float32, float16),
        "pad_to_max_output_size": Attr("bool", False),
    },
    infer=lambda context: [_infer_boxes(context), SCALAR],
    cpu=Call(make=_bind_boxes, dynamic=True),
    native=chosen_boxes(),
    **ON_HOST,
    doc=(
        "The indices of the boxes with the highest scores, the best first, optionally padded with "
        "0, and the number of boxes. A box is omitted if it overlaps a better box by more than "
        "iou_threshold."
    ),
)
op(
    "NonMaxSuppressionV5",
    inputs="boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, "
    "soft_nms_sigma: T",
    outputs="selected_indices: int32, selected_scores: T, valid_outputs: int32",
    attrs={"T": (float32, float16), "pad_to_max_output_size": Attr("bool", False)},
    infer=lambda context: [*[_infer_boxes(context)] * 2, SCALAR],
    cpu=Call(make=_bind_boxes, dynamic=True),
    native=chosen_boxes_with_scores(),
    **ON_HOST,
    doc=(
        "The indices of the boxes with the highest scores, the best first, their scores, and the "
        "number of boxes. If soft_nms_sigma is above 0, the score of a box is multiplied by "
        "exp(-overlap^2 / (2 soft_nms_sigma)) for each better box."
    ),
)


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Return the int32 indices of at most `max_output_size` boxes, sorted by descending score.

    A run raises InvalidArgumentError if `iou_threshold` is outside [0, 1].

    Args:
      boxes: a tensor of shape [n, 4]. Each row has two opposite corners.
      scores: a tensor of shape [n]. A box is never chosen if its score is `score_threshold` or
        less, or if its intersection over union with a better chosen box exceeds `iou_threshold`.
    """
    with op_scope(name, "non_max_suppression", boxes, scores):
        limits = limit_tensors(iou_threshold=iou_threshold, score_threshold=score_threshold)
        return raw_ops.NonMaxSuppressionV3(boxes, scores, max_output_size, *limits)


def non_max_suppression_padded(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the indices of the boxes that `non_max_suppression` chooses, and their number, both as
    int32.

    Args:
      pad_to_max_output_size: whether to pad the indices with zeros to `max_output_size`.
    """
    with op_scope(name, "non_max_suppression_padded", boxes, scores):
        limits = limit_tensors(iou_threshold=iou_threshold, score_threshold=score_threshold)
        indices, count = raw_ops.NonMaxSuppressionV4(
            boxes, scores, max_output_size, *limits, pad_to_max_output_size=pad_to_max_output_size
        )
        return indices, count


def non_max_suppression_with_scores(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    soft_nms_sigma: Any = 0.0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the indices (int32) and scores of the boxes that are chosen, the best first.

    For the remaining arguments, see `non_max_suppression`.

    Args:
      soft_nms_sigma: if it is above 0, a box that overlaps a better box is not suppressed. Its
        score is multiplied by exp(-overlap^2 / (2 sigma)) instead.
    """
    with op_scope(name, "non_max_suppression_with_scores", boxes, scores):
        limits = limit_tensors(iou_threshold=iou_threshold, score_threshold=score_threshold)
        limits += limit_tensors(soft_nms_sigma=soft_nms_sigma)
        indices, values, _ = raw_ops.NonMaxSuppressionV5(boxes, scores, max_output_size, *limits)
        return indices, values


def limit_tensors(**values: Any) -> list[Tensor]:
    return [convert_to_tensor(value, float32, name=name) for name, value in values.items()]


# -- of many classes
