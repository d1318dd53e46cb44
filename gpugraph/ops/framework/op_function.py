"""OpFunction: the Python function of an op type, which adds its operations to graphs.

Arguments are the op's inputs in order, then its attrs; `name` is the operation's. Values that
are no tensors become constants under the operation's name (`add/y`). Where all inputs are tensors
of the right dtype, the common case, nothing but the operation is added.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Sequence
from inspect import Signature
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.value_text import shown
from gpugraph.graph.attr_values import check_allowed, read_attr
from gpugraph.graph.client.client_graph import Graph, output_types
from gpugraph.graph.client.creation_origin import here
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_scopes import as_name
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_def import ArgDef, OpDef
from gpugraph.ops.framework.op_signatures import (
    FunctionDoc,
    argument_names,
    attr_names,
    derived_attrs,
    signature_of,
)
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor, convert_to_tensor

_MOST_SHOWN = 8


class OpFunction:
    """Adds operations of one op type; returns the output, a tuple of outputs, or the operation."""

    def __init__(self, op_def: OpDef) -> None:
        self.op_def = op_def
        self.__name__ = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op_def.name).lower()
        self._arity = len(op_def.inputs)
        self._input_names = [arg.name for arg in op_def.inputs]
        self._derived = derived_attrs(op_def)
        self._attr_names = attr_names(op_def)
        self._names = {argument: name for name, argument in argument_names(op_def).items()}
        self._defaults = {
            key: attr.default
            for key, attr in op_def.attrs.items()
            if attr.has_default and key not in self._derived
        }
        self._plain = self._plain_type_attr()
        self._shared = self._shared_attrs()
        self._refs = [slot for slot, arg in enumerate(op_def.inputs) if arg.is_ref]
        self._several = len(op_def.outputs) > 1 and not any(arg.is_list for arg in op_def.outputs)
        self._result: Any = None  # the class of a named tuple, from the first use on

    def _plain_type_attr(self) -> str:
        """The type attr of all inputs and of the only output, if there are no others."""
        args = (*self.op_def.inputs, *self.op_def.outputs)
        keys = {arg.type_attr for arg in args}
        simple = (
            self.op_def.inputs
            and len(self.op_def.outputs) == 1
            and len(keys) == 1
            and not any(arg.is_list or arg.is_ref or arg.type is not None for arg in args)
        )
        return keys.pop() if simple else ""

    def _shared_attrs(self) -> dict[int, dict[str, Any]]:
        """The attrs of all plain ops of one dtype, by the dtype's id (dtypes live forever)."""
        if not self._plain:
            return {}
        allowed = self.op_def.attrs[self._plain].allowed
        return {id(dtype): {self._plain: dtype, **self._defaults} for dtype in allowed}

    @property
    def __signature__(self) -> Signature:
        """The inputs, the attrs and `name`, for `inspect.signature`."""
        return signature_of(self.op_def)

    def __repr__(self) -> str:
        return f"<op function {self.op_def.name}>"

    def __call__(self, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        if self._plain and len(args) == self._arity and not kwargs:
            output = self._fast(args, name)
            if output is not None:
                return output
        values, attrs = self._bind(args, kwargs)
        return self._general(values, attrs, name)

    def _fast(self, args: Sequence[Any], name: str | None) -> Tensor | None:
        """The op where its inputs are tensors of one accepted dtype, else None."""
        first = args[0]
        if type(first) is not Tensor:
            return None
        dtype = first._dtype
        attrs = self._shared.get(id(dtype))
        if attrs is None:
            return None
        for value in args:
            if type(value) is not Tensor or value._dtype is not dtype:
                return None
        graph: Graph = first.op.graph
        return graph._make(self.op_def, args, (dtype,), attrs, name)._outputs[0]

    def _bind(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        names = self._input_names + self._attr_names
        if len(args) > len(names):
            raise TypeError(f"{self.__name__}() takes {names}, but {len(args)} arguments came")
        arguments = dict(zip(names, args))
        for argument, value in kwargs.items():
            key = self._names.get(argument, argument)
            if key in arguments:
                raise TypeError(f"{self.__name__}() got '{key}' twice")
            if key not in names and key not in self.op_def.attrs:
                raise TypeError(f"{self.__name__}() has no argument '{key}'; it takes {names}")
            arguments[key] = value
        missing = [key for key in self._input_names if key not in arguments]
        if missing:
            raise TypeError(f"{self.__name__}() needs {missing}")
        values = [arguments.pop(key) for key in self._input_names]
        return values, self._attrs(arguments)

    def _attrs(self, arguments: dict[str, Any]) -> dict[str, Any]:
        op_def = self.op_def
        attrs = dict(self._defaults)
        for key, value in arguments.items():
            if value is not None or key not in attrs:  # None asks for the default
                attrs[key] = read_attr(op_def.attrs[key], value, op_def.name, self.__name__)
        for key in op_def.attrs:
            if key not in attrs and key not in self._derived:
                raise TypeError(f"{self.__name__}() needs the argument '{key}'")
        return attrs

    def _general(self, values: list[Any], attrs: dict[str, Any], name: str | None) -> Any:
        graph = _graph_of(values)
        label = name or self.op_def.name
        if type(label) is not str:
            label = as_name(label)
        if _all_tensors(values):
            inputs = self._inputs(graph, values, attrs, label)
            return self._add(graph, inputs, attrs, label)
        with graph.as_default(), graph.name_scope(label) as scope:
            inputs = self._inputs(graph, values, attrs, scope or label)
            return self._add(graph, inputs, attrs, scope or label)

    def _add(self, graph: Graph, inputs: list[Tensor], attrs: dict[str, Any], name: str) -> Any:
        dtypes = output_types(self.op_def, attrs)
        if not self._refs:
            return self._results(graph._make(self.op_def, inputs, dtypes, attrs, name))
        with graph.colocate_with(inputs[self._refs[0]].op):  # it runs where the variable is
            return self._results(graph._make(self.op_def, inputs, dtypes, attrs, name))

    def _results(self, operation: Operation) -> Any:
        outputs = operation.outputs
        if not self.op_def.outputs or (not outputs and self.op_def.outputs[0].type_list_attr):
            return operation
        if self._several:
            if self._result is None:
                names = [arg.name for arg in self.op_def.outputs]
                self._result = namedtuple(self.op_def.name, names)  # type: ignore[misc]
            return self._result(*outputs)
        args = self.op_def.outputs
        return outputs if len(args) > 1 or args[0].is_list else outputs[0]

    # -- inputs

    def _inputs(
        self, graph: Graph, values: list[Any], attrs: dict[str, Any], name: str
    ) -> list[Tensor]:
        try:
            return self._convert(values, attrs)
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):
                raise  # a subclass has a message of its own
            full = name[:-1] if name[-1] == "/" else graph.unique_name(name, mark_as_used=False)
            raise type(error)(
                f"{str(error).rstrip('.')}. For '{full}' (op: '{self.op_def.name}')"
                f"{self._labels(values)}, made at {here(graph._origins)}"
            ) from error

    def _labels(self, values: list[Any]) -> str:
        """The tensors among `values`, for messages."""
        tensors = [
            f"{arg.name} = {_label(item)} ({dtype.name})"
            for arg, value in zip(self.op_def.inputs, values)
            for item in (value if arg.is_list and isinstance(value, (list, tuple)) else (value,))
            if (dtype := _dtype_of(item)) is not None
        ]
        ellipsis = ", ..." if len(tensors) > _MOST_SHOWN else ""
        return f" of {', '.join(tensors[:_MOST_SHOWN])}{ellipsis}" if tensors else ""

    def _convert(self, values: list[Any], attrs: dict[str, Any]) -> list[Tensor]:
        inputs: list[Tensor] = []
        for arg, value in zip(self.op_def.inputs, values):
            if arg.is_list:
                inputs += self._list_input(arg, value, attrs)
            else:
                inputs.append(
                    self._input(arg, value, self._expected_type(arg, attrs, values), attrs)
                )
        return inputs

    def _expected_type(self, arg: ArgDef, attrs: dict[str, Any], values: list[Any]) -> DType | None:
        """The dtype of an argument: declared, its attr's, or a tensor's with the same attr."""
        if arg.type is not None:
            return arg.type
        known: DType | None = attrs.get(arg.type_attr)
        if known is not None:
            return known
        for other, value in zip(self.op_def.inputs, values):
            if other.type_attr == arg.type_attr:
                dtype = _dtype_of(value)
                if dtype is not None:
                    return dtype
        return None

    def _input(
        self, arg: ArgDef, value: Any, wanted: DType | None, attrs: dict[str, Any]
    ) -> Tensor:
        if arg.is_ref and hasattr(value, "handle"):
            raise self._no_reference(arg, getattr(value, "name", None) or shown(value))
        try:
            hint = None if wanted is not None else self._default_type(arg)
            tensor = convert_to_tensor(value, wanted, arg.name, hint, as_ref=arg.is_ref)
        except TypeError as error:
            raise self._of_parameter(error, arg, wanted) from error
        except ValueError as error:
            actual = _dtype_of(value)
            if wanted is None or actual is None:
                raise
            raise TypeError(
                f"Input '{arg.name}' of '{self.op_def.name}' Op has type {actual.name} that does "
                f"not match {self._source_of_type(arg, wanted)}."
            ) from error
        if arg.is_ref and not tensor.dtype.is_ref_dtype:
            raise self._no_reference(arg, tensor.name)
        if arg.type_attr:
            dtype = tensor.dtype.base_dtype
            check_allowed(self.op_def.attrs[arg.type_attr], dtype, arg.name, self.op_def.name)
            attrs.setdefault(arg.type_attr, dtype)
        return tensor

    def _of_parameter(self, error: TypeError, arg: ArgDef, wanted: DType | None) -> TypeError:
        """The error of a value that can't have the dtype of an argument, which it then names."""
        text = str(error)
        start = f"Expected {wanted.name}, got " if wanted is not None else ""
        if wanted is None or type(error) is not TypeError or not text.startswith(start):
            return error
        return TypeError(
            f"Expected {wanted.name} passed to parameter '{arg.name}' of op "
            f"'{self.op_def.name}', got {text.removeprefix(start)} Error: {text}"
        )

    def _default_type(self, arg: ArgDef) -> DType | None:
        """The dtype that plain values of an argument have where they can, if its attr has one."""
        attr = self.op_def.attrs.get(arg.type_attr)
        return attr.default if attr is not None and attr.has_default else None

    def _source_of_type(self, arg: ArgDef, wanted: DType) -> str:
        """What asks for the dtype of an argument: the first of its attr, or the declaration."""
        others = (other.name for other in self.op_def.inputs if other.type_attr == arg.type_attr)
        first = next(others, arg.name) if arg.type_attr else arg.name
        if first in (arg.name, arg.name.rpartition("_")[0]):
            return f"expected type of {wanted.name}"
        return f"type {wanted.name} of argument '{first}'"

    def _no_reference(self, arg: ArgDef, name: str) -> TypeError:
        return TypeError(
            f"'{self.op_def.name}' Op requires that input '{arg.name}' be a mutable tensor (a "
            f"tf.Variable that is no resource), but {name} is none"
        )

    def _list_input(self, arg: ArgDef, values: Any, attrs: dict[str, Any]) -> list[Tensor]:
        if not isinstance(values, (list, tuple)):
            raise TypeError(
                f"Expected list for '{arg.name}' argument to '{self.op_def.name}' Op, not "
                f"{shown(values)}."
            )
        if arg.type_list_attr:
            tensors = convert_n_to_tensor(values, name=arg.name)
            dtypes = [tensor.dtype.base_dtype for tensor in tensors]
            for dtype in dtypes:
                type_attr = self.op_def.attrs[arg.type_list_attr]
                check_allowed(type_attr, dtype, arg.name, self.op_def.name)
            attrs[arg.type_list_attr] = dtypes
            return tensors
        attrs[arg.number_attr] = len(values)
        least = self.op_def.attrs[arg.number_attr].minimum or 0
        if len(values) < least:
            raise ValueError(
                f"List argument '{arg.name}' to '{self.op_def.name}' Op with length {len(values)} "
                f"shorter than minimum length {least}."
            )
        wanted = attrs.get(arg.type_attr) if arg.type_attr else arg.type
        if wanted is None:
            known = [dtype for dtype in map(_dtype_of, values) if dtype is not None]
            wanted = next(iter(known), None)
        labelled = [
            ArgDef(f"{arg.name}_{index}", arg.type, arg.type_attr) for index in range(len(values))
        ]
        is_known = arg.type_attr in attrs
        try:
            return [
                self._input(label, value, wanted or attrs.get(arg.type_attr), attrs)
                for label, value in zip(labelled, values)
            ]
        except (TypeError, ValueError) as error:
            why = None if is_known else self._unlike(arg, values)
            if why is None:
                raise
            raise why from error

    def _unlike(self, arg: ArgDef, values: Sequence[Any]) -> TypeError | None:
        """The error of values of a list that are of different types by themselves, if they are."""
        types = [_own_type(value) for value in values]
        if len({*types}) < 2:
            return None
        return TypeError(
            f"Tensors in list passed to '{arg.name}' of '{self.op_def.name}' Op have types "
            f"[{', '.join(types)}] that don't all match."
        )


OpFunction.__doc__ = FunctionDoc(OpFunction.__doc__ or "")  # type: ignore[assignment]


def _dtype_of(value: Any) -> DType | None:
    """The dtype of a tensor or variable; None for plain values."""
    dtype = getattr(value, "dtype", None)
    return dtype.base_dtype if isinstance(dtype, DType) else None


def _own_type(value: Any) -> str:
    """The name of the dtype that a value has as a tensor where none is asked for."""
    try:
        return convert_to_tensor(value).dtype.base_dtype.name
    except (TypeError, ValueError):
        return "<NOT CONVERTIBLE TO TENSOR>"


def _label(value: Any) -> str:
    """The name of a value with a dtype, for messages."""
    name = getattr(value, "name", None)
    return f"'{name}'" if isinstance(name, str) else f"a {type(value).__name__}"


def _all_tensors(values: Sequence[Any]) -> bool:
    for value in values:
        if isinstance(value, (list, tuple)):
            if not value or not all(isinstance(item, Tensor) for item in value):
                return False
        elif not isinstance(value, Tensor):
            return False
    return True


def _graph_of(values: Sequence[Any]) -> Graph:
    """The graph of the first tensor or variable among `values`, else the default graph."""
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            graph = getattr(item, "graph", None)
            if isinstance(graph, Graph):
                return graph
    return get_default_graph()
