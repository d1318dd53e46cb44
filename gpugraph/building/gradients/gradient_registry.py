"""The gradient function of an op. The op type declares it, or the program registers it.

A program may register gradient functions under names of its choice, and apply them to ops that it
creates inside a `graph.gradient_override_map({"Relu": "GuidedRelu"})` block. The attr
`_gradient_op_type` of these ops contains the registered name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from gpugraph.graph.client.operation import Operation
from gpugraph.ops.framework.op_declaration import DECLARATIONS

GradientFunction = Callable[..., Any]
_Function = TypeVar("_Function", bound=GradientFunction)

_REGISTERED: dict[str, GradientFunction | None] = {}

CUSTOM = "_custom_gradient"
"""The name of the Python attribute of an Operation that holds its `tf.custom_gradient`."""


class RegisterGradient:
    """A decorator that registers the gradient function of ops of type `op_type`.

    The function receives the op and the gradient at each of its outputs, and returns the gradient
    at each of its inputs, or None for an input that has no gradient. The constructor raises
    KeyError if the type already has a gradient function.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"op_type must be a string, not {op_type!r}")
        self._op_type = op_type

    def __call__(self, f: _Function) -> _Function:
        _register(self._op_type, f)
        return f


def NotDifferentiable(op_type: str) -> None:
    """Declare that ops of this type have no gradient, so that backpropagation ends at them.

    Raises KeyError if the type already has a gradient function or was declared before.
    """
    if not isinstance(op_type, str):
        raise TypeError(f"op_type must be a string, not {op_type!r}")
    _register(op_type, None)


def _register(op_type: str, function: GradientFunction | None) -> None:
    if op_type in _REGISTERED or op_type in DECLARATIONS:
        raise KeyError(f"Registering two gradient with name '{op_type}'!")
    _REGISTERED[op_type] = function


def gradient_of_type(op_type: str) -> GradientFunction | None:
    """Return the gradient function of an op type, or None if there is none."""
    decl = DECLARATIONS.get(op_type)
    if decl is not None:
        return decl.grad if callable(decl.grad) else None
    return _REGISTERED.get(op_type)


def gradient_function(op: Operation) -> GradientFunction | None:
    """Return the gradient function of `op`, or None if `op` is declared to have no gradient.

    Raises LookupError if neither the op type nor the program declares a gradient or its absence.
    """
    name = op._attrs.get("_gradient_op_type")
    if name is not None:
        custom: GradientFunction | None = getattr(op, CUSTOM, None)
        if custom is not None:
            return custom
        name = name if isinstance(name, str) else name.decode()
        if name in _REGISTERED:
            return _REGISTERED[name]
    decl = DECLARATIONS.get(name or op.type)
    if decl is not None:
        return decl.grad if callable(decl.grad) else None
    if op.type in _REGISTERED and name is None:
        return _REGISTERED[op.type]
    raise LookupError(
        f"No gradient defined for operation '{op.name}' (op type: {name or op.type}), made at "
        f"{op.origin}"
    )
