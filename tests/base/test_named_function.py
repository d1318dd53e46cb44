"""Functions made of others: their names, docstrings, parameters and defaults."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.base.named_function import add_parameters, named, with_parameters_of


def scale(x: int, factor: int = 2, name: str | None = None) -> tuple[Any, ...]:
    """x, factor and name."""
    return x, factor, name


def names_and_defaults(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def test_a_name_and_docstring_are_set() -> None:
    function = named("double", "Twice x.")(lambda x: 2 * x)
    assert (function.__name__, function.__doc__, function(3)) == ("double", "Twice x.", 6)


def test_a_function_takes_what_another_takes() -> None:
    @with_parameters_of(scale, factor=5)
    def halve(x: int, **arguments: Any) -> tuple[Any, ...]:
        """x / 2."""
        return scale(x // 2, **arguments)

    assert names_and_defaults(halve) == {"x": inspect.Parameter.empty, "factor": 5, "name": None}
    assert (halve.__name__, halve.__doc__) == ("halve", "x / 2.")
    assert halve(4) == (2, 5, None)
    assert halve(4, 7, name="n") == (2, 7, "n")
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        halve()
    with pytest.raises(TypeError, match="unexpected keyword argument 'shift'"):
        halve(4, shift=1)


def test_parameters_are_added_before_the_name() -> None:
    def call(arguments: dict[str, Any], shift: int) -> tuple[Any, ...]:
        return *scale(**arguments), shift

    function = add_parameters(scale, call, shift=0)
    assert list(names_and_defaults(function)) == ["x", "factor", "shift", "name"]
    assert (function.__name__, function.__doc__) == ("scale", "x, factor and name.")
    assert function(1) == (1, 2, None, 0)
    assert function(1, 3, 4, "n") == (1, 3, "n", 4)


def test_parameters_are_added_last_without_a_name() -> None:
    function = add_parameters(lambda x: x, lambda arguments, shift: (arguments, shift), shift=1)
    assert list(names_and_defaults(function)) == ["x", "shift"]
    assert function(5, 6) == ({"x": 5}, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.layers.dense(), r"^dense\(\) missing a required argument: 'inputs'"),
        (lambda: tf.metrics.mean(1, 2, 3, 4, 5, 6), r"^mean\(\) too many positional arguments"),
        (lambda: tf.losses.log_loss(1.0, 2.0, weight=1), r"^log_loss\(\) got an unexpected"),
        (lambda: tf.assert_equal(1), r"^assert_equal\(\) missing a required argument: 'y'"),
    ],
)
def test_a_wrong_call_names_the_function(call, message):
    with pytest.raises(TypeError, match=message):
        call()
