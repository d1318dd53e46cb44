"""Internal functions of `tensorflow.python.keras`."""

from __future__ import annotations

import base64
import marshal
import re
from collections.abc import Callable, Sequence
from types import CellType, FunctionType
from typing import Any

from gpugraph.library.keras.losses.loss_class import ReductionV2, weighted_loss

# -- losses_utils


def compute_weighted_loss(
    losses: Any,
    sample_weight: Any = None,
    reduction: str = ReductionV2.SUM_OVER_BATCH_SIZE,
    name: str | None = None,
) -> Any:
    """Return the losses multiplied by the weights, and reduced to a scalar unless `reduction` is
    NONE.
    """
    return weighted_loss(losses, sample_weight, reduction)


def scale_loss_for_distribution(loss_value: Any) -> Any:
    """Return the loss unchanged, because there is only one replica."""
    return loss_value


# -- generic_utils


def func_dump(func: Callable[..., Any]) -> tuple[str, Any, Any]:
    """Return a tuple that describes a function. Its items are the code as text, the defaults and
    the values of the closure.
    """
    code = base64.b64encode(marshal.dumps(func.__code__)).decode("ascii")
    closure = tuple(cell.cell_contents for cell in func.__closure__ or ()) or None
    return code, func.__defaults__, closure


def func_load(code: Any, defaults: Any = None, closure: Any = None, globs: Any = None) -> Any:
    """Return the function from the result of `func_dump`."""
    if isinstance(code, (tuple, list)):
        code, defaults, closure = code
        defaults = tuple(defaults) if isinstance(defaults, list) else defaults
    cells = tuple(
        value if isinstance(value, CellType) else CellType(value) for value in closure or ()
    )
    loaded = marshal.loads(base64.b64decode(code))
    names = globals() if globs is None else globs
    return FunctionType(loaded, names, loaded.co_name, defaults, cells or None)


def object_list_uid(object_list: Any) -> str:
    """Return a string that is equal for lists of the same objects in the same order."""
    listed = object_list if isinstance(object_list, (list, tuple)) else [object_list]
    return ", ".join(str(abs(id(item))) for item in listed)


def to_snake_case(name: str) -> str:
    """Return a class name in snake case. A result that starts with an underscore is prefixed with
    "private".
    """
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name))
    snake = words.lower()
    return f"private{snake}" if snake.startswith("_") else snake


def is_all_none(structure: Any) -> bool:
    """Return whether all items of a list are None."""
    listed = structure if isinstance(structure, (list, tuple)) else [structure]
    return all(item is None for item in listed)


# -- training_utils


def standardize_sample_weights(sample_weight: Any, output_names: Sequence[str]) -> list[Any]:
    """Return a list of the weights in the order of the outputs. It contains None for outputs
    without weights.
    """
    if sample_weight is None:
        return [None] * len(output_names)
    if isinstance(sample_weight, dict):
        return [sample_weight.get(name) for name in output_names]
    listed = sample_weight if isinstance(sample_weight, (list, tuple)) else [sample_weight]
    if len(listed) != len(output_names):
        raise ValueError(
            f"There are {len(output_names)} outputs, but {len(listed)} arrays of sample weights"
        )
    return list(listed)


class ListWrapper:
    """A wrapper around a list. Functions on structures treat the wrapper as one value."""

    def __init__(self, list_to_wrap: Any) -> None:
        self._list = list_to_wrap

    def as_list(self) -> Any:
        """Return the list."""
        return self._list
