"""What moves elements, by an older name of some functions of `tf`."""

from gpugraph.ops.array_shapes import reshape, reverse
from gpugraph.ops.ordering import roll
from gpugraph.ops.padding import tile
from gpugraph.ops.scattering import gather_nd, scatter_nd
from gpugraph.ops.spatial_blocks import batch_to_space_nd, space_to_batch_nd

__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]
