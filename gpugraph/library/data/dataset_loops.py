"""Loops `for element in dataset` in converted functions. A loop becomes a reduction of the dataset.

The loop's variables are the state of `Dataset.reduce`. If the loop has a `break`, a scan computes
the states, and the reduction returns the last state before the `break`. No further element is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.autograph.builtin_operators import register_builtin
from gpugraph.building.autograph.loop_operators import register_for_loop
from gpugraph.building.autograph.loop_variables import check_iteration, initial_values
from gpugraph.building.control_flow.cond import cond as tf_cond
from gpugraph.library.data.dataset_base import DatasetBase
from gpugraph.library.data.element_structure import flat_specs, from_tensor_list
from gpugraph.library.data.experimental_transformations import scan, take_while
from gpugraph.ops.arrays.constants_and_placeholders import placeholder
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

State = tuple[Any, ...]


def for_dataset(
    dataset: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], State],
    set_state: Callable[[Any], None],
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Build a loop over the elements of a dataset. For the parameters, see AutoGraph's
    `for_stmt`.
    """
    del opts
    names = list(symbol_names)

    def trial() -> None:
        specs = flat_specs(dataset.element_spec)
        tensors = [placeholder(spec.dtype, spec.shape) for spec in specs]
        body(from_tensor_list(dataset.element_spec, tensors))

    values, shapes = initial_values(trial, get_state, set_state, names)

    def step(state: Any, element: Any) -> Any:
        set_state(tuple(state[1:]))
        body(element)
        after = tuple(get_state())
        check_iteration(tuple(state[1:]), after, names, [True] * len(names))
        return (state[0], *after)

    del shapes
    start = (convert_to_tensor(True), *values)  # a reduction needs a state
    if extra_test is None:
        final = dataset.reduce(start, lambda state, *element: step(state, _element(element)))
    else:
        final = _with_break(dataset, start, step, extra_test, set_state)
    set_state(tuple(final[1:]))


def _element(parts: tuple[Any, ...]) -> Any:
    """Return the element whose components are the arguments `parts` of a traced function."""
    return parts[0] if len(parts) == 1 else parts


def _with_break(
    dataset: Any,
    start: State,
    step: Callable[[Any, Any], Any],
    extra_test: Callable[[], Any],
    set_state: Callable[[Any], None],
) -> Any:
    def scanned(state: Any, *parts: Any) -> Any:
        set_state(tuple(state[1:]))
        goes_on = extra_test()
        after = tf_cond(
            goes_on,
            lambda: step(state, _element(parts)),
            lambda: tuple(convert_to_tensor(value) for value in state),
            strict=True,
        )
        after = tuple(after)
        return after, (after, goes_on)

    states = dataset.apply(scan(start, scanned)).apply(take_while(lambda _, goes_on: goes_on))
    return states.reduce(start, lambda _, output: output[0])


register_for_loop(DatasetBase, for_dataset)
register_builtin("enumerate", DatasetBase, lambda dataset, start: dataset.enumerate(start))
register_builtin("zip", DatasetBase, lambda *datasets: type(datasets[0]).zip(datasets))
