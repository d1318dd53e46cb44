"""`combined_non_max_suppression`, which selects boxes of several classes in a batch of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.image.box_selection import choose_boxes, overlaps_without_nan
from gpugraph.ops.image.native_box_selection import boxes_of_classes
from gpugraph.ops.image.non_max_suppression import ON_HOST, check_limits, limit_tensors


def _infer_combined(context: InferContext) -> Sequence[TensorShape]:
    batch, count, kinds, columns = of_rank(context.shapes[0], 4, "boxes")
    others, scores, classes = of_rank(context.shapes[1], 3, "scores")
    if columns not in (4, None):
        raise value_error(
            f"boxes need 4 columns, but have {columns}", f"Dimension must be 4 but is {columns}"
        )
    if count is not None and scores is not None and count != scores:
        raise value_error(
            f"There are {count} boxes, but scores of {scores}",
            f"Dimensions must be equal, but are {count} and {scores}",
        )
    if kinds not in (1, None) and classes is not None and kinds != classes:
        raise ValueError(f"boxes are for {kinds} classes, but scores for {classes}")
    batch = others if batch is None else batch
    total, max_boxes = context.value(3), context.value(2)
    size = None if total is None else int(total)
    if size is not None and context.attrs["pad_per_class"]:
        size = None if max_boxes is None or classes is None else min(size, int(max_boxes) * classes)
    shapes = ((batch, size, 4), (batch, size), (batch, size), (batch,))
    return [TensorShape.of(shape) for shape in shapes]


def _best_of_all(
    boxes: Any, scores: Any, max_boxes: int, threshold: Any, min_score: Any
) -> list[Any]:
    """Return (score, class, corners) of the chosen boxes of one image, over all classes, best
    first.

    Args:
      boxes: [n, classes or 1, 4].
      scores: [n, classes].
      max_boxes: the maximum number of boxes for each class.
    """
    items = []
    for kind in range(scores.shape[1]):
        of_class = boxes[:, kind if boxes.shape[1] > 1 else 0]
        chosen = choose_boxes(
            scores[:, kind],
            max_boxes,
            float(min_score),
            float(threshold),
            overlaps_without_nan(of_class),
        )
        items += [(score, kind, of_class[box]) for box, score in chosen]
    return sorted(items, key=lambda item: -item[0])


def _bind_combined(context: KernelContext, *arrays: Any) -> Callable[[], list[Any]]:
    boxes, scores, per_class, total, threshold, min_score = arrays
    pads, clips = context.attrs["pad_per_class"], context.attrs["clip_boxes"]

    def run() -> list[Any]:
        check_limits(threshold, per_class)
        if total <= 0 or per_class <= 0:
            message = "max_total_size and max_output_size_per_class must be positive"
            raise invalid_argument(f"{message}, but are {total} and {per_class}")
        batch, size = len(boxes), int(total)
        size = min(size, int(per_class) * scores.shape[2]) if pads else size
        corners, values, kinds = (
            np.zeros((batch, size, *inner), np.float32) for inner in ((4,), (), ())
        )
        counts = np.zeros(batch, np.int32)
        for image in range(batch):
            best = _best_of_all(boxes[image], scores[image], int(per_class), threshold, min_score)
            counts[image] = len(best[:size])
            for index, (score, kind, box) in enumerate(best[:size]):
                place = image, index
                values[place], kinds[place], corners[place] = score, kind, box
        return [np.clip(corners, 0, 1) if clips else corners, values, kinds, counts]

    return run


op(
    "CombinedNonMaxSuppression",
    inputs="boxes: float32, scores: float32, max_output_size_per_class: scalar int32, "
    "max_total_size: scalar int32, iou_threshold: scalar float32, score_threshold: scalar float32",
    outputs="nmsed_boxes: float32, nmsed_scores: float32, nmsed_classes: float32, "
    "valid_detections: int32",
    attrs={"pad_per_class": Attr("bool", False), "clip_boxes": Attr("bool", True)},
    infer=_infer_combined,
    cpu=Call(make=_bind_combined, dynamic=True),
    native=boxes_of_classes(),
    **ON_HOST,
    doc=("For each image, the best boxes of all classes, sorted by score and padded with 0."),
)


def combined_non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> tuple[Any, ...]:
    """Select the best boxes of each image over all classes. Return (boxes, scores, classes,
    number).

    For each class, at most `max_output_size_per_class` boxes are chosen with `non_max_suppression`.
    Of the chosen boxes of all classes, the best `max_total_size` are returned, padded with zeros.
    The results are float32, except for `number`, the number of boxes without the padding, which is
    int32.

    Args:
      boxes: a tensor of shape [batch, n, classes or 1, 4].
      scores: a tensor of shape [batch, n, classes].
      pad_per_class: whether to pad to `max_output_size_per_class` times the number of classes, if
        this is less than `max_total_size`.
      clip_boxes: whether to clip corners to [0, 1].
    """
    with op_scope(name, "combined_non_max_suppression", boxes, scores):
        limits = limit_tensors(iou_threshold=iou_threshold, score_threshold=score_threshold)
        return raw_ops.CombinedNonMaxSuppression(
            boxes,
            scores,
            max_output_size_per_class,
            max_total_size,
            *limits,
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
