"""Copies of an open plan that are bound to one set of sizes, and functions of a plan without
reports.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gpugraph.base.errors import InternalError
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.steps.tensor_moves import target_of
from gpugraph.compile.unit.compile_unit import TensorId
from gpugraph.devices.native import NotNativeError, move
from gpugraph.plan import Run


def bound_copy(keys: tuple[TensorId, TensorId], binder: Binder) -> Run | None:
    """Return the callable of a tensor's copy for one set of sizes."""
    homes = binder.unit.homes
    if not all(key in homes for key in keys):
        return None
    try:
        source, target = [homes[key] for key in keys]
        return move(binder.array(source), binder.array(target_of(source, target)))
    except NotNativeError:
        return None


def bound_index(key: TensorId, number: Any, binder: Binder) -> Run:
    """Return the callable that writes the index of a Merge's input, for one set of sizes."""
    return move(number, binder.array(binder.unit.homes[key]))


def never_bound(binder: Binder) -> None:
    """Return None. The step is never bound to one set of sizes, because its words are valid for all
    sizes.
    """


def no_flush(stage: int) -> None:
    """Do nothing. This is used if no kernel reports a size."""


def no_restart(stage: int, names: Collection[str]) -> Exception:
    """Return InternalError: no kernel reports a size."""
    return InternalError.of_no_node("No kernel reports a size")
