"""Errors of kernels, as the user's program gets them."""

from __future__ import annotations

import re

import pytest

import gpugraph as tf
from gpugraph.base.misfit import Misfit
from gpugraph.plan import FetchSlot, Step
from gpugraph.runtime.step_failure import as_op_error, same_kind

errors = tf.errors
STEP = Step("scope/y", "Add", "/device:GPU:0", 3, lambda: None, "model.py:12 (in build)")


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ZeroDivisionError("v"), errors.InvalidArgumentError),
        (FloatingPointError("v"), errors.InvalidArgumentError),
        (KeyError("v"), errors.InvalidArgumentError),
        (MemoryError("v"), errors.ResourceExhaustedError),
        (AssertionError("v"), errors.InternalError),
        (RuntimeError("v"), errors.UnknownError),
        (TypeError("v"), errors.UnknownError),
    ],
    ids=repr,
)
def test_python_s_errors_become_tensorflow_s(raised: Exception, kind: type[Exception]) -> None:
    error = as_op_error(raised, STEP)
    assert type(error) is kind
    assert error.message.startswith(f"{type(raised).__name__}: {raised}")


@pytest.mark.parametrize("python_error", [ValueError, IndexError])
def test_what_a_kernel_refuses_is_said_as_it_is(python_error: type[Exception]) -> None:
    error = as_op_error(python_error("index 7 is too large"), STEP)
    assert type(error) is errors.InvalidArgumentError
    assert error.message.startswith("index 7 is too large\n")


def test_a_misfit_has_its_own_words_in_a_run() -> None:
    error = as_op_error(Misfit("(2,)", "two", in_graph="[2]"), STEP)
    assert type(error) is errors.InvalidArgumentError
    assert error.message.startswith("two\n")
    assert as_op_error(Misfit("(2,)", in_graph="[2]"), STEP).message.startswith("[2]\n")
    error = as_op_error(Misfit("2", "not yet", None, errors.UnimplementedError), STEP)
    assert type(error) is errors.UnimplementedError
    assert error.message.startswith("not yet\n")


def test_an_op_error_keeps_its_class_and_words() -> None:
    error = as_op_error(errors.OutOfRangeError(None, None, "the end"), STEP)
    assert type(error) is errors.OutOfRangeError
    assert error.message.startswith("the end\n")


def test_the_message_names_node_line_and_device() -> None:
    error = as_op_error(ValueError("v"), STEP)
    node = re.search(r"\[\[node (.*)\]\]", error.message)
    assert node is not None
    assert node[1] == "scope/y (defined at model.py:12 (in build)), on /device:GPU:0"
    fetch = FetchSlot("y:0", lambda: None)
    assert "[[node y:0 (made by the runtime)]]" in as_op_error(ValueError("v"), fetch).message


def test_a_node_that_is_named_already_stays_the_one() -> None:
    inner = as_op_error(ValueError("v"), STEP)
    outer = Step("loop", "While", "/device:CPU:0", 1, lambda: None)
    assert as_op_error(inner, outer).message == inner.message


class Awkward(errors.NotFoundError):
    """A user's error class with another signature."""

    def __init__(self) -> None:
        super().__init__(None, None, "lost")


def test_a_class_of_the_user_s_own_becomes_the_one_of_its_code() -> None:
    error = same_kind(Awkward(), "node", "op", "message")
    assert type(error) is errors.NotFoundError
    assert (error.node_def, error.op, error.message) == ("node", "op", "message")


def test_an_unknown_code_is_kept() -> None:
    error = same_kind(errors.OpError(None, None, "odd", 77), None, None, "odd")
    assert type(error) is errors.UnknownError
    assert error.error_code == 77
    assert type(same_kind(errors.OpError(None, None, "m", 3), None, None, "m")) is (
        errors.InvalidArgumentError
    )
