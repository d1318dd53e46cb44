"""Tensors of other shapes and dtypes: reshape, cast, join, split, pad, constants."""

from gpugraph.ops.arrays import (
    bitcast,
    broadcast_gradient_args,
    cast,
    concat_and_stack,
    constants_and_placeholders,
    identity_n,
    indexed_slices_to_tensor,
    masks_and_coordinates,
    parallel_stack,
    reshape_and_transpose,
    reverse,
    reverse_sequence,
    space_to_batch_and_depth,
    split_and_unstack,
    tile_and_pad,
)
