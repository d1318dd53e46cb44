"""`tf.function` and `tf.contrib.eager.defun`: Python functions that are traced once for each
signature.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from gpugraph.building.autograph.conversion_rules import as_artifact
from gpugraph.building.autograph.function_conversion import convert
from gpugraph.building.function_calls.concrete_function import ConcreteFunction, traced
from gpugraph.building.function_calls.function_arguments import (
    Arguments,
    FunctionSpec,
    Key,
    common_shape,
    key_of,
)
from gpugraph.building.function_calls.lifted_variables import creating_variables, refusing_variables
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor_spec import TensorSpec

_TRACES = "_traced_functions"


class Function:
    """A Python function that is traced once for each graph and each signature of its arguments.

    A call adds one op to the default graph, which calls the traced function.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Any = None,
        autograph: bool = True,
        experimental_autograph_options: Any = None,
        experimental_relax_shapes: bool = False,
        lifts_variables: bool = True,
    ) -> None:
        self._python_function = python_function
        self._function_spec = FunctionSpec(python_function, input_signature)
        self._name = name
        self._autograph = autograph
        self._options = experimental_autograph_options
        self._relaxes = experimental_relax_shapes
        self._lifts_variables = lifts_variables
        self._created: list[Any] = []
        self._was_traced = False
        self._bound: WeakKeyDictionary[Any, Function] = WeakKeyDictionary()
        functools.update_wrapper(self, python_function)

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._python_function

    @property
    def input_signature(self) -> Any:
        """The `input_signature` argument as a tuple of TensorSpecs, or None."""
        return self._function_spec.input_signature

    @property
    def function_spec(self) -> FunctionSpec:
        """The parameters of the function."""
        return self._function_spec

    def __get__(self, instance: Any, owner: Any) -> Any:
        """Return the function bound to an object, as a method. Each object has separate traces."""
        if instance is None:
            return self
        bound = self._bound.get(instance)
        if bound is None:
            bound = self._clone(self._python_function.__get__(instance, owner))
            self._bound[instance] = bound
        return bound

    def _clone(self, python_function: Callable[..., Any]) -> Function:
        return Function(
            python_function,
            self._name,
            self.input_signature,
            self._autograph,
            self._options,
            self._relaxes,
            self._lifts_variables,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function: trace it if necessary, and add a call to the default graph."""
        arguments = self._function_spec.canonical(args, dict(kwargs))
        concrete = self._traced(arguments)
        specs = self._function_spec.specs(arguments)
        values = [leaf for leaf, spec in zip(arguments.flat(), specs) if spec is not None]
        return concrete.call_flat(values)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the trace for these arguments, which are tensors, TensorSpecs and Python values.

        Without arguments, return the trace for the `input_signature`. Raises ValueError if the
        arguments do not match the signature.
        """
        signature = self.input_signature
        if signature is not None:
            if kwargs:
                raise ValueError(
                    "Cannot define a TensorFlow function from a Python function with keyword "
                    "arguments when input_signature is provided."
                )
            if args and len(args) != len(signature):
                raise ValueError(
                    "Structure of Python function inputs does not match input_signature."
                )
            return self._traced(Arguments(tuple(signature), {}))
        return self._traced(self._function_spec.canonical(args, dict(kwargs)))

    def _traced(self, arguments: Arguments) -> ConcreteFunction:
        graph = get_default_graph()
        traces: dict[Key, ConcreteFunction] = _traces_of(graph).setdefault(self, {})
        specs = self._function_spec.specs(arguments)
        key = self._key(arguments, specs, True)
        concrete = traces.get(key)
        if concrete is None and self._relaxes:
            concrete, specs = self._relaxed(traces, arguments, specs)
        if concrete is None:
            concrete = traces[key] = self._trace(arguments, specs)
        return concrete

    def _key(self, arguments: Arguments, specs: list[TensorSpec | None], with_shapes: bool) -> Key:
        device = get_default_graph()._scope.device
        return (*key_of(arguments, specs, with_shapes), device)

    def _relaxed(
        self,
        traces: dict[Key, ConcreteFunction],
        arguments: Arguments,
        specs: list[TensorSpec | None],
    ) -> tuple[ConcreteFunction | None, list[TensorSpec | None]]:
        """Return a trace with unknown sizes that accepts the arguments, and the specs of the
        arguments. If there is no such trace, return None and the specs with which to trace the
        function.

        If the sizes of an axis differ between the arguments and an earlier trace, the new specs
        leave this size unknown.
        """
        key = ("relaxed", *self._key(arguments, specs, False))
        known: Any = traces.get(key)
        if known is not None and all(
            spec is None or old.shape.is_compatible_with(spec.shape)
            for spec, old in zip(specs, known[1])
        ):
            return known[0], specs
        seen = ("seen", *key[1:])
        before: Any = known[1] if known is not None else traces.get(seen)
        if before is None:
            traces[seen] = specs  # type: ignore[assignment]
            return None, specs
        wider = [
            spec if spec is None else TensorSpec(common_shape(spec.shape, old.shape), spec.dtype)
            for spec, old in zip(specs, before)
        ]
        concrete = self._trace(arguments, wider)
        traces[key] = (concrete, wider)  # type: ignore[assignment]
        return concrete, wider

    def _trace(self, arguments: Arguments, specs: list[TensorSpec | None]) -> ConcreteFunction:
        function = self._python_function
        if self._autograph:
            function = convert(recursive=True, optional_features=self._options)(function)
        names = self._function_spec.argument_names
        if not self._lifts_variables:
            lifted = creating_variables(function, [])
            return traced(lifted, arguments, specs, self._name, names)
        refusing = refusing_variables(function)
        if self._was_traced:
            return traced(refusing, arguments, specs, self._name, names)
        creating = creating_variables(function, self._created)
        concrete = traced(creating, arguments, specs, self._name, names)
        self._was_traced = True
        if self._created:  # traced again, as later calls are: the variables exist now
            concrete = traced(refusing, arguments, specs, self._name, names)
        return concrete


def _traces_of(graph: Graph) -> WeakKeyDictionary[Function, dict[Key, ConcreteFunction]]:
    """Return the traces of each Function in a graph. The graph holds the traces."""
    traces = graph.__dict__.get(_TRACES)
    if traces is None:
        traces = graph.__dict__[_TRACES] = WeakKeyDictionary()
    return traces


as_artifact(Function)


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """Return `func` as a Function, which is traced once for each signature and called as one op.

    The function may create variables only in its first call. The function's ops with effects run in
    program order.

    Without `func`, return a decorator.

    Args:
      input_signature: a list of TensorSpecs. The function is traced only once, with these
        TensorSpecs.
      autograph: whether statements that depend on tensors are converted (`tf.autograph`).
      experimental_autograph_options: the optional features of that conversion.
      experimental_relax_shapes: whether sizes that vary between calls are unknown in a trace.
      experimental_compile: ignored, since all graphs are compiled.
    """
    del experimental_compile
    if input_signature is not None and not isinstance(input_signature, (tuple, list)):
        FunctionSpec(lambda: None, input_signature)

    def decorated(inner: Callable[..., Any]) -> Function:
        return Function(
            inner,
            getattr(inner, "__name__", "function"),
            input_signature,
            autograph,
            experimental_autograph_options,
            experimental_relax_shapes,
        )

    return decorated if func is None else decorated(func)


def defun(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Return `func` as a Function, as `tf.function` does. Unlike with `tf.function`, every trace
    may create variables.
    """

    def decorated(inner: Callable[..., Any]) -> Function:
        return Function(
            inner,
            getattr(inner, "__name__", "function"),
            input_signature,
            autograph,
            experimental_autograph_options,
            experimental_relax_shapes,
            lifts_variables=False,
        )

    return decorated if func is None else decorated(func)


def is_function(value: Any) -> bool:
    """Return whether `value` is a Function or a trace of one."""
    return isinstance(value, (Function, ConcreteFunction)) or inspect.isfunction(value)
