"""What moves elements, by an older name of some functions of `tf`."""

from gpugraph.ops.arrays.reshape_and_transpose import reshape, reverse
from gpugraph.ops.arrays.space_to_batch_and_depth import batch_to_space_nd, space_to_batch_nd
from gpugraph.ops.arrays.tile_and_pad import tile
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd, scatter_nd
from gpugraph.ops.indexing.sort_and_search import roll

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
