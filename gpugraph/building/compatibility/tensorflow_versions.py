"""Support for programs that run on several versions of Python and TensorFlow.

It converts strings and bytes, and defines the switches for TensorFlow 2 behaviour (which is always
off), the date of forward compatibility, and `compat.v1`, which is this package.
"""

from __future__ import annotations

import datetime
import numbers
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from gpugraph.base.named_function import named
from gpugraph.building.variables import disable_resource_variables
from gpugraph.graph.client.tensor import Tensor

v1 = sys.modules[__name__.partition(".")[0]]
"""This package: `import gpugraph.compat.v1 as tf` and `from gpugraph.compat import v1 as tf`."""

sys.modules[f"{v1.__name__}.compat.v1"] = v1

# -- strings

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def _refusal(value: Any) -> TypeError:
    return TypeError(f"Expected binary or unicode string, got {value!r}")


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Return a string as bytes. Return bytes unchanged. Raises TypeError for anything else."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise _refusal(bytes_or_text)


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Return bytes as a string. Return a string unchanged. Raises TypeError for anything else."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise _refusal(bytes_or_text)


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Return any value as a string. Bytes are decoded, and all other values are converted by
    `str`.
    """
    return as_str(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path object as a string. Return any other value unchanged."""
    return as_str_any(os.fspath(path)) if isinstance(path, os.PathLike) else path


# -- dates

_horizon = [datetime.date(2019, 10, 16)]
"""The day before which features must have been introduced to be usable: TensorFlow 1.15's release.
"""


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether features that TensorFlow introduced on this day may be used. They may if the
    day is before the forward compatibility horizon.
    """
    return _horizon[0] > datetime.date(year, month, day)


@contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Replace the forward compatibility horizon inside the block. `forward_compatible` permits
    features that were introduced before this day.
    """
    before, _horizon[0] = _horizon[0], datetime.date(year, month, day)
    try:
        yield
    finally:
        _horizon[0] = before


# -- behaviours of TensorFlow 2


def _off(name: str, what: str) -> Callable[[], None]:
    @named(name, f"Do nothing: there is no such feature ({what}).")
    def disable() -> None:
        pass

    return disable


def _refuse(what: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"gpugraph has no {what}: {instead}")


disable_eager_execution = _off("disable_eager_execution", "eager execution")
disable_control_flow_v2 = _off(
    "disable_control_flow_v2", "TensorFlow 2's control flow, of functions,"
)
disable_tensor_equality = _off("disable_tensor_equality", "the comparison of tensors by `==`")
disable_v2_tensorshape = _off(
    "disable_v2_tensorshape", "TensorFlow 2's TensorShape, of plain numbers,"
)


def disable_v2_behavior() -> None:
    """Select TensorFlow 1's behaviour. The only effect is to call `disable_resource_variables`,
    since all other behaviour is TensorFlow 1's already.
    """
    disable_resource_variables()


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> NoReturn:
    """Raise NotImplementedError: operations are built into a graph, and run by a session."""
    del config, device_policy, execution_mode
    _refuse("eager execution", "build a graph and run it in a Session")


def enable_v2_behavior() -> NoReturn:
    """Raise NotImplementedError: gpugraph has only TensorFlow 1's behaviour."""
    _refuse("TensorFlow 2 behaviour", "use enable_resource_variables for those variables")


def enable_control_flow_v2() -> NoReturn:
    """Raise NotImplementedError: `cond` and `while_loop` create Switch, Merge, Enter and Exit
    ops.
    """
    _refuse("control flow of functions", "cond and while_loop make Switch, Merge, Enter and Exit")


def enable_tensor_equality() -> NoReturn:
    """Raise NotImplementedError: `==` compares the identity of two tensors."""
    _refuse("comparison of tensors by ==", "use tf.equal")


def enable_v2_tensorshape() -> NoReturn:
    """Raise NotImplementedError: the axes of a TensorShape are Dimension objects, not ints."""
    _refuse("TensorShape of plain numbers", "use Dimension.value or shape.as_list()")


def control_flow_v2_enabled() -> bool:
    """Return False: `cond` and `while_loop` create Switch, Merge, Enter and Exit ops."""
    return False


def executing_eagerly_outside_functions() -> bool:
    """Return False: there is no eager execution."""
    return False


# -- tensors


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return whether `tensor` is a Tensor of a graph. Return False for variables and
    SparseTensors.
    """
    return isinstance(tensor, Tensor)
