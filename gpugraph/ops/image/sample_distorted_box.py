"""SampleDistortedBoundingBoxV2, which draws a random crop of an image that contains enough of an
object.

The same seed gives the same crops as in TensorFlow. For this purpose, each draw consumes the next
random word (uint32), and sizes are computed and rounded in float32 as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.random.seeds_and_streams import SEED_ATTRS, stream_of

_EPSILON = 1e-7
_RATIOS, _AREAS = (0.75, 1.33), (0.05, 1.0)


class _Box(NamedTuple):
    """A box in pixels. It covers the rows y1 to y2 - 1, and the columns x1 to x2 - 1."""

    y1: int
    x1: int
    y2: int
    x2: int

    @property
    def area(self) -> int:
        """The number of pixels in the box."""
        return max(self.y2 - self.y1, 0) * max(self.x2 - self.x1, 0)

    def shared(self, other: _Box) -> int:
        """Return the number of pixels that are in both boxes."""
        first = max(self.y1, other.y1), max(self.x1, other.x1)
        return _Box(*first, min(self.y2, other.y2), min(self.x2, other.x2)).area


class _Draws:
    """A source of random numbers. Each number is computed from the next element of `words`."""

    def __init__(self, words: Any) -> None:
        self._words: Iterator[int] = iter(words.tolist())

    def share(self) -> Any:
        """Return a random float32 in [0, 1), computed from the next word."""
        bits = np.uint32(next(self._words) & 0x7FFFFF | 0x3F800000)
        return bits.view(np.float32) - np.float32(1)

    def below(self, count: int) -> int:
        """Return a random integer in [0, count), computed from the next word."""
        return next(self._words) % count


def _infer(context: InferContext) -> Sequence[TensorShape]:
    (sizes,) = of_rank(context.shapes[0], 1, "image_size")
    columns = of_rank(context.shapes[1], 3, "bounding_boxes")[2]
    of_rank(context.shapes[2], 0, "min_object_covered")
    if sizes not in (3, None) or columns not in (4, None):
        raise ValueError(
            "image_size must have 3 elements and bounding_boxes 4 columns, but the shapes are "
            f"{shape_text(context.shapes[0])} and {shape_text(context.shapes[1])}"
        )
    return [TensorShape.of(shape) for shape in ((3,), (3,), (1, 1, 4))]


def _round(number: Any) -> int:
    """Return the integer nearest to `number`. A half is rounded to the nearest even integer."""
    return int(np.rint(np.float32(number)))


def _crop(height: int, width: int, areas: Any, ratio: Any, draws: _Draws) -> _Box | None:
    """Draw a box of random size and position. Return None if no box fits the image.

    Args:
      areas: (minimum, maximum) of the box's area, as fractions of the image's area.
      ratio: the width of the box divided by its height.
    """
    if areas[1] <= 0 or ratio <= 0 or min(width, height) <= 0 or areas[0] > areas[1]:
        return None
    min_area, max_area = (
        np.float32(area) * np.float32(width) * np.float32(height) for area in areas
    )
    new = _round(np.sqrt(min_area / ratio))
    highest = _round(np.sqrt(max_area / ratio))
    if _round(highest * ratio) > width:
        highest = int(np.float64(width + 0.5 - _EPSILON) / np.float64(ratio))
        highest -= _round(highest * ratio) > width
    highest = min(highest, height)
    new = min(new, highest)
    if new < highest:
        new += draws.below(highest - new + 1)
    across = _round(new * ratio)
    if new * across < min_area:
        new += 1
        across = _round(new * ratio)
    if new * across > max_area:
        new -= 1
        across = _round(new * ratio)
    fits = min_area <= new * across <= max_area and 0 < across <= width and 0 < new <= height
    if not fits:
        return None
    top = draws.below(height - new) if new < height else 0
    left = draws.below(width - across) if across < width else 0
    return _Box(top, left, top + new, left + across)


def _shows(crop: _Box, min_covered: Any, boxes: Sequence[_Box]) -> bool:
    """Return whether the crop contains at least the fraction `min_covered` of one of the boxes."""
    seen = (np.float32(crop.shared(box)) / np.float32(box.area) for box in boxes if box.area)
    return bool(crop.area) and any(share >= min_covered for share in seen)


def _boxes(boxes: Any, height: int, width: int, needs_none: bool) -> list[_Box]:
    rows = boxes.reshape(-1, 4)
    if ((rows < 0) | (rows > 1)).any():
        raise refusal(f"All bounding box coordinates must be in [0, 1], but are {rows.tolist()}")
    if not len(rows):
        if needs_none:
            return [_Box(0, 0, height, width)]
        raise refusal(
            "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes "
            "if you wish to not provide any bounding boxes."
        )
    sizes = np.array([height, width] * 2, np.float32)
    return [_Box(*row) for row in (rows * sizes).astype(np.int64).tolist()]


def _check_attrs(attrs: Any) -> tuple[Any, Any]:
    ratios, areas = (list(attrs[key]) for key in ("aspect_ratio_range", "area_range"))
    if len(ratios) != 2 or not 0 < ratios[0] <= ratios[1]:
        raise refusal(f"aspect_ratio_range must be two positive numbers, not {ratios}")
    if len(areas) != 2 or not 0 < areas[0] <= areas[1] <= 1:
        raise refusal(f"area_range must be two numbers in (0, 1], not {areas}")
    if attrs["max_attempts"] <= 0:
        raise refusal(f"max_attempts must be positive, but is {attrs['max_attempts']}")
    return np.array(ratios, np.float32), np.array(areas, np.float32)


def _bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    image_size, boxes, covered, begin, size, box = arrays
    attrs, (ratios, areas) = context.attrs, _check_attrs(context.attrs)
    attempts, stream = attrs["max_attempts"], stream_of(context)

    def run() -> None:
        height, width = (int(size) for size in image_size[:2])
        if not 0 <= covered <= 1:
            raise refusal(f"min_object_covered must be in [0, 1], but is {covered}")
        objects = _boxes(boxes, height, width, attrs["use_image_if_no_bounding_boxes"])
        draws = _Draws(stream.reserve(attempts).words(4 * attempts))
        part = _Box(0, 0, height, width)
        for _ in range(attempts):
            ratio = draws.share() * (ratios[1] - ratios[0]) + ratios[0]
            crop = _crop(height, width, areas, ratio, draws)
            if crop is not None and _shows(crop, covered, objects):
                part = crop
                break
        extent = part.y2 - part.y1, part.x2 - part.x1, -1
        begin[:] = np.array((part.y1, part.x1, 0)).astype(begin.dtype)
        size[:] = np.array(extent).astype(size.dtype)  # in uint8, -1 becomes 255
        box[0, 0] = np.array(part, np.float32) / np.array([height, width] * 2, np.float32)

    return run


op(
    "SampleDistortedBoundingBoxV2",
    inputs="image_size: T, bounding_boxes: float32, min_object_covered: float32",
    outputs="begin: T, size: T, bboxes: float32",
    attrs={
        **SEED_ATTRS,
        "aspect_ratio_range": Attr("list(float)", list(_RATIOS)),
        "area_range": Attr("list(float)", list(_AREAS)),
        "max_attempts": Attr("int", 100),
        "use_image_if_no_bounding_boxes": Attr("bool", False),
        "T": (dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.int8, dtypes.int16),
    },
    infer=_infer,
    cpu=Call(make=_bind),
    gpu=HostOnly("its sizes are computed on the host"),
    grad=NO_GRADIENT,
    stateful=True,
    doc=(
        "A random crop of an image that contains at least the fraction min_object_covered of one "
        "of the boxes. Its area and aspect ratio are in the given ranges. If max_attempts draws "
        "give no such crop, it is the whole image."
    ),
)


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Any, ...]:
    """Draw a random crop of an image. Return (begin, size, box).

    `begin` and `size` are arguments of `tf.slice`. `box` has shape [1, 1, 4], for
    `draw_bounding_boxes`. If no valid crop is found in `max_attempts` (by default 100) draws, the
    crop is the whole image. A run raises InvalidArgumentError if a bounding box is outside [0, 1].

    Args:
      image_size: [height, width, channels].
      bounding_boxes: a tensor of shape [batch, n, 4], with rows of y1, x1, y2, x2 in [0, 1].
      min_object_covered: the minimum fraction of one of these boxes that the crop must contain.
      aspect_ratio_range: the range of width / height, by default 0.75 to 1.33.
      area_range: the range of the crop's area as a fraction of the image's area, by default 0.05 to
        1.
      use_image_if_no_bounding_boxes: whether to use the whole image as the bounding box if there
        are no boxes. Otherwise the run raises InvalidArgumentError.
    """
    with op_scope(name, "sample_distorted_bounding_box"):
        return raw_ops.SampleDistortedBoundingBoxV2(
            image_size,
            bounding_boxes,
            min_object_covered,
            seed=seed or 0,
            seed2=seed2 or 0,
            aspect_ratio_range=list(aspect_ratio_range or _RATIOS),
            area_range=list(area_range or _AREAS),
            max_attempts=100 if max_attempts is None else max_attempts,
            use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
            name=name,
        )
