"""`K.function`, which returns a function that runs a part of the graph in Keras's session."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.nest import flatten, map_structure
from gpugraph.building.variables import Variable
from gpugraph.config import CallableOptions
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.keras_session import get_session, refuse_cleared
from gpugraph.library.keras.backend.keras_variables import sparse_parts
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue
from gpugraph.ops.state.reference_variable_ops import assign
from gpugraph.session import Session


class GraphExecutionFunction:
    """A callable that computes `outputs` from values of `inputs` in a run of Keras's session.

    The constructor raises TypeError if `updates` is not a list or tuple, and ValueError for a
    keyword argument that is not listed below.

    Args:
      inputs, outputs: tensors, or structures of tensors.
      updates: operations and (variable, new value) pairs. The updates run after the first output is
        computed.
      feed_dict: values of additional tensors, which are fed in every call.
      fetches: additional tensors to compute. After a call, the values of the fetches are passed to
        callbacks. The list `fetches` contains the tensors, and the dict `fetch_callbacks` contains
        the callback of each tensor.
      options, run_metadata: see `Session.run`.
    """

    def __init__(
        self,
        inputs: Any,
        outputs: Any,
        updates: Sequence[Any] | None = None,
        name: str | None = None,
        **session_kwargs: Any,
    ) -> None:
        if not isinstance(updates or [], (list, tuple)):
            raise TypeError("`updates` in a Keras backend function should be a list or tuple.")
        self.inputs = flatten(inputs)
        refuse_cleared([*self.inputs, *flatten(outputs)])
        self.outputs = [_as_tensor(output) for output in flatten(outputs)]
        self.name = name
        self.feed_dict: dict[Any, Any] | None = session_kwargs.pop("feed_dict", None)
        fetches = session_kwargs.pop("fetches", [])
        self.run_options = session_kwargs.pop("options", None)
        self.run_metadata = session_kwargs.pop("run_metadata", None)
        if session_kwargs:
            raise ValueError(
                "Some keys in session_kwargs are not supported at this time: "
                f"{list(session_kwargs)}"
            )
        with control_dependencies([_first_part(output) for output in self.outputs[:1]]):
            self.updates_op = group(*map(_update, updates or []))
        fetches = fetches if isinstance(fetches, list) else [fetches]
        self.fetches = [
            identity(fetch) for fetch in fetches
        ]  # the program may pass a variable to fetch
        self.fetch_callbacks: dict[Tensor, Callable[[Any], object]] = {}
        self._structure = outputs
        self._prepared: tuple[Any, ...] | None = None
        self._run: Callable[..., list[Any]] | None = None

    def __call__(self, inputs: Any) -> Any:
        """Return the values of the outputs for these input values, in the structure of `outputs`.

        Args:
          inputs: a list with a value for each input. A value is an array, or for a sparse input a
            SciPy matrix or a SparseTensorValue. A value can also be a tensor or variable of the
            graph, whose value is then used, or None if the outputs do not depend on the input.
        """
        fed: dict[Tensor, Any] = {}
        connected: dict[Tensor, Any] = {}
        for tensor, value in self._pairs(self._values(inputs)):
            if value is None:
                continue
            if isinstance(value, (Tensor, Variable)):
                connected[tensor] = value
            else:
                fed[tensor] = value
        fed.update(self.feed_dict or {})
        session = get_session(self.inputs)
        wanted = (session, tuple(fed), tuple(connected.items()))
        if self._run is None or self._prepared != wanted:
            self._run, self._prepared = self._new_callable(session, fed, connected), wanted
        values = [_array(tensor, value) for tensor, value in fed.items()]
        metadata = {"run_metadata": self.run_metadata} if self.run_metadata else {}
        results = self._run(*values, **metadata)
        for fetch, value in zip(self.fetches, results[len(results) - len(self.fetches) :]):
            self.fetch_callbacks.get(fetch, _ignore)(value)
        return self._answer(results)

    def _values(self, inputs: Any) -> list[Any]:
        """Return a list with one value for each input. If `inputs` is not a list of the right
        length, flatten it.
        """
        if isinstance(inputs, SparseTensorValue):
            return [inputs]
        if isinstance(inputs, (list, tuple)) and len(inputs) == len(self.inputs):
            return list(inputs)
        return flatten(inputs)

    def _pairs(self, values: Sequence[Any]) -> list[tuple[Tensor, Any]]:
        """Return (tensor, value) pairs to feed. For a sparse input, the pairs feed its indices,
        values and dense shape.
        """
        pairs: list[tuple[Tensor, Any]] = []
        for tensor, value in zip(self.inputs, values):
            if isinstance(tensor, SparseTensor) and value is not None:
                parts = sparse_parts(value) if hasattr(value, "tocoo") else value
                pairs += zip(tensor._parts(), parts)
            else:
                pairs.append((tensor, value))
        return pairs

    def _new_callable(
        self, session: Any, fed: dict[Tensor, Any], connected: dict[Tensor, Any]
    ) -> Callable[..., list[Any]]:
        graph: Graph = session.graph
        options = CallableOptions(feed=[tensor.name for tensor in fed])
        for tensor, source in connected.items():
            with graph.as_default():
                value = cast(source, tensor.dtype.base_dtype)
            element = graph.as_graph_element(value)
            options.tensor_connection.add(from_tensor=element.name, to_tensor=tensor.name)
        parts = [part for output in self.outputs for part in _parts_of(output)]
        options.fetch = [tensor.name for tensor in [*parts, *self.fetches]]
        options.target = [self.updates_op.name]
        if self.run_options:
            options.run_options.CopyFrom(self.run_options)
        run: Callable[..., list[Any]] = session._make_callable_from_options(options)
        return run

    def _answer(self, results: list[Any]) -> Any:
        values = iter(results)
        answers = iter(
            [
                SparseTensorValue(next(values), next(values), next(values))
                if isinstance(output, SparseTensor)
                else next(values)
                for output in self.outputs
            ]
        )
        return map_structure(lambda _: next(answers), self._structure)


def function(
    inputs: Any,
    outputs: Any,
    updates: Sequence[Any] | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> GraphExecutionFunction:
    """Return a GraphExecutionFunction, which computes the values of `outputs` from values of
    `inputs`.

    Raises ValueError for keyword arguments that `Session.run` does not have.

    Args:
      updates: operations, or (variable, new value) pairs, that also run in each call.
    """
    known = inspect.signature(Session.run).parameters
    for key in kwargs:
        if key not in known:
            raise ValueError(
                f'Invalid argument "{key}" passed to K.function with TensorFlow backend'
            )
    return GraphExecutionFunction(inputs, outputs, updates=updates, name=name, **kwargs)


def _as_tensor(output: Any) -> Any:
    return identity(output) if isinstance(output, Variable) else output


def _parts_of(output: Any) -> list[Tensor]:
    return output._parts() if isinstance(output, SparseTensor) else [output]


def _first_part(output: Any) -> Tensor:
    return _parts_of(output)[0]


def _update(update: Any) -> Any:
    """Return the operation of an update. A pair (variable, value) becomes an assignment."""
    return assign(*update) if isinstance(update, tuple) else update


def _array(tensor: Tensor, value: Any) -> Any:
    return np.asarray(value, dtype=tensor.dtype.base_dtype.as_numpy_dtype)


def _ignore(value: Any) -> None:
    pass
