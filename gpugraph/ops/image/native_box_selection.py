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
