"""ConcreteFunction: one trace of a function. It is called with tensors that match its signature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.building.control_flow.composite_flow import packed, parts_of
from gpugraph.building.function_calls.call_ops import partitioned_call_op
from gpugraph.building.function_calls.function_arguments import Arguments
from gpugraph.building.functions.function_tracing import trace
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class ConcreteFunction:
    """A traced function. Calling it with tensors adds a call of its graph to the default graph.

    Attributes:
      graph: the graph of the function.
      structured_outputs: the result that the Python function returned, with tensors of that graph.
    """

    def __init__(
        self, function: GraphFunction, arguments: Arguments, names: Sequence[str], outputs: Any
    ) -> None:
        self.definition_source = function
        self.graph = function.graph
        self.structured_outputs = outputs
        self._names = list(names)
        self._arguments = arguments

    @property
    def structured_input_signature(self) -> tuple[Any, Any]:
        """The (args, kwargs) of the trace, with a TensorSpec in place of each tensor."""
        rest = zip(self.graph.inputs, self._names)

        def spec_of(leaf: Any) -> Any:
            if isinstance(leaf, (Tensor, TensorSpec)):
                tensor, name = next(rest)
                return TensorSpec(tensor.shape, tensor.dtype, name)
            if len(parts_of(leaf)) > 1:
                for _ in parts_of(leaf):
                    next(rest)
                return getattr(leaf, "_type_spec", leaf)
            return leaf

        pair = (self._arguments.args, self._arguments.kwargs)
        args, kwargs = pack_sequence_as(pair, [spec_of(leaf) for leaf in flatten(pair)])
        return args, kwargs

    @property
    def name(self) -> str:
        """The name of the function in the library of its graph."""
        return self.definition_source.name

    @property
    def function_def(self) -> Any:
        """The FunctionDef message."""
        return self.definition_source.definition()

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors of the function's graph that represent its arguments and captured tensors."""
        return self.graph.arguments

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors of the function's graph that are its results."""
        return self.graph.outputs

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of outer graphs that the function uses."""
        return self.graph.captured

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that the function uses."""
        return tuple(self._captured_variables(GraphKeys.GLOBAL_VARIABLES))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable variables that the function uses."""
        return tuple(self._captured_variables(GraphKeys.TRAINABLE_VARIABLES))

    def _captured_variables(self, key: str) -> Iterator[Any]:
        captured = set(self.graph.captures)
        for variable in self.graph.get_collection(key):
            if getattr(variable, "handle", None) in captured:
                yield variable

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return map_structure(lambda x: getattr(x, "dtype", None), self.structured_outputs)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the results, in their structure."""
        return map_structure(lambda x: getattr(x, "shape", None), self.structured_outputs)

    def add_to_graph(self, g: Any = None) -> None:
        """Add the function to the library of a graph, by default the default graph."""
        self.definition_source.add_to(g or get_default_graph())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with a tensor for each of its tensor arguments, by position or by name.

        Raises TypeError if the number of arguments is wrong or a name is unknown. Raises ValueError
        if the shape of a tensor does not match the signature.
        """
        values = list(args)
        if len(values) > len(self._names):
            raise TypeError(
                f"Expected at most {len(self._names)} positional arguments (and the rest "
                f"keywords, of {self._names}), got {args}."
            )
        for name in self._names[len(values) :]:
            if name not in kwargs:
                missing = [n for n in self._names[len(values) :] if n not in kwargs]
                raise TypeError(
                    f"Expected argument names {self._names} but got values for "
                    f"{self._names[: len(values)] + list(kwargs)}. Missing: {missing}."
                )
            values.append(kwargs.pop(name))
        if kwargs:
            if known := [name for name in kwargs if name in self._names]:
                raise TypeError(f"Got two values for keyword '{known[0]}'.")
            raise TypeError(f"Keyword arguments {list(kwargs)} unknown. Expected {self._names}.")
        return self.call_flat(values)

    def call_flat(self, values: Sequence[Any]) -> Any:
        """Call the function with a value for each tensor argument."""
        tensors = []
        for value, tensor, name in zip(values, self.graph.inputs, self._names):
            converted = convert_to_tensor(value, tensor.dtype.base_dtype)
            if not tensor.shape.is_compatible_with(converted.shape):
                raise ValueError(
                    f"The argument '{name}' (value {value}) is not compatible with the shape this "
                    f"function was traced with. Expected shape {tensor.shape}, but got shape "
                    f"{converted.shape}.\n\nIf you called get_concrete_function, you may need to "
                    "pass a tf.TensorSpec(..., shape=...) with a less specific shape, having None "
                    "on axes which can vary."
                )
            tensors.append(converted)
        op = partitioned_call_op(self.definition_source, [*tensors, *self.graph.captured])
        return structured_results(self.structured_outputs, op)

    def __repr__(self) -> str:
        return f"<tensorflow.python.eager.function.ConcreteFunction object {self.name}>"


def structured_results(structure: Any, op: Operation) -> Any:
    """Return the outputs of a call in the structure of the function's results.

    If the function returned None, return the operation itself.
    """
    if structure is None:
        return op
    rest = iter(op._outputs)
    leaves = [
        None if leaf is None else packed([leaf], [next(rest) for _ in parts_of(leaf)])[0]
        for leaf in flatten(structure)
    ]
    return pack_sequence_as(structure, leaves)


def traced(
    python_function: Callable[..., Any],
    arguments: Arguments,
    specs: Sequence[TensorSpec | None],
    name: str,
    parameter_names: Sequence[str],
    kind: type[ConcreteFunction] = ConcreteFunction,
    orders_effects: bool = True,
) -> Any:
    """Trace a Python function with these arguments. The arguments that have a spec become tensors
    of the function's graph.

    Args:
      kind: the class of the result.
      orders_effects: see `trace`.
    """
    names = _argument_names(arguments, specs, parameter_names)
    kept: list[Any] = []

    def call(*tensors: Tensor) -> Any:
        rest = iter(tensors)
        leaves = [
            leaf if spec is None else next(rest) for leaf, spec in zip(arguments.flat(), specs)
        ]
        inner = arguments.packed(leaves)
        result = python_function(*inner.args, **inner.kwargs)
        kept.append(map_structure(lambda leaf: _as_result(leaf, name), result))
        return kept[0]

    def results(structure: Any) -> list[Tensor]:
        leaves = [leaf for leaf in flatten(structure) if leaf is not None]
        return [convert_to_tensor(part) for leaf in leaves for part in parts_of(leaf)]

    used = [spec for spec in specs if spec is not None]
    function = trace(call, used, name, results, argument_names=names, orders_effects=orders_effects)
    return kind(function, arguments, names, kept[0])


def _as_result(leaf: Any, name: str) -> Any:
    if leaf is None or len(parts_of(leaf)) > 1 or hasattr(leaf, "flow"):
        return leaf
    try:
        return convert_to_tensor(leaf)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "To be compatible with tf.contrib.eager.defun, Python functions must return zero or "
            f"more Tensors; in compilation of {name}, found return value of type {type(leaf)}, "
            "which is not a Tensor."
        ) from error


def _argument_names(
    arguments: Arguments, specs: Sequence[TensorSpec | None], parameter_names: Sequence[str]
) -> list[str]:
    """Return a unique name for each tensor argument: the name in its spec or, if the spec has none,
    the name of its parameter.
    """
    owners: list[str] = []
    for number, value in enumerate(arguments.args):
        known = number < len(parameter_names)
        owner = parameter_names[number] if known else f"args_{number}"
        owners += [owner] * len(flatten([value], expand_composites=True))
    for key in sorted(arguments.kwargs):
        owners += [key] * len(flatten([arguments.kwargs[key]], expand_composites=True))
    names: list[str] = []
    for owner, spec in zip(owners, specs):
        if spec is not None:
            base = spec.name or owner
            name, count = base, 0
            while name in names:
                count += 1
                name = f"{base}_{count}"
            names.append(name)
    return names
