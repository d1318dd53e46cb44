"""The global step, a variable that counts training steps."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.value_text import shown
from gpugraph.building.variable_scope.get_variable import get_variable
from gpugraph.building.variables import Variable, VariableAggregation
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import graph_or_default
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.platform import logging


def get_global_step(graph: Graph | None = None) -> Any:
    """Return the graph's global step. If the graph does not have exactly one global step, return
    None.

    The global step is the only item of the collection GLOBAL_STEP. If the collection is empty, the
    global step is the tensor "global_step:0". Raises TypeError if it is not an integer scalar.

    >>> tf.train.get_global_step() is None
    True
    """
    chosen = graph_or_default(graph)
    steps = chosen.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        names = [variable.name for variable in steps]
        logging.error("Multiple tensors in global_step collection: %s", names)
        return None
    if steps:
        step = steps[0]
    else:
        try:
            step = chosen.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def assert_global_step(global_step_tensor: Any) -> None:
    """Raise TypeError if the tensor is not an integer scalar, which a global step must be."""
    step = global_step_tensor
    if not isinstance(step, (Variable, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {step!r}.')
    if not step.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {step.dtype}')
    if step.shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {step.shape}')


def create_global_step(graph: Graph | None = None) -> Variable:
    """Create an int64 global step, as `tf.get_variable("global_step", ...)` does.

    Raises ValueError if the graph already has a global step.
    """
    chosen = graph_or_default(graph)
    if get_global_step(chosen) is not None:
        raise ValueError('"global_step" already exists.')
    with chosen.as_default(), chosen.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            [],
            dtypes.int64,
            Zeros(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the graph's global step. If there is no global step, create it.

    >>> step = tf.train.get_or_create_global_step()
    >>> session.run(step.initializer)
    >>> session.run(step)
    np.int64(0)
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the value of the global step in a session.

    Raises TypeError if `sess` is not a session.
    """
    if not hasattr(sess, "run"):
        raise TypeError(f"sess must be a tf.Session, but it is {shown(sess)}")
    return int(sess.run(global_step_tensor))


_READ_KEY = "global_step_read_op_cache"


def global_step_read(graph: Graph | None = None) -> Any:
    """Return a tensor with the value that the global step has before a run changes it. If there is
    no global step, return None.

    A graph has one such tensor, which is created on first use.
    """
    chosen = graph_or_default(graph)
    known = chosen.get_collection(_READ_KEY)
    if known:
        return known[0]
    step = get_global_step(chosen)
    if step is None:
        return None
    with chosen.as_default(), chosen.name_scope(None), chosen.name_scope(f"{step.op.name}/"):
        value = step.read_value() if isinstance(step, Variable) else step
        read = value + zeros([], step.dtype.base_dtype)
    chosen.add_to_collection(_READ_KEY, read)
    return read


def global_step_for(hook: str) -> Any:
    """Return `global_step_read` of the default graph. Raises RuntimeError if there is no global
    step.

    Args:
      hook: the name of the hook that needs the step. The error's message contains this name.
    """
    step = global_step_read()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    return step
