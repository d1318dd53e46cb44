"""tf.test.StubOutForTesting."""

from __future__ import annotations

import math
import types

import pytest

import gpugraph as tf


class Base:
    def which(self):
        return "base"


class Derived(Base):
    @staticmethod
    def plain():
        return "plain"


def test_attributes_are_put_back():
    module = types.ModuleType("module")
    module.a = 1
    stubs = tf.test.StubOutForTesting()
    stubs.Set(module, "a", 2)
    stubs.Set(module, "a", 3)
    stubs.Set(math, "floor", "floor")
    assert (module.a, math.floor) == (3, "floor")
    stubs.UnsetAll()
    assert module.a == 1
    assert math.floor(1.5) == 1


def test_static_methods_stay_static():
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(Derived, "plain", lambda: "stub")
        assert Derived().plain() == "stub"
    assert Derived().plain() == "plain"


def test_inherited_attributes_are_replaced_where_they_are():
    derived = Derived()
    derived.own = 1
    with tf.test.StubOutForTesting() as stubs:
        stubs.SmartSet(derived, "which", lambda self: "stub")
        stubs.SmartSet(derived, "own", 2)
        assert (Base().which(), derived.own) == ("stub", 2)
        assert "which" not in vars(Derived)
    assert (Base().which(), derived.own) == ("base", 1)
    with pytest.raises(AttributeError, match="Attribute not found"):
        tf.test.StubOutForTesting().SmartSet(derived, "nothing", 1)
