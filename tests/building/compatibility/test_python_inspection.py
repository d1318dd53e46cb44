"""Inspection of Python functions."""

from __future__ import annotations

import functools

import pytest

from gpugraph.building.compatibility import python_inspection as inspection


def f(a, b=1, *c, **d):
    return a


class Model:
    def __init__(self, size, rate=0.1):
        self.size, self.rate = size, rate

    def __call__(self, x):
        return x


def test_getargspec_gives_four_parts() -> None:
    args, varargs, keywords, defaults = inspection.getargspec(f)
    assert (args, varargs, keywords, defaults) == (["a", "b"], "c", "d", (1,))
    assert inspection.getargspec(Model).args == ["self", "size", "rate"]
    assert inspection.getargspec(functools.partial(f, 1)).args == ["a", "b"]
    with pytest.raises(ValueError, match="keyword-only"):
        inspection.getargspec(lambda *, x: x)
    assert inspection.getfullargspec(f).varkw == "d"


def test_what_a_call_can_give() -> None:
    assert inspection.fn_args(f) == ("a", "b")
    assert inspection.fn_args(Model(3)) == ("x",)
    assert inspection.fn_args(functools.partial(Model, rate=3)) == ("size",)
    assert inspection.has_kwargs(f) and not inspection.has_kwargs(Model)
    with pytest.raises(TypeError, match="fn should be a function-like object"):
        inspection.has_kwargs(3)


def test_names_and_code() -> None:
    assert inspection.get_func_name(functools.partial(f)) == "f"
    assert "Model" in inspection.get_func_name(Model(1))
    assert inspection.get_func_code(f) is f.__code__ and inspection.get_func_code(3) is None
