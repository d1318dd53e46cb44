"""Formulas as Python functions: which arrays results go to, cases, equal operations."""

from __future__ import annotations

import numpy as np

from gpugraph.base import dtypes
from gpugraph.ops.training.numpy_programs import IF_POSITIVE, NumpyUpdate


def update_of(formula, is_array, attrs=None):
    return NumpyUpdate(formula, attrs or {}, is_array, dtypes.float32)


def test_results_go_where_nothing_is_needed_any_more():
    update = update_of(lambda _, var, rate, grad: [var - grad * rate], [True, False, True])
    assert update.source.splitlines()[-2:] == [
        "        multiply(a1, s0, t0)",
        "        subtract(a0, t0, a0)",
    ]
    assert update.num_temporaries == 1


def test_an_old_value_that_is_read_later_is_not_overwritten():
    def formula(_, var, slot, grad):
        new = slot + grad
        return [var * slot, new]

    update = update_of(formula, [True, True, True])
    var, slot, grad = (np.array([number], np.float32) for number in (2, 3, 5))
    update([], [[var, slot, grad, *(np.empty_like(var) for _ in range(update.num_temporaries))]])
    assert [var[0], slot[0], grad[0]] == [6, 8, 5]


def test_only_one_case_is_computed():
    def formula(_, var, limit, grad):
        return [(var * grad).apply(IF_POSITIVE, var + grad, limit)]

    update = update_of(formula, [True, False, True])
    for limit, expected in ((1, 6), (0, 5), (np.nan, 5)):
        var, grad = np.array([2], np.float32), np.array([3], np.float32)
        update([np.float32(limit)], [[var, grad]])
        assert var[0] == expected


def test_equal_operations_are_done_once():
    def formula(_, var, rate, grad):
        return [var * (1 - rate) + grad * (1 - rate)]

    assert update_of(formula, [True, False, True]).source.count("c0 - s0") == 1
