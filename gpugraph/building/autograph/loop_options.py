"""`tf.autograph.experimental`: the features of conversions, and the options of loops."""

from __future__ import annotations

import enum
from typing import Any

from gpugraph.building.autograph.tensor_kinds import UNSPECIFIED


class Feature(enum.Enum):
    """Parts of a conversion that are performed on request.

    ALL: all of them. AUTO_CONTROL_DEPS: stateful ops run in the order of the program.
    ASSERT_STATEMENTS: `assert` on tensors becomes tf.Assert. BUILTIN_FUNCTIONS: accepted; `len`,
    `range`, `int` and so on are always converted. EQUALITY_OPERATORS: `==` and `!=` of tensors are
    elementwise. LISTS: lists that start empty become lists of tensors. NAME_SCOPES: the ops of a
    function are in a name scope of its name.
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
        """Return all features except `exclude`, one or several."""
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

    It must be the first statement in the loop's body, and has no effect on loops in Python.

    Args:
      shape_invariants: a list of pairs (the tensor that is the variable's value before the loop,
        its shape in all iterations).
    """


def loop_option_names() -> tuple[str, ...]:
    """Return the parameters of `set_loop_options`, in order."""
    return (
        "parallel_iterations",
        "back_prop",
        "swap_memory",
        "maximum_iterations",
        "shape_invariants",
    )
