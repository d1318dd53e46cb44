"""`Defun`: functions with declared argument types. The op type of a call is the function's name.

tensor2tensor and other programs use `tensorflow.python.framework.function.Defun` to define a
function with its own gradient.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.nest import flatten
from gpugraph.base.shapes import TensorShape
from gpugraph.building.function_calls.call_ops import named_call
from gpugraph.building.functions.function_tracing import trace
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.node_messages import is_stateful_in_tensorflow
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_SHORT = {
    "float16": "f16", "float32": "f32", "float64": "f64", "int32": "i32", "uint8": "i8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "int16": "i16", "int8": "i8",
    "string": "s", "complex64": "c64", "complex128": "c128", "int64": "i64", "bool": "b",
    "bfloat16": "b16", "resource": "r",
}  # fmt: skip
_CALL_OPTIONS = ("noinline", "compiled", "separate_compiled_gradients")


class Defun:
    """A decorator that defines a function whose arguments have the types `input_types`.

    If no types are declared but the function has parameters, the function is defined separately for
    each list of argument types with which it is called. Some options of TensorFlow, such as
    `capture_by_value`, are accepted but have no effect.

    Args:
      func_name: the function's name, which is the op type of its calls. By default the name is
        derived from the name of the Python function.
      grad_func: a function defined by Defun that computes the gradient. The gradient function
        receives the arguments and the gradients at the results.
      python_grad_func: a Python function that computes the gradient. The gradient function receives
        the op and the gradients at the results.
      shape_func: receives the op of a call and returns the static shapes of the results.
      out_names: the names of the results.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types = [as_dtype(dtype) for dtype in input_types]
        self._options = kwargs

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Return `func` as a defined function.

        Raises ValueError if `func` has default values or keyword arguments, or if the number of its
        arguments does not match the declared types.
        """
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        parameters = list(inspect.signature(func).parameters.values())
        named = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        defaults = tuple(p.default for p in named if p.default is not p.empty)
        keywords = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
        if keywords or defaults:
            raise ValueError(
                "function with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {defaults or None} and keywords {keywords}."
            )
        has_rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        names = [p.name for p in named]
        count = len(self._input_types)
        if count:
            if count < len(names) or (count > len(names) and not has_rest):
                raise ValueError(
                    "The function has fewer arguments than the number of specified input types."
                )
            return DefinedFunction(func, names, self._input_types, **self._options)
        if not names and not has_rest:
            return DefinedFunction(func, [], [], **self._options)
        return OverloadedFunction(func, names, **self._options)


class DefinedFunction:
    """A function with declared argument types, which is traced when it is first used."""

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        input_types: Sequence[DType],
        func_name: str | None = None,
        grad_func: Any = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[[Any], Any] | None = None,
        capture_by_value: bool = False,
        whitelisted_stateful_ops: Any = None,
        capture_resource_var_by_value: bool = True,
        **kwargs: Any,
    ) -> None:
        del capture_by_value, whitelisted_stateful_ops, capture_resource_var_by_value
        self._func = func
        self._func_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = out_names
        self._shape_func = shape_func
        self._kwargs = kwargs
        self._types = list(input_types)
        self._names = [
            argnames[slot] if slot < len(argnames) else f"arg{slot}"
            for slot in range(len(self._types))
        ]
        self._function: GraphFunction | None = None

    def traced(self) -> GraphFunction:
        """Return the traced function. If the function has not been traced yet, trace it first."""
        if self._function is None:
            specs = [TensorSpec(TensorShape(None), dtype) for dtype in self._types]
            base = str(self._func_name or getattr(self._func, "__name__", "function"))
            function = trace(self._func, specs, base, _results, argument_names=self._names)
            self._check_outputs(function)
            name = self._func_name or f"{base}_{_digest(function)}"
            self._function = GraphFunction(name, function.graph)
            if self._out_names:
                self._function.out_names = list(self._out_names)
        return self._function

    def _check_outputs(self, function: GraphFunction) -> None:
        count = len(function.graph.outputs)
        if self._out_names and len(self._out_names) != count:
            raise ValueError(
                f"output names must be either empty or equal in size to outputs. output names "
                f"size = {len(self._out_names)} outputs size = {count}"
            )

    @property
    def name(self) -> str:
        """The function's name, the op type of its calls."""
        return self.traced().name

    @property
    def definition(self) -> Any:
        """The FunctionDef message."""
        return self.traced().definition()

    @property
    def grad_func_name(self) -> str | None:
        """The name of the gradient function, or None."""
        return None if self._grad_func is None else str(self._grad_func.name)

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The Python function that computes the gradient, or None."""
        return self._python_grad_func

    @property
    def declared_input_types(self) -> list[DType]:
        """The types of the arguments."""
        return self._types

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of outer graphs that the function uses."""
        return self.traced().graph.captured

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """The names and op types of the function's stateful ops."""
        ops = self.traced().graph._ops
        return [(op.name, op.type) for op in ops if is_stateful_in_tensorflow(op._op_def)]

    def set_grad_func(self, grad_func: Any) -> None:
        """Set the gradient function, which is another DefinedFunction."""
        assert not self._grad_func
        assert isinstance(grad_func, DefinedFunction)
        self._grad_func = grad_func

    def add_to_graph(self, g: Any) -> None:
        """Add the function, and its gradient function, to the library of a graph."""
        self.traced().add_to(g)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(g)
            self.traced().gradient_name = self._grad_func.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call to the default graph. Return its result, or a tuple if there are several
        results, or the op if there are none.

        The keyword `name` is the name of the op. Raises ValueError if the number of arguments is
        wrong.
        """
        function = self.traced()
        if len(args) != len(self._types):
            raise ValueError(
                f"Expected number of arguments: {len(self._types)}, received: {len(args)}"
            )
        name = kwargs.pop("name", None)
        options = {**self._kwargs, **kwargs}
        attrs = {f"_{key}": bool(options[key]) for key in _CALL_OPTIONS if key in options}
        tensors = [convert_to_tensor(arg, dtype) for arg, dtype in zip(args, self._types)]
        self.add_to_graph(get_default_graph())
        op = named_call(
            function, [*tensors, *function.graph.captured], name, attrs, self._gradient()
        )
        if self._shape_func is not None:
            self._set_shapes(op)
        outputs = op._outputs
        return op if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _gradient(self) -> Callable[..., Any] | None:
        if self._python_grad_func is not None:
            return self._python_grad_func
        grad_func = self._grad_func
        if grad_func is None:
            return None

        def call(op: Any, *grads: Any) -> Any:
            count = len(grad_func.declared_input_types) - len(grads)
            results = grad_func(*op.inputs[:count], *grads)
            input_grads = list(results) if isinstance(results, (list, tuple)) else [results]
            return input_grads + [None] * (len(op.inputs) - len(input_grads))

        return call

    def _set_shapes(self, op: Any) -> None:
        assert self._shape_func is not None
        shapes = self._shape_func(op)
        if len(shapes) != len(op.outputs):
            raise ValueError(
                f"shape_func produced {len(shapes)} shapes for {len(op.outputs)} outputs"
            )
        for tensor, shape in zip(op.outputs, shapes):
            tensor.set_shape(shape)


class OverloadedFunction:
    """A function that is defined separately for each list of argument types that it is called
    with.
    """

    def __init__(
        self, func: Callable[..., Any], argnames: Sequence[str], func_name: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        self._func = func
        self._argnames = argnames
        self._func_name = func_name
        self._options = options
        self._overloads: dict[str, DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[Any]) -> DefinedFunction:
        """Return the function for these argument types."""
        types = [as_dtype(dtype) for dtype in input_types]
        key = "".join(_SHORT.get(dtype.name, dtype.name) for dtype in types)
        overload = self._overloads.get(key)
        if overload is None:
            name = None if self._func_name is None else f"{self._func_name}_{key}"
            overload = DefinedFunction(self._func, self._argnames, types, name, **self._options)
            self._overloads[key] = overload
        return overload

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call to the default graph. The types of the arguments determine which function is
        called.
        """
        tensors = [convert_to_tensor(arg) for arg in args]
        types = [tensor.dtype.base_dtype for tensor in tensors]
        return self.instantiate(types)(*tensors, **kwargs)


def _results(returned: Any) -> list[Tensor]:
    """Return the results of the Python function as tensors. Raises ValueError if the function
    returned several results and one of them is None.
    """
    if returned is None:
        return []
    values = flatten(returned) if isinstance(returned, (list, tuple)) else [returned]
    if any(value is None for value in values):
        raise ValueError("Function can not return None.")
    return [convert_to_tensor(value) for value in values]


def _digest(function: GraphFunction) -> str:
    """Return eleven characters that depend on the body of a function."""
    message = GraphFunction("f", function.graph).definition()
    text = message.SerializeToString(deterministic=True)
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()[:11]
