"""Module functions such as `tf.device`, which call the default graph's method of the same name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from gpugraph.base.value_text import shown
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import TRACED, graph_stack, session_stack, traced_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.platform import logging


def get_default_graph() -> Graph:
    """Return the thread's default graph.

    Outside of all `with graph.as_default()` blocks, the default graph is the thread's global
    default graph, which is created on first use.

    >>> x = tf.constant(1.0, name="x")
    >>> tf.get_default_graph().get_tensor_by_name("x:0") is x
    True
    """
    graph: Graph | None = graph_stack.top()
    if graph is None:
        graph = graph_stack.bottom = Graph()
    return graph


def graph_or_default(graph: Any) -> Graph:
    """Return `graph`. If `graph` is None, return the default graph. Raises TypeError for anything
    else.
    """
    if graph is None:
        return get_default_graph()
    if not isinstance(graph, Graph):
        raise TypeError(f"graph must be a tf.Graph, but it is {shown(graph)}")
    return graph


def reset_default_graph() -> None:
    """Start a new global default graph. Raises AssertionError inside a `with graph.as_default()`
    block.
    """
    graph_stack.reset()


def get_default_session() -> Any:
    """Return the thread's default session, or None.

    >>> tf.get_default_session() is None
    True
    """
    return session_stack.top()


def executing_eagerly() -> bool:
    """Return False: operations are always built into a graph, and run by a session.

    >>> tf.executing_eagerly()
    False
    """
    return False


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Call `Graph.device` of the default graph.

    >>> with tf.device("/cpu:0"):
    ...     x = tf.constant(1.0)
    >>> x.device
    '/device:CPU:0'
    """
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Any) -> AbstractContextManager[None]:
    """Call `Graph.control_dependencies` of the default graph.

    >>> v = tf.Variable(1.0)
    >>> with tf.control_dependencies([v.assign(5.0)]):
    ...     y = tf.identity(v.read_value())
    >>> session.run(v.initializer)
    >>> session.run(y)
    np.float32(5.0)
    """
    return get_default_graph().control_dependencies(control_inputs)


@contextmanager
def init_scope() -> Iterator[None]:
    """Inside a `with` block, create all ops without control dependencies, and outside of any `cond`
    or `while_loop`.

    While a function is being traced, create the ops in the graph around the function. The current
    name scope stays in effect.
    """
    graph = get_default_graph()
    outer = getattr(graph, "outer_graph", None)
    if outer is None:
        with graph.control_dependencies(None):
            yield
        return
    scope = graph.get_name_scope()
    with outer.as_default(), init_scope(), outer.name_scope(f"{scope}/" if scope else None):
        yield


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Call `Graph.colocate_with` of the default graph."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Call `Graph.container` of the default graph."""
    return get_default_graph().container(container_name)


def add_to_collection(name: Any, value: Any) -> None:
    """Call `Graph.add_to_collection` of the default graph.

    >>> tf.add_to_collection("losses", tf.constant(1.0))
    >>> len(tf.get_collection("losses"))
    1
    """
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Call `Graph.add_to_collections` of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """Call `Graph.get_collection` of the default graph.

    >>> v = tf.Variable(1.0, name="v")
    >>> tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)[0] is v
    True
    """
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """Call `Graph.get_collection_ref` of the default graph.

    >>> tf.get_collection_ref("losses").append(1.5)
    >>> tf.get_collection("losses")
    [1.5]
    """
    return get_default_graph().get_collection_ref(key)


class name_scope:
    """A name scope for the ops of a function. The scope's name is `name`, or `default_name` if
    `name` is None.

    Raises TypeError if `default_name` is not a string. Raises ValueError if `name` and
    `default_name` are None although `values` were passed, or if the values belong to several
    graphs.

    Args:
      values: input tensors of the function, all of one graph. This graph becomes the default graph
        inside the block.

    >>> with tf.name_scope("layer"):
    ...     y = tf.constant(1.0, name="y")
    >>> y.name
    'layer/y:0'
    """

    def __init__(
        self, name: Any, default_name: Any = None, values: Iterable[Any] | None = None
    ) -> None:
        if default_name is not None and not isinstance(default_name, str):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely "
                "meant to pass this into the `values` kwarg."
            )
        self._name = default_name if name is None else name
        if self._name is None and values is not None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) must be provided."
            )
        self._values = list(values) if values is not None else []
        self._entered: list[AbstractContextManager[Any]] = []

    @property
    def name(self) -> Any:
        """The name of the scope: `name`, or `default_name` if `name` is None."""
        return self._name

    def __enter__(self) -> str:
        graph = graph_of(self._values)
        default = graph.as_default()
        scope = graph.name_scope(self._name)
        default.__enter__()
        try:
            entered = scope.__enter__()
        except BaseException:
            default.__exit__(None, None, None)
            raise
        self._entered += [default, scope]
        return entered

    def __exit__(self, *error: Any) -> None:
        scope, default = self._entered.pop(), self._entered.pop()
        try:
            scope.__exit__(*error)
        finally:
            default.__exit__(*error)


@contextmanager
def op_scope(values: Iterable[Any], name: Any, default_name: Any = None) -> Iterator[str]:
    """Enter a `tf.name_scope`. This function has an older order of arguments. The function is
    deprecated and logs a warning.
    """
    logging.warning(
        "tf.op_scope(values, name, default_name) is deprecated, use "
        "tf.name_scope(name, default_name, values)"
    )
    with name_scope(name, default_name, values) as scope:
        yield scope


def graph_of(values: Iterable[Any]) -> Graph:
    """Return the common graph of these values, or the default graph.

    Raises ValueError if the values belong to several graphs.
    """
    graph: Graph | None = None
    first: Any = None
    for value in values:
        value_graph = value.graph if isinstance(value, Tensor) else getattr(value, "graph", None)
        if not isinstance(value_graph, Graph):
            continue
        if TRACED:
            value_graph = traced_graph(value_graph)
        if graph is None:
            graph, first = value_graph, value
        elif value_graph is not graph:
            raise ValueError(f"{value!r} must be from the same graph as {first!r}.")
    return graph if graph is not None else get_default_graph()
