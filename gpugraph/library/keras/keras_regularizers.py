"""`tf.keras.regularizers`: functions that compute penalties of weights and outputs, with their
lookup by name.
"""

from __future__ import annotations

from typing import Any

from gpugraph.library.keras.backend.backend_config import cast_to_floatx
from gpugraph.library.keras.keras_objects import (
    deserialize_keras_object,
    object_of,
    serialize_keras_object,
)
from gpugraph.ops.elementwise.unary_functions import abs as absolute, square
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class Regularizer:
    """Base class of regularizers. `regularizer(x)` returns a scalar penalty of `x`. The base class
    returns 0.
    """

    def __call__(self, x: Any) -> Any:
        del x
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a regularizer from a configuration that `get_config` returned."""
        return cls(**config)


class L1L2(Regularizer):
    """The penalty l1 * sum(|x|) + l2 * sum(x ** 2). `l1` and `l2` are rounded to the dtype
    `floatx()`.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(cast_to_floatx(l1)), float(cast_to_floatx(l2))

    def __call__(self, x: Any) -> Any:
        if not self.l1 and not self.l2:
            return constant(0.0)
        penalties = []
        if self.l1:
            penalties.append(reduce_sum(self.l1 * absolute(x)))
        if self.l2:
            penalties.append(reduce_sum(self.l2 * square(x)))
        return sum(penalties[1:], penalties[0])

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"l1": self.l1, "l2": self.l2}


def l1(l: float = 0.01) -> L1L2:  # noqa: E741
    """Return the regularizer l * sum(|x|)."""
    return L1L2(l1=l)


def l2(l: float = 0.01) -> L1L2:  # noqa: E741
    """Return the regularizer l * sum(x ** 2)."""
    return L1L2(l2=l)


def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """Return the regularizer l1 * sum(|x|) + l2 * sum(x ** 2)."""
    return L1L2(l1=l1, l2=l2)


_REGULARIZERS = {"L1L2": L1L2, "l1": l1, "l2": l2, "l1_l2": l1_l2}


def serialize(regularizer: Any) -> Any:
    """Return the name of a function, or the class name and configuration of a regularizer."""
    return serialize_keras_object(regularizer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the regularizer that a name or a configuration describes.

    Raises ValueError for an unknown name.
    """
    regularizer = deserialize_keras_object(config, _REGULARIZERS, custom_objects, "regularizer")
    is_maker = any(regularizer is maker for maker in (l1, l2, l1_l2))
    return regularizer() if is_maker else regularizer


def get(identifier: Any) -> Any:
    """Return the regularizer that a name or a configuration describes. None and callables are
    returned unchanged.

    Raises ValueError for anything else.
    """
    return None if identifier is None else object_of(identifier, deserialize, "regularizer")
