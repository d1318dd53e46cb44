"""The optimizers' updates, one op each."""

from gpugraph.ops.training import dense_updates, ftrl_and_proximal_updates, sparse_row_updates
