"""The native kernel for all variants of non-maximum suppression (host_box_selection.h)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32
from gpugraph.base.sizes import is_open
from gpugraph.kernel import RowSource, Signature

_BOUNDED = 1 << 14
"""The number of boxes up to which the outputs have room for all of them if their number is open."""


def chosen_boxes(by_overlaps: bool = False) -> RowSource:
    """Return the kernel that chooses boxes.

    Its inputs are the boxes or their overlaps, the scores, the maximum number of chosen boxes, and
    up to three limits, depending on the op: the overlap threshold, the minimum score, and sigma.
    """

    def parameters(signature: Signature) -> list[int]:
        types = [dtype.base_dtype for dtype in signature.input_types]
        if any(dtype is not float32 for slot, dtype in enumerate(types) if slot != 2):
            raise NotImplementedError("boxes, scores and limits are not all float32")
        shapes, attrs = signature.input_shapes, signature.attrs
        pads = int(bool(attrs.get("pad_to_max_output_size", False)))
        bits = int(np.float32(attrs.get("iou_threshold", 0.0)).view(np.int32))
        [count], [room] = shapes[1], signature.output_shapes[0]
        outputs, limits = len(signature.output_types), len(types) - 3
        return [count, int(by_overlaps), pads, outputs, room, limits, bits]

    def sizes(signature: Signature, *inputs: Any) -> list[tuple[int, ...]]:
        most, count = max(int(inputs[2]), 0), inputs[1].shape[0]
        is_padded = signature.attrs.get("pad_to_max_output_size")
        is_bounded = is_open((count,)) and most <= _BOUNDED
        room = most if is_padded or is_bounded else min(most, count)
        outputs = len(signature.output_types)
        return [*[(room,)] * max(1, outputs - 1), *[()] * (outputs > 1)]

    name = "gg_choose_boxes"
    return RowSource(
        "host_box_selection.h", name, parameters, sizes=sizes, counted=[0], is_exact=False
    )


def chosen_boxes_with_scores() -> RowSource:
    """Return the kernel of `chosen_boxes` with a second output, the scores."""
    return chosen_boxes()._replace(counted=[0, 1])


def boxes_of_classes() -> RowSource:
    """Return the kernel that chooses boxes of all classes in a batch of images."""

    def room_of(signature: Signature, per_class: Any, total: Any) -> int:
        most = max(int(total), 0)
        classes = signature.input_shapes[1][2]
        pads = signature.attrs["pad_per_class"]
        return min(most, max(int(per_class), 0) * classes) if pads else most

    def parameters(signature: Signature) -> list[int]:
        boxes, scores = signature.input_shapes[:2]
        if boxes[:2] != scores[:2] or boxes[2] not in (1, scores[2]) or boxes[3] != 4:
            raise NotImplementedError("boxes and scores do not fit together")
        room = signature.output_shapes[1][1]
        return [*boxes[:3], scores[2], room, int(signature.attrs["clip_boxes"])]

    def sizes(signature: Signature, *inputs: Any) -> list[tuple[int, ...]]:
        batch, room = len(inputs[0]), room_of(signature, *inputs[2:4])
        return [(batch, room, 4), (batch, room), (batch, room), (batch,)]

    name = "gg_choose_of_classes"
    return RowSource("host_box_selection.h", name, parameters, sizes=sizes, is_exact=False)
