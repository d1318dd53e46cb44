"""Tables of values by keys, which a session keeps behind handles, and files that fill them."""

from gpugraph.ops.tables import table_ops as table_ops
