"""Traces functions that map a state and an element to the next state, for reduce and scan.

The structure of the state must not change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.library.data import data_nest
from gpugraph.library.data.element_structure import legacy_classes, legacy_types
from gpugraph.library.data.structured_function import StructuredFunction

_TRIES = 10


def stateful_function(
    function: Callable[..., Any],
    state_spec: Any,
    element_spec: Any,
    method: str,
    picks: Callable[[Any], Any] = lambda spec: spec,
) -> tuple[StructuredFunction, Any]:
    """Return a traced function of (state, element), and the structure of specs of the state.

    The static shapes of the state are made less specific until the function preserves them.

    Raises TypeError if the function changes a dtype or a class of the state.

    Args:
      picks: a function that returns the state's part of the structure of the results.
    """
    for _ in range(_TRIES):
        traced = StructuredFunction(function, method, (state_spec, element_spec))
        result = picks(traced.spec)
        _check(result, state_spec)
        relaxed = data_nest.map_structure(
            lambda one, other: one.most_specific_compatible_type(other), state_spec, result
        )
        if relaxed == state_spec:
            return traced, state_spec
        state_spec = relaxed
    raise TypeError(f"The shapes of the state of {method} keep changing")


def _check(result: Any, state: Any) -> None:
    for what, of in (("classes", legacy_classes), ("types", legacy_types)):
        try:
            data_nest.assert_same_structure(result, state)
            is_same = of(result) == of(state)
        except (TypeError, ValueError):
            is_same = False
        if not is_same:
            raise TypeError(
                f"The element {what} for the new state must match the initial state. Expected "
                f"{of(state)}; got {of(result)}."
            )
