"""`tf.autograph`: conversion of Python functions with `if`, `while` and `for` on tensors to
functions that build graphs.
"""

from gpugraph.api.autograph import autograph_experimental as autograph_experimental
from gpugraph.building.autograph.autograph_functions import (
    set_verbosity as set_verbosity, to_code as to_code, to_graph as to_graph, trace as trace,
)

experimental = autograph_experimental
