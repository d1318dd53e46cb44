"""Functions of a state and an element, whose state keeps its structure: reduce, scan."""

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
    """Return a traced function of (state, element), and the structure of the states.

    Static shapes of the state are relaxed until the function keeps them. picks: returns the
    structure of the state in that of the function's results. Raises TypeError if dtypes or classes
    of the state change.
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
