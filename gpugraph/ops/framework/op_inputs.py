"""Conversion of a program's values to the tensors that an op's signature accepts.

The dtype of an input comes from the signature, an attr, or another tensor operand. A value that
cannot be converted to this dtype raises TypeError or ValueError with TensorFlow's message, to which
the operation and the user's line are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.value_text import shown
from gpugraph.graph.attr_values import check_allowed
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.creation_origin import here
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_def import ArgDef, OpDef
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor, convert_to_tensor

_MAX_SHOWN = 8


class OpInputs:
    """The base class of `OpFunction`. It converts the inputs of operations and adds the attrs that
    the inputs determine.

    Attributes:
      op_def: the op's signature.
    """

    op_def: OpDef

    def _inputs(
        self, graph: Graph, values: Sequence[Any], attrs: dict[str, Any], name: str
    ) -> list[Tensor]:
        try:
            return self._convert(values, attrs)
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):
                raise  # a subclass of the error already has a complete message
            full = name[:-1] if name[-1] == "/" else graph.unique_name(name, mark_as_used=False)
            raise type(error)(
                f"{str(error).rstrip('.')}. For '{full}' (op: '{self.op_def.name}')"
                f"{self._labels(values)}, made at {here(graph._origins)}"
            ) from error

    def _labels(self, values: Sequence[Any]) -> str:
        """Return a text that lists the tensors among `values` with their dtypes, for error
        messages.
        """
        tensors = [
            f"{arg.name} = {_label(item)} ({dtype.name})"
            for arg, value in zip(self.op_def.inputs, values)
            for item in (value if arg.is_list and isinstance(value, (list, tuple)) else (value,))
            if (dtype := _dtype_of(item)) is not None
        ]
        ellipsis = ", ..." if len(tensors) > _MAX_SHOWN else ""
        return f" of {', '.join(tensors[:_MAX_SHOWN])}{ellipsis}" if tensors else ""

    def _convert(self, values: Sequence[Any], attrs: dict[str, Any]) -> list[Tensor]:
        inputs: list[Tensor] = []
        for arg, value in zip(self.op_def.inputs, values):
            if arg.is_list:
                inputs += self._list_input(arg, value, attrs)
            else:
                inputs.append(
                    self._input(arg, value, self._expected_type(arg, attrs, values), attrs)
                )
        return inputs

    def _expected_type(
        self, arg: ArgDef, attrs: dict[str, Any], values: Sequence[Any]
    ) -> DType | None:
        """Return the dtype that an argument must have, or None if nothing determines it.

        The dtype is declared, or is the value of the argument's type attr, or is the dtype of a
        tensor among `values` with the same type attr.
        """
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
            if type(value) is Tensor and (wanted is None or value._dtype is wanted):
                tensor = value
            else:
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
        """Return the TypeError, with the argument's name, for a value that cannot have the dtype
        `wanted`.
        """
        text = str(error)
        start = f"Expected {wanted.name}, got " if wanted is not None else ""
        if wanted is None or type(error) is not TypeError or not text.startswith(start):
            return error
        return TypeError(
            f"Expected {wanted.name} passed to parameter '{arg.name}' of op "
            f"'{self.op_def.name}', got {text.removeprefix(start)} Error: {text}"
        )

    def _default_type(self, arg: ArgDef) -> DType | None:
        """Return the dtype to which values without a dtype are converted if possible. It is the
        default of the argument's type attr.

        Return None if there is no default.
        """
        attr = self.op_def.attrs.get(arg.type_attr)
        return attr.default if attr is not None and attr.has_default else None

    def _source_of_type(self, arg: ArgDef, wanted: DType) -> str:
        """Return a text, for messages, that explains why an argument must have the dtype `wanted`.

        The text names the first argument with the same type attr. If the argument itself is the
        first, the text names only the dtype.
        """
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
        min_length = self.op_def.attrs[arg.number_attr].minimum or 0
        if len(values) < min_length:
            raise ValueError(
                f"List argument '{arg.name}' to '{self.op_def.name}' Op with length {len(values)} "
                f"shorter than minimum length {min_length}."
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
        """Return the error for list elements that convert to different dtypes, or None if all
        convert to the same dtype.
        """
        types = [_own_type(value) for value in values]
        if len({*types}) < 2:
            return None
        return TypeError(
            f"Tensors in list passed to '{arg.name}' of '{self.op_def.name}' Op have types "
            f"[{', '.join(types)}] that don't all match."
        )


def _dtype_of(value: Any) -> DType | None:
    """Return the dtype of a tensor or variable, or None if the value is neither."""
    dtype = getattr(value, "dtype", None)
    return dtype.base_dtype if isinstance(dtype, DType) else None


def _own_type(value: Any) -> str:
    """Return the name of the dtype to which a value is converted by default, for messages."""
    try:
        return convert_to_tensor(value).dtype.base_dtype.name
    except (TypeError, ValueError):
        return "<NOT CONVERTIBLE TO TENSOR>"


def _label(value: Any) -> str:
    """Return the name of a tensor or variable, for messages."""
    name = getattr(value, "name", None)
    return f"'{name}'" if isinstance(name, str) else f"a {type(value).__name__}"
