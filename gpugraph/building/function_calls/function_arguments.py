"""The arguments of a traced function: their canonical form, their signature, and the key by which a
trace is found.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.nest import flatten, is_nested, pack_sequence_as
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

Key = tuple[Any, ...]


class Arguments(NamedTuple):
    """The arguments of one call: positional arguments, including defaults, and the remaining
    keyword arguments.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def flat(self) -> list[Any]:
        """Return the leaves of all arguments. Composite tensors are expanded to their
        components.
        """
        return flatten((self.args, self.kwargs), expand_composites=True)

    def packed(self, leaves: Iterable[Any]) -> Arguments:
        """Return arguments with the same structure but other leaves."""
        both = pack_sequence_as((self.args, self.kwargs), list(leaves), expand_composites=True)
        return Arguments(*both)


class FunctionSpec:
    """The parameters of a Python function, and its `input_signature`, which may be None."""

    def __init__(self, function: Callable[..., Any], input_signature: Any = None) -> None:
        self.signature = inspect.signature(function)
        kinds = [parameter.kind for parameter in self.signature.parameters.values()]
        if input_signature is not None:
            if inspect.Parameter.KEYWORD_ONLY in kinds:
                raise ValueError(
                    "Cannot define a TensorFlow function from a Python function with keyword "
                    "arguments when input_signature is provided."
                )
            if not isinstance(input_signature, (tuple, list)):
                raise TypeError(
                    "input_signature must be either a tuple or a list, received "
                    f"{type(input_signature)}"
                )
            input_signature = tuple(input_signature)
            for spec in flatten(input_signature, expand_composites=True):
                if not hasattr(spec, "dtype"):
                    raise TypeError(
                        "Invalid input_signature; input_signature must be a possibly nested "
                        f"sequence of TensorSpec objects: {spec!r}"
                    )
        self.input_signature: tuple[Any, ...] | None = input_signature

    @property
    def argument_names(self) -> list[str]:
        """The names of the positional parameters."""
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [p.name for p in self.signature.parameters.values() if p.kind in positional]

    def canonical(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Return the arguments of a call in canonical form, with arrays converted to tensors.

        With an `input_signature`, all arguments are converted to tensors. Raises TypeError if the
        arguments do not match the function's parameters, and ValueError if they do not match the
        `input_signature`.
        """
        if self.input_signature is not None:
            return self._by_signature(args, kwargs)
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = Arguments(bound.args, bound.kwargs)
        leaves = arguments.flat()
        if not any(isinstance(leaf, (np.ndarray, np.generic)) for leaf in leaves):
            return arguments
        return arguments.packed(
            convert_to_tensor(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf
            for leaf in leaves
        )

    def _by_signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        signature = self.input_signature
        assert signature is not None
        if len(args) > len(signature):
            raise TypeError(
                "When input_signature is provided, only pass arguments covered by it. Received "
                f"{len(args)} argument(s)."
            )
        names = self.argument_names
        values = list(args)
        for name in names[len(args) : len(signature)]:
            if name in kwargs:
                values.append(kwargs.pop(name))
        if kwargs:
            raise TypeError(
                "When input_signature is provided, only pass arguments covered by it. Received "
                f"argument {min(kwargs)}."
            )
        shown = f"  inputs: {tuple(values)}\n  input_signature: {signature}"
        try:
            leaves = _flat_up_to(list(signature), values)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "Structure of Python function inputs does not match input_signature:\n" + shown
            ) from error
        specs = flatten(list(signature))
        try:
            tensors = [convert_to_tensor(x, spec.dtype) for x, spec in zip(leaves, specs)]
        except (TypeError, ValueError) as error:
            is_tensor = any(isinstance(leaf, Tensor) for leaf in leaves)
            words = (
                "Python inputs incompatible with input_signature"
                if is_tensor
                else "When input_signature is provided, all inputs to the Python function must be "
                "convertible to tensors"
            )
            raise ValueError(f"{words}:\n{shown}") from error
        if not all(spec.shape.is_compatible_with(x.shape) for x, spec in zip(tensors, specs)):
            raise ValueError("Python inputs incompatible with input_signature:\n" + shown)
        return Arguments(tuple(pack_sequence_as(list(signature), tensors)), {})

    def specs(self, arguments: Arguments) -> list[TensorSpec | None]:
        """Return, for each leaf, its TensorSpec if it is a tensor, or else None."""
        if self.input_signature is not None:
            return [
                TensorSpec(spec.shape, spec.dtype, getattr(spec, "name", None))
                for spec in flatten(self.input_signature)
            ]
        return [_spec(leaf) for leaf in arguments.flat()]


def _flat_up_to(structure: Any, values: Any) -> list[Any]:
    """Return the values that correspond to the leaves of `structure`. A returned value may itself
    be nested.

    Raises TypeError or ValueError if the structures differ above the leaves of `structure`.
    """
    if not is_nested(structure):
        return [values]
    if isinstance(structure, dict):
        if not isinstance(values, dict) or set(values) != set(structure):
            raise ValueError("the keys differ")
        pairs = [(structure[key], values[key]) for key in sorted(structure)]
    else:
        if not isinstance(values, (list, tuple)) or len(values) != len(structure):
            raise ValueError("the lengths differ")
        pairs = list(zip(structure, values))
    return [leaf for inner, value in pairs for leaf in _flat_up_to(inner, value)]


def _spec(leaf: Any) -> TensorSpec | None:
    if isinstance(leaf, TensorSpec):
        return leaf
    if isinstance(leaf, Tensor):
        return TensorSpec(leaf.shape, leaf.dtype.base_dtype)
    return None


def key_of(arguments: Arguments, specs: Sequence[TensorSpec | None], with_shapes: bool) -> Key:
    """Return a hashable key of a call. The keys of two calls are equal if the calls can share a
    trace.

    Raises TypeError if an argument is neither a tensor nor hashable.
    """
    parts: list[Any] = [_outline(arguments.args), _outline(arguments.kwargs)]
    for leaf, spec in zip(arguments.flat(), specs):
        if spec is None:
            parts.append(_value_key(leaf))
        elif with_shapes:
            sizes = spec.shape.as_list() if spec.shape.rank is not None else None
            parts.append((spec.dtype, None if sizes is None else tuple(sizes)))
        else:
            parts.append((spec.dtype, spec.shape.rank))
    return tuple(parts)


def _value_key(leaf: Any) -> Any:
    try:
        hash(leaf)
    except TypeError as error:
        raise TypeError(
            f"Arguments supplied to `defun`-generated functions must be hashable. Tried to hash "
            f"{leaf!r}."
        ) from error
    return type(leaf), leaf


def _outline(structure: Any) -> Any:
    """Return a hashable value that describes the nesting of a structure."""
    if isinstance(structure, dict):
        return "dict", tuple((key, _outline(structure[key])) for key in sorted(structure))
    if isinstance(structure, (list, tuple)):
        return type(structure).__name__, tuple(_outline(item) for item in structure)
    return None if isinstance(structure, Tensor) else type(structure).__name__


def common_shape(one: TensorShape, two: TensorShape) -> TensorShape:
    """Return the most specific shape that is compatible with both shapes."""
    if one.rank is None or one.rank != two.rank:
        return TensorShape(None)
    return TensorShape([a if a == b else None for a, b in zip(one.as_list(), two.as_list())])
