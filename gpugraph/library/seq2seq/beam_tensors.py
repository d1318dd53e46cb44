"""Functions on the tensors of a beam search. They repeat batch entries, and reorder steps by the
final beams.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gpugraph.base import dtypes
from gpugraph.base.nest import flatten, map_structure
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow import Assert
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.masks_and_coordinates import sequence_mask
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.elementwise.comparison_and_select import equal, logical_and, logical_or, where
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.indexing.gather_tree import gather_tree
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_max
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray
from gpugraph.platform.logging import warn

Beams: TypeAlias = "tuple[Any, int | None, int]"


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Repeat each batch entry of each tensor `multiplier` times. The results are [batch *
    multiplier, ...].

    Raises ValueError if a tensor has rank 0 or an unknown rank.

    Args:
      t: a tensor or a structure of tensors.
    """
    with name_scope(name, "tile_batch", [*flatten(t), multiplier]):
        return map_structure(lambda tensor: _tile(tensor, multiplier), t)


def _tile(tensor: Any, multiplier: int) -> Any:
    tensor = convert_to_tensor(tensor, name="t")
    if not tensor.shape.ndims:
        raise ValueError("t must have statically known rank")
    repeats = [1, multiplier] + [1] * (tensor.shape.ndims - 1)
    tiled = tile(expand_dims(tensor, 1), repeats)
    result = reshape(tiled, concat([[shape(tensor)[0] * multiplier], shape(tensor)[1:]], 0))
    batch = tensor.shape.dims[0].value
    known = None if batch is None else batch * multiplier
    result.set_shape(TensorShape([known]).concatenate(tensor.shape[1:]))
    return result


def is_whole(value: Any) -> bool:
    """Return whether a value of the state has no batch axis, because it is a scalar or a
    TensorArray.

    Raises ValueError if `value` is a tensor of unknown rank.
    """
    if isinstance(value, TensorArray):
        return True
    if value.shape.ndims is None:
        raise ValueError(f"Expected tensor ({value}) to have known rank, but ndims == None.")
    return value.shape.ndims == 0


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """Return `t` with reordered steps, so that each final beam consists of the steps of its own
    history.

    Args:
      t: a tensor [time, batch, beam, ...] or [time, batch * beam, ...]. The result has the same
        shape.
      parent_ids: int32 [time, batch, beam], the beam of the previous step that each beam continued.
      sequence_length: the lengths of the final beams, [batch, beam]. Steps after the end of a beam
        are not moved.
    """
    sizes = shape(parent_ids)
    time, batch, width = sizes[0], sizes[1], sizes[2]
    beams = tile(range_of(width)[None, None, :], stack([time, batch, 1]))
    lengths = cast(sequence_length, dtypes.int32)
    sorted_beams = gather_tree(beams, parent_ids, reduce_max(lengths, axis=1), width + 1)
    inside = transpose(sequence_mask(lengths, time), [2, 0, 1])
    sorted_beams = where(inside, sorted_beams, beams)
    times = tile(range_of(time)[:, None, None], stack([1, batch, width]))
    entries = tile(range_of(batch)[None, :, None], stack([time, 1, width]))
    steps = reshape(t, stack([time, batch, width, -1]))
    ordered = gather_nd(steps, stack([times, entries, sorted_beams], -1))
    return reshape(ordered, shape(t))


def reordered(value: Any, parent_ids: Any, lengths: Any, beams: Beams) -> Any:
    """Return a TensorArray of the state as a tensor [time, ...] in the order of the final beams.

    A value that is not a TensorArray is returned unchanged. A TensorArray whose elements can't be
    [batch, beam, ...] or [batch * beam, ...] is also returned unchanged, and a warning is logged.

    Args:
      parent_ids, lengths: see `gather_tree_from_array`.
      beams: (batch size, its static value or None, number of beams per entry).
    """
    if not isinstance(value, TensorArray):
        return value
    element = value.element_shape
    if not element.ndims:
        warn(
            f"The TensorArray {value.handle.name} in the cell state is not amenable to sorting "
            "based on the beam search result. For a TensorArray to be sorted, its elements "
            "shape must be defined and have at least a rank of 1, but saw shape: "
            f"{element}"
        )
        return value
    if not _has_beams(element, beams):
        warn(
            "TensorArray reordering expects elements to be reshapable to "
            f"{TensorShape([*beams[1:], None])} which is incompatible "
            f"with the current shape {element}. Consider setting reorder_tensor_arrays to "
            "False to disable TensorArray reordering during the beam search."
        )
        return value
    steps = value.stack()
    with control_dependencies([_assert_beams(steps, beams)]):
        return gather_tree_from_array(steps, parent_ids, lengths)


def _has_beams(element: TensorShape, beams: Beams) -> bool:
    """Return whether elements of this static shape may be [batch, beam, ...] or [batch * beam,
    ...].
    """
    first, (_, batch, width) = element[0].value, beams
    if batch is None or first is None:
        return True
    second = element[1].value if len(element) >= 2 else None
    return first == batch * width and (second is None or (first, second) == (batch, width))


def _assert_beams(steps: Any, beams: Beams) -> Any:
    sizes, (batch, _, width) = shape(steps), beams
    fits = equal(sizes[1], batch * width)
    if steps.shape.ndims > 2:
        apart = logical_and(equal(sizes[1], batch), equal(sizes[2], width))
        fits = logical_or(fits, apart)
    message = (
        "TensorArray reordering expects elements to be reshapable to "
        "[batch_size, beam_size, -1] which is incompatible with the dynamic shape of "
        f"{steps.name} elements. Consider setting reorder_tensor_arrays to False to disable "
        "TensorArray reordering during the beam search."
    )
    return Assert(fits, [message])
