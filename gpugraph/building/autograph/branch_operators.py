"""Operators of converted functions that choose between branches: `if`, `and`, `or`, `assert`.

Each function receives the statements of the branches as functions. If the condition is a tensor,
both branches are called and become branches of a `tf.cond`. Otherwise the Python statement runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import bool as bool_type
from gpugraph.base.nest import assert_same_structure, map_structure
from gpugraph.building.autograph.tensor_kinds import is_dense_tensor
from gpugraph.building.autograph.undefined_values import Undefined, UndefinedReturnValue
from gpugraph.building.control_flow.assertion import Assert
from gpugraph.building.control_flow.cond import cond as tf_cond
from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

State = tuple[Any, ...]
GetState = Callable[[], State]
SetState = Callable[[Any], None]

_PLAIN = (bool, int, float, str)


def if_stmt(
    cond: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    nouts: int,
) -> None:
    """Run an `if` statement.

    Args:
      body, orelse: the statements of the two branches, as functions.
      get_state, set_state: functions that return and assign the variables that a branch assigns, in
        the order of `symbol_names`.
      nouts: the number of variables that are used after the statement. They come first in
        `symbol_names`.
    """
    if not is_dense_tensor(cond):
        body() if cond else orelse()
        return
    _staged_if(scalar_condition(cond, "if statement"), body, orelse, get_state, set_state)(
        list(symbol_names), nouts
    )


def _staged_if(
    cond: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
) -> Callable[[list[str], int], None]:
    """Return a function of (variable names, number of outputs) that builds the `tf.cond` of an `if`
    statement.
    """

    def build(names: list[str], count: int) -> None:
        before = get_state()
        results: dict[str, State] = {}

        def branch(run: Callable[[], Any], key: str) -> Callable[[], State]:
            def call() -> State:
                set_state(before)
                run()
                outputs = tuple(get_state()[:count])
                _check_defined(outputs, names, key)
                results[key] = outputs
                if len(results) == 2:
                    _check_alike(results["if"], results["else"], names)
                return outputs or (0,)  # tf.cond requires a result

            return call

        outputs = tf_cond(cond, branch(body, "if"), branch(orelse, "else"), strict=True)
        set_state(tuple(outputs[:count]) + tuple(before[count:]))

    return build


def scalar_condition(cond: Any, statement: str) -> Any:
    """Return a condition as a scalar tensor. Raises ValueError unless it is a single bool."""
    cond = convert_to_tensor(cond)
    if cond.dtype.base_dtype is not bool_type:
        raise ValueError(
            f"condition of {statement} expected to be `tf.bool` scalar, got {cond}; to use as "
            "boolean Tensor, use `tf.cast`; to check for None, use `is not None`"
        )
    if cond.shape.rank == 0:
        return cond
    if cond.shape.rank is not None and any((size or 1) > 1 for size in cond.shape.as_list()):
        raise ValueError(
            f"condition of {statement} expected to be `tf.bool` scalar, got {cond}; to check for "
            "None, use `is not None`"
        )
    return raw_ops.Reshape(cond, [])


def _check_defined(outputs: State, names: Sequence[str], branch: str) -> None:
    """Raise ValueError if the branch has not assigned every variable, or has assigned None."""
    if any(isinstance(value, UndefinedReturnValue) for value in outputs):
        raise ValueError(
            f"A value must also be returned from the {branch} branch. If a value is returned from "
            "one branch of a conditional a value must be returned from all branches."
        )
    undefined = tuple(value.symbol_name for value in outputs if isinstance(value, Undefined))
    if undefined:
        raise ValueError(
            f"The following symbols must also be initialized in the {branch} branch: {undefined}. "
            "Alternatively, you may initialize them before the if statement."
        )
    for name, value in zip(names, outputs):
        if value is None:
            word = "main" if branch == "if" else "else"
            raise ValueError(f"'{name}' is None at the end of the {word} branch.")


def _check_alike(outputs: State, others: State, names: Sequence[str]) -> None:
    """Raise TypeError if the structure or dtype of a variable differs between the branches."""
    for name, one, two in zip(names, outputs, others):
        try:
            assert_same_structure(one, two)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f'"{name}" does not have the same nested structure in the TRUE and FALSE branches.'
                f"\n\n{error}"
            ) from error

        def check(first: Any, second: Any, name: str = name) -> None:
            first, second = as_plain_tensor(first), as_plain_tensor(second)
            if not (is_dense_tensor(first) and is_dense_tensor(second)):
                return
            if first.dtype.base_dtype is not second.dtype.base_dtype:
                raise TypeError(
                    f'"{name}" has dtype {first.dtype.base_dtype.name} in the TRUE branch, but '
                    f"dtype={second.dtype.base_dtype.name} in the FALSE branch. TensorFlow control "
                    "flow requires that they are the same."
                )

        map_structure(check, one, two)


def as_plain_tensor(value: Any) -> Any:
    """Convert a Python number or string to a tensor. Return any other value unchanged."""
    return convert_to_tensor(value) if isinstance(value, _PLAIN) else value


def if_exp(
    cond: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], expr_repr: str
) -> Any:
    """Return the value of the expression `if_true() if cond else if_false()`."""
    if not is_dense_tensor(cond):
        return if_true() if cond else if_false()
    results: dict[bool, Any] = {}

    def branch(run: Callable[[], Any], key: bool) -> Callable[[], Any]:
        def call() -> Any:
            results[key] = run()
            if len(results) == 2:
                _check_alike((results[True],), (results[False],), (expr_repr,))
            return results[key]

        return call

    pred = scalar_condition(cond, "conditional expression")
    return tf_cond(pred, branch(if_true, True), branch(if_false, False))


def not_(value: Any) -> Any:
    """Return `not value`."""
    return raw_ops.LogicalNot(value) if is_tensor(value) else not value


def and_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """Return `first() and second()`. `second` is only evaluated if `first` is true."""
    value = first()
    if is_tensor(value):
        return tf_cond(convert_to_tensor(value), second, lambda: value)
    return value and second()


def or_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """Return `first() or second()`. `second` is only evaluated if `first` is false."""
    value = first()
    if is_tensor(value):
        return tf_cond(convert_to_tensor(value), lambda: value, second)
    return value or second()


def eq(one: Any, two: Any) -> Any:
    """Return `one == two`. If `one` or `two` is a tensor, compare elementwise."""
    if is_tensor(one) or is_tensor(two):
        return raw_ops.Equal(one, two)
    return one == two


def not_eq(one: Any, two: Any) -> Any:
    """Return `one != two`. If `one` or `two` is a tensor, compare elementwise."""
    return not_(eq(one, two))


def assert_stmt(expression: Any, message: Callable[[], Any]) -> Any:
    """Run an `assert` statement. If the expression is a tensor, return an operation that fails in a
    run if the tensor is false.
    """
    if is_tensor(expression):
        data = message()
        return Assert(expression, data if isinstance(data, list) else [data])
    assert expression, message()
    return None
