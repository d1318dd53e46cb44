"""TensorFlow's deprecation decorators: their warnings, and the attributes that they preserve."""

from __future__ import annotations

import logging

import pytest

import gpugraph as tf
from gpugraph.building.compatibility import deprecation_decorators as deprecation


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(tf.logging, "warning", lambda text, *args: lines.append(text % args))
    return lines


def test_a_deprecated_function_warns_once(warnings: list[str]) -> None:
    @deprecation.deprecated("2018-01-01", "Use g.")
    def f(x: int) -> int:
        """Doubles."""
        return 2 * x

    assert (f(2), f(x=3), f.__name__, f.__doc__) == (4, 6, "f", "Doubles.")
    assert len(warnings) == 1
    assert "f is deprecated and will be removed after 2018-01-01. Use g." in warnings[0]
    assert logging.getLogger("tensorflow") is not None


def test_every_call_may_warn_and_none(warnings: list[str]) -> None:
    f = deprecation.deprecated(None, "Use g.", warn_once=False)(lambda: 1)
    f(), f()
    with deprecation.silence():
        f()
    assert len(warnings) == 2 and "in a future version" in warnings[0]


def test_arguments_and_their_values_warn(warnings: list[str]) -> None:
    @deprecation.deprecated_args(None, "Use y.", "x", ("z", None))
    def f(y: object = 0, x: object = None, z: object = None) -> object:
        return y

    @deprecation.deprecated_arg_values(None, "Give a name.", name=None)
    def g(name: object = "") -> object:
        return name

    f(1), f(1, z=None), g("a"), g()
    assert warnings == []
    f(1, 2), g(None)
    assert "f: the argument 'x' is deprecated" in warnings[0]
    assert "g: name=None is deprecated" in warnings[1]


def test_what_is_wrong_with_a_deprecation() -> None:
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        deprecation.deprecated("soon", "Use g.")
    with pytest.raises(ValueError, match="without conversion instructions"):
        deprecation.deprecated("2018-01-01", "")
    assert deprecation.deprecated_argument_lookup("new", None, "old", 3) == 3
    assert deprecation.deprecated_argument_lookup("new", 4, "old", None) == 4
    with pytest.raises(ValueError, match="Cannot specify both 'old' and 'new'"):
        deprecation.deprecated_argument_lookup("new", 4, "old", 3)


def test_aliases_of_functions_and_classes_warn(warnings: list[str]) -> None:
    class New:
        def __init__(self, x: int) -> None:
            self.x = x

    old = deprecation.deprecated_alias("tf.Old", "tf.New", New)
    assert (old(3).x, old.__name__, issubclass(old, New)) == (3, "Old", True)
    assert deprecation.deprecated_alias("tf.add", "tf.plus", sum)([1, 2]) == 3
    assert len(warnings) == 2 and "Use tf.New instead." in warnings[0]


def test_exports_change_nothing() -> None:
    def f() -> None:
        pass

    assert deprecation.unchanged("nn.f", v1=["f"])(f) is f
    assert deprecation.unchanged(f) is f
    assert deprecation.unchanged(warn_in_eager=True)(f) is f


def test_arguments_by_keyword_alone() -> None:
    f = deprecation.keyword_args_only(lambda x: x)
    assert f(x=3) == 3
    with pytest.raises(ValueError, match="Must use keyword args to call <lambda>"):
        f(3)


def test_decorators_are_made_and_taken_apart() -> None:
    def f() -> int:
        """Text."""
        return 1

    g = deprecation.make_decorator(f, lambda: 2)
    assert (g(), g.__name__, g.__doc__) == (2, "f", "Text.")
    assert deprecation.unwrap(g) == ([g], f)
    assert "test_exports_change_nothing" in deprecation.make_all(__name__)
