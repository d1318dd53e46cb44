"""OpFunction, the Python function of an op type. A call adds an operation to the graph.

Its arguments are the op's inputs in order, then its attrs, and the operation's `name`. Values that
are not tensors become constants in the operation's name scope (`add/y`). In the common case, in
which all inputs are tensors of the right dtype, only the operation itself is added.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Sequence
from inspect import Signature
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.graph.attr_values import read_attr
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.default_stacks import TRACED, traced_graph
from gpugraph.graph.client.graph_scopes import as_name
from gpugraph.graph.client.op_inference import output_types
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_def import OpDef
from gpugraph.ops.framework.op_inputs import OpInputs
from gpugraph.ops.framework.op_signatures import (
    FunctionDoc,
    argument_names,
    attr_names,
    derived_attrs,
    signature_of,
)
from gpugraph.ops.framework.tensor_conversion import NUMBERS, constant_of, number_array


class _Typed(NamedTuple):
    """Properties of an operation that depend only on the types of its inputs.

    Args:
      follows: the attrs that the inputs determine.
      complete: all attrs of an operation for which the caller passes none. Such operations share
        this dict.
      dtypes: the dtypes of the outputs, or None if they depend on attrs that the caller passes.
      numbers: for each input that is a Python number, its slot and the dtype of its constant.
    """

    follows: dict[str, Any]
    complete: dict[str, Any]
    dtypes: list[DType] | None
    numbers: list[tuple[int, DType]]


class OpFunction(OpInputs):
    """A callable that adds operations of one op type to graphs.

    A call returns the output, or a named tuple or a list of several outputs. If the op has no
    outputs, the call returns the operation.
    """

    def __init__(self, op_def: OpDef) -> None:
        self.op_def = op_def
        self.__name__ = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op_def.name).lower()
        self._arity = len(op_def.inputs)
        self._input_names = [arg.name for arg in op_def.inputs]
        self._derived = derived_attrs(op_def)
        self._attr_names = attr_names(op_def)
        self._names = {argument: name for name, argument in argument_names(op_def).items()}
        free = [attr for key, attr in op_def.attrs.items() if key not in self._derived]
        self._defaults = {attr.name: attr.default for attr in free if attr.has_default}
        self._required = [attr.name for attr in free if not attr.has_default]
        self._own_attrs = frozenset(op_def.attrs).difference(self._input_names)
        self._refs = [slot for slot, arg in enumerate(op_def.inputs) if arg.is_ref]
        self._by_types: dict[tuple[int, ...], _Typed] | None = None if self._has_lists() else {}
        self._plain = self._plain_type_attr()
        self._shared = self._shared_attrs()
        self._is_single = len(op_def.outputs) == 1 and not op_def.outputs[0].is_list
        self._lists = any(arg.is_list for arg in op_def.outputs)
        self._result: Any = None  # the named tuple class of the outputs, created on first use

    def _plain_type_attr(self) -> str:
        """Return the type attr of a plain op, or the empty string.

        An op is plain if all inputs and its only output have the same type attr, and no attr is
        required.
        """
        args = (*self.op_def.inputs, *self.op_def.outputs)
        keys = {arg.type_attr for arg in args}
        simple = (
            self.op_def.inputs
            and not self._required
            and len(self.op_def.outputs) == 1
            and len(keys) == 1
            and not any(arg.is_list or arg.is_ref or arg.type is not None for arg in args)
        )
        return keys.pop() if simple else ""

    def _shared_attrs(self) -> dict[int, dict[str, Any]]:
        """Return a dict from the id of each dtype to the attrs of a plain op of this dtype. Dtypes
        are never freed, so the ids stay valid.
        """
        if not self._plain:
            return {}
        allowed = self.op_def.attrs[self._plain].allowed
        return {id(dtype): {self._plain: dtype, **self._defaults} for dtype in allowed}

    def _has_lists(self) -> bool:
        """Return whether more than the attrs and the dtypes of the inputs is needed to determine
        the properties of an operation.

        This is the case if some inputs are lists or references, or if there are no inputs.
        """
        args = (*self.op_def.inputs, *self.op_def.outputs)
        return not self.op_def.inputs or any(arg.is_list or arg.is_ref for arg in args)

    @property
    def __signature__(self) -> Signature:
        """The signature for `inspect.signature`: the inputs, the attrs and `name`."""
        return signature_of(self.op_def)

    def __repr__(self) -> str:
        return f"<op function {self.op_def.name}>"

    def __call__(self, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        if kwargs or self._required or len(args) != self._arity:
            values, attrs = self._bind(args, kwargs)
            return self._with_attrs(values, attrs, name)
        return self._of(args, name)

    def _of(self, values: Sequence[Any], name: str | None = None) -> Any:
        """Add an operation with default attrs. `values` has a value for each input in the
        signature.

        Plain ops on tensors have a fast path.
        """
        if self._shared:
            first = values[0]
            if type(first) is Tensor:
                dtype = first._dtype
                attrs = self._shared.get(id(dtype))
                if attrs is not None:
                    for value in values:
                        if type(value) is not Tensor or value._dtype is not dtype:
                            break
                    else:
                        graph: Graph = first.op.graph
                        if TRACED:
                            graph = traced_graph(graph)
                        op = graph._make(self.op_def, values, (dtype,), attrs, name)
                        return op._outputs[0]
        return self._with_attrs(values, self._attrs({}) if self._required else None, name)

    def _with_attrs(
        self, values: Sequence[Any], attrs: dict[str, Any] | None, name: str | None
    ) -> Any:
        """Add an operation with these attrs and the attrs that its inputs determine. If `attrs` is
        None, all other attrs have their defaults.

        The properties that follow from the types of tensors and numbers are cached. The key of the
        cache consists of the ids of these types. Dtypes and the types of numbers are never deleted,
        so an id is unique.
        """
        if self._by_types is None or not (attrs is None or self._derived.isdisjoint(attrs)):
            return self._results(self._general(values, attrs, name))
        key = tuple([id(v._dtype) if type(v) is Tensor else id(type(v)) for v in values])
        typed = self._by_types.get(key)
        if typed is None:
            op = self._general(values, attrs, name)
            self._keep_types(key, values, op)
        elif typed.numbers:
            numbers = [number_array(values[slot], dtype) for slot, dtype in typed.numbers]
            if any(number is None for number in numbers):
                op = self._general(values, attrs, name)
            else:
                op = self._with_constants(typed, values, numbers, attrs, name)
        else:
            graph = values[0].op.graph
            if TRACED:
                graph = traced_graph(graph)
            op = self._typed(typed, graph, values, attrs, name)
        return op._outputs[0] if self._is_single else self._results(op)

    def _keep_types(self, key: tuple[int, ...], values: Sequence[Any], op: Operation) -> None:
        """Cache the properties that follow from the types of `values`, if all values are tensors
        and numbers.

        Args:
          op: the operation that was created with these inputs.
        """
        numbers = [slot for slot, value in enumerate(values) if type(value) is not Tensor]
        if self._by_types is not None and all(type(values[slot]) in NUMBERS for slot in numbers):
            follows = {attr: op._attrs[attr] for attr in self._derived}
            fixed = all(arg.type or arg.type_attr in follows for arg in self.op_def.outputs)
            self._by_types[key] = _Typed(
                follows,
                {**self._defaults, **follows},
                [output._dtype for output in op._outputs] if fixed else None,
                [(slot, op._inputs[slot]._dtype) for slot in numbers],
            )

    def _typed(
        self,
        typed: _Typed,
        graph: Graph,
        inputs: Sequence[Tensor],
        attrs: dict[str, Any] | None,
        name: str | None,
    ) -> Operation:
        complete = typed.complete if attrs is None else {**attrs, **typed.follows}
        dtypes = typed.dtypes or output_types(self.op_def, complete)
        return graph._make(self.op_def, inputs, dtypes, complete, name)

    def _with_constants(
        self,
        typed: _Typed,
        values: Sequence[Any],
        numbers: list[Any],
        attrs: dict[str, Any] | None,
        name: str | None,
    ) -> Operation:
        """Add the operation. Its inputs that are numbers become constants in the operation's name
        scope.
        """
        graph = _graph_of(values)
        label = as_name(name or self.op_def.name)
        with graph._scope_of_op(label) as scope:
            inputs = list(values)
            for (slot, dtype), number in zip(typed.numbers, numbers):
                inputs[slot] = constant_of(number, self._input_names[slot], dtype=dtype)
            return self._typed(typed, graph, inputs, attrs, scope or label)

    def _bind(
        self, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        arguments = {self._names.get(argument, argument): kwargs[argument] for argument in kwargs}
        is_complete = len(args) == self._arity and len(arguments) == len(kwargs)
        if is_complete and self._own_attrs.issuperset(arguments):
            return args, self._attrs(arguments)  # the usual call: all inputs are positional
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
            attr = op_def.attrs[key]
            if type(value) is bool and attr.kind == "bool":
                attrs[key] = value
            elif value is not None or key not in attrs:  # None for an attr means its default
                attrs[key] = read_attr(attr, value, op_def.name, self.__name__)
        for key in self._required:
            if key not in attrs:
                raise TypeError(f"{self.__name__}() needs the argument '{key}'")
        return attrs

    def _general(
        self, values: Sequence[Any], attrs: dict[str, Any] | None, name: str | None
    ) -> Operation:
        if attrs is None:
            attrs = self._attrs({})
        graph = _graph_of(values)
        label = as_name(name or self.op_def.name)
        if _all_tensors(values):
            inputs = self._inputs(graph, values, attrs, label)
            return self._add(graph, inputs, attrs, label)
        with graph._scope_of_op(label) as scope:
            inputs = self._inputs(graph, values, attrs, scope or label)
            return self._add(graph, inputs, attrs, scope or label)

    def _add(
        self, graph: Graph, inputs: Sequence[Tensor], attrs: dict[str, Any], name: str
    ) -> Operation:
        dtypes = output_types(self.op_def, attrs)
        if not self._refs:
            return graph._make(self.op_def, inputs, dtypes, attrs, name)
        with graph.colocate_with(
            inputs[self._refs[0]].op
        ):  # the operation must run on the variable's device
            return graph._make(self.op_def, inputs, dtypes, attrs, name)

    def _results(self, operation: Operation) -> Any:
        outputs = operation.outputs
        if not self.op_def.outputs or (not outputs and self.op_def.outputs[0].type_list_attr):
            return operation
        args = self.op_def.outputs
        if len(args) > 1:
            if self._result is None:
                names = [arg.name for arg in args]
                self._result = namedtuple(self.op_def.name, names)  # type: ignore[misc]
            return self._result(*(self._by_argument(operation) if self._lists else outputs))
        return outputs if args[0].is_list else outputs[0]

    def _by_argument(self, operation: Operation) -> list[Any]:
        """Return the outputs in the order of the signature. Each of them is a tensor or a list of
        tensors.
        """
        outputs, start = operation.outputs, 0
        result: list[Any] = []
        for arg in self.op_def.outputs:
            if not arg.is_list:
                result.append(outputs[start])
                start += 1
                continue
            count = operation._attrs[arg.number_attr or arg.type_list_attr]
            end = start + (count if arg.number_attr else len(count))
            result.append(list(outputs[start:end]))
            start = end
        return result


OpFunction.__doc__ = FunctionDoc(OpFunction.__doc__ or "")  # type: ignore[assignment]


def _all_tensors(values: Sequence[Any]) -> bool:
    for value in values:
        if isinstance(value, (list, tuple)):
            if not value or not all(isinstance(item, Tensor) for item in value):
                return False
        elif not isinstance(value, Tensor):
            return False
    return True


def _graph_of(values: Sequence[Any]) -> Graph:
    """Return the graph of the first tensor or variable among `values`. If `values` contains no
    tensor or variable, return the default graph.
    """
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            graph = getattr(item, "graph", None)
            if isinstance(graph, Graph):
                return traced_graph(graph) if TRACED else graph
    return get_default_graph()
