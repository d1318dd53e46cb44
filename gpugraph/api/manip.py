"""`tf.manip`: functions that rearrange the elements of a tensor. `tf` has the same functions under
the same names.
"""

from gpugraph.ops.arrays.reshape_and_transpose import reshape as reshape
from gpugraph.ops.arrays.reverse import reverse as reverse
from gpugraph.ops.arrays.space_to_batch_and_depth import (
    batch_to_space_nd as batch_to_space_nd,
    space_to_batch_nd as space_to_batch_nd,
)
from gpugraph.ops.arrays.tile_and_pad import tile as tile
from gpugraph.ops.indexing.coordinate_gather_scatter import (
    gather_nd as gather_nd,
    scatter_nd as scatter_nd,
)
from gpugraph.ops.indexing.sort_and_search import roll as roll
