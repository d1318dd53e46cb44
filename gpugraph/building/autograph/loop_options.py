"""`tf.autograph.experimental`: the optional features of conversions, and the options of loops."""

from __future__ import annotations

import enum
from typing import Any

from gpugraph.building.autograph.tensor_kinds import UNSPECIFIED


class Feature(enum.Enum):
    """An optional feature of a conversion.

    Attributes:
      ALL: all features.
      AUTO_CONTROL_DEPS: stateful ops run in program order.
      ASSERT_STATEMENTS: an `assert` statement on tensors becomes a tf.Assert.
      BUILTIN_FUNCTIONS: has no effect. `len`, `range`, `int` and other builtin functions are always
        converted.
      EQUALITY_OPERATORS: `==` and `!=` of tensors compare elementwise.
      LISTS: lists that are created empty become tensor lists.
      NAME_SCOPES: the ops of a function are in a name scope named after it.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Return all features."""
        return tuple(cls.__members__.values())

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """Return all features except `exclude`, which is one feature or several."""
        if not isinstance(exclude, (list, tuple, set)):
            exclude = (exclude,)
        return tuple(set(cls.all()) - set(exclude) - {cls.ALL})


def set_loop_options(
    parallel_iterations: Any = UNSPECIFIED,
    back_prop: Any = UNSPECIFIED,
    swap_memory: Any = UNSPECIFIED,
    maximum_iterations: Any = UNSPECIFIED,
    shape_invariants: Any = UNSPECIFIED,
) -> None:
    """Set arguments of the `tf.while_loop` that the enclosing loop becomes.

    The call must be the first statement in the loop's body. It has no effect on a loop that runs in
    Python.

    Args:
      shape_invariants: a list of pairs. The first item of a pair is the tensor that is a variable's
        value before the loop. The second is the static shape of that variable in all iterations.
    """


def loop_option_names() -> tuple[str, ...]:
    """Return the names of the parameters of `set_loop_options`, in order."""
    return (
        "parallel_iterations",
        "back_prop",
        "swap_memory",
        "maximum_iterations",
        "shape_invariants",
    )
