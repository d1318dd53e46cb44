"""`tf.Assert`: an operation that fails if its condition is false."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int32, string
from gpugraph.building.control_flow.cond import cond
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor, convert_to_tensor

_MAX_ELEMENTS = 3


def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Operation:
    """Return an operation that ends the run with InvalidArgumentError if `condition` is false.

    Raises TypeError if `data` is not a list or tuple, and ValueError if it is empty.

    Args:
      condition: a bool scalar.
      data: a list of tensors; the error shows the first `summarize` elements of each (3 by default,
        all if negative). The data are read only if the assertion fails, unless all of them are
        string or int32 tensors.

    >>> x = tf.placeholder(tf.float32, [])
    >>> with tf.control_dependencies([tf.Assert(x > 0, [x])]):
    ...     y = tf.sqrt(x)
    >>> session.run(y, {x: 4})
    np.float32(2.0)
    """
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"values must be a sequence: Assert takes a list of data, not {data!r}")
    if not data:
        raise ValueError("Assert needs data to show: a list of at least one tensor")
    limit = _MAX_ELEMENTS if summarize is None else summarize
    tensors = list(data)
    with name_scope(name, "Assert", [condition, *tensors]):

        def check() -> Operation:
            return raw_ops.Assert(condition, tensors, summarize=limit, name="Assert")

        if all(tensor.dtype in (string, int32) for tensor in convert_n_to_tensor(tensors)):
            return check()
        condition = convert_to_tensor(condition, name="Condition")
        return cond(condition, no_op, check, name="AssertGuard").op
