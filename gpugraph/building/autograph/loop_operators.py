"""Operators of converted functions that repeat a body: `while` and `for`.

A `for` loop over a tensor, and a `while` loop whose condition is a tensor, become a
`tf.while_loop`. All other loops run in Python, except `for` loops over objects of a class for which
`register_for_loop` has registered a function, such as datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.nest import flatten, map_structure
from gpugraph.building.autograph.branch_operators import GetState, SetState, scalar_condition
from gpugraph.building.autograph.builtin_operators import len_
from gpugraph.building.autograph.loop_variables import check_iteration, initial_values
from gpugraph.building.autograph.tensor_kinds import is_dense_tensor, is_range_tensor
from gpugraph.building.autograph.trial_calls import staged
from gpugraph.building.autograph.undefined_values import Undefined, is_missing
from gpugraph.building.control_flow.assertion import Assert
from gpugraph.building.control_flow.cond import cond as tf_cond
from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.default_graph_functions import control_dependencies, get_default_graph
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray

Body = Callable[..., Any]
Test = Callable[[], Any]
ForLoop = Callable[
    [Any, "Test | None", Body, GetState, SetState, Sequence[str], dict[str, Any]], None
]

_FOR_LOOPS: list[tuple[type, ForLoop]] = []


def register_for_loop(kind: type, loop: ForLoop) -> None:
    """Make `loop` run every `for` loop over an object of the class `kind`.

    Args:
      loop: a function with the parameters of `for_stmt`.
    """
    _FOR_LOOPS.append((kind, loop))


def while_stmt(
    test: Test,
    body: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Run a `while` statement.

    Args:
      get_state, set_state: functions that return and assign the variables that the loop assigns, in
        the order of `symbol_names`.
      opts: the options that the loop has set through `set_loop_options`.
    """
    with staged(get_default_graph()):
        is_true = test()
        is_staged = is_dense_tensor(is_true)
    if is_staged:
        staged_while(test, body, get_state, set_state, symbol_names, opts)
        return
    while is_true:
        body()
        is_true = test()


def staged_while(
    test: Test,
    body: Callable[[], Any],
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Build a `tf.while_loop` for a `while` statement. For the parameters, see `while_stmt`."""
    names = list(symbol_names)
    before = tuple(get_state())
    values, shapes = initial_values(body, get_state, set_state, names)
    for slot, invariant in _given_invariants(opts, before):
        shapes[slot] = invariant
    new = [name for name, value in zip(names, before) if is_missing(value)]

    def loop_test(_: Any, state: Any) -> Any:
        set_state(tuple(state))
        return scalar_condition(test(), "while loop")

    def loop_body(_: Any, state: Any) -> Any:
        set_state(tuple(state))
        body()
        after = tuple(get_state())
        check_iteration(tuple(state), after, names, shapes)
        return True, after

    if not values:
        raise ValueError("No loop variables provided")
    options = {key: opts[key] for key in _WHILE_OPTIONS if key in opts}
    if any(shape is not None for shape in shapes):
        options["shape_invariants"] = (convert_to_tensor(False).shape, _invariants(values, shapes))
    if new:
        has_run, final = while_loop(loop_test, loop_body, (False, values), **options)
        with control_dependencies([Assert(has_run, [_no_iteration(new)])]):
            final = map_structure(_identity, final)
    else:
        final = _without_flag(loop_test, loop_body, values, options)
    set_state(tuple(final))


_WHILE_OPTIONS = ("parallel_iterations", "back_prop", "swap_memory", "maximum_iterations")


def _without_flag(
    test: Callable[[Any, Any], Any],
    body: Callable[[Any, Any], Any],
    values: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    if "shape_invariants" in options:
        options["shape_invariants"] = options["shape_invariants"][1]
    return while_loop(
        lambda *state: test(None, state),
        lambda *state: body(None, state)[1],
        values,
        return_same_structure=True,
        **options,
    )


def _identity(value: Any) -> Any:
    return raw_ops.Identity(value) if is_dense_tensor(value) else value


def _no_iteration(names: Sequence[str]) -> str:
    shown = ", ".join("the function return value" if n == "retval_" else n for n in names)
    return f"loop must iterate at least once to initialize {shown}"


def _given_invariants(opts: dict[str, Any], values: Sequence[Any]) -> list[tuple[int, Any]]:
    """Return (index of the loop variable, shape) for each shape invariant that the loop has set
    through `set_loop_options`.
    """
    pairs = list(opts.get("shape_invariants", ()))
    return [
        (slot, shape)
        for tensor, shape in pairs
        for slot, value in enumerate(values)
        if value is tensor
    ]


def _invariants(values: tuple[Any, ...], shapes: Sequence[Any]) -> Any:
    """Return, for each leaf of the loop variables, the static shape that is valid in all
    iterations.
    """

    def own_shape(leaf: Any) -> Any:
        if isinstance(leaf, TensorArray):
            return leaf.flow.shape
        return convert_to_tensor(leaf).shape if not hasattr(leaf, "shape") else leaf.shape

    return tuple(
        map_structure(own_shape, value)
        if shape is None or any(leaf is None for leaf in flatten(shape))
        else shape
        for value, shape in zip(values, shapes)
    )


def for_stmt(
    iterated: Any,
    extra_test: Test | None,
    body: Body,
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Run a `for` statement.

    Args:
      extra_test: a function that returns False after a `break` or `return` in the body, or None.
    """
    arguments = (extra_test, body, get_state, set_state, tuple(symbol_names), opts)
    if is_tensor(iterated):
        (_for_range if is_range_tensor(iterated) else _for_rows)(iterated, *arguments)
        return
    for kind, loop in _FOR_LOOPS:
        if isinstance(iterated, kind):
            loop(iterated, *arguments)
            return
    if extra_test is not None and not extra_test():
        return
    for item in iterated:
        body(item)
        if extra_test is not None and not extra_test():
            break


def _for_rows(
    rows: Any,
    extra_test: Test | None,
    body: Body,
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Build a loop over the rows of a tensor."""
    rows = convert_to_tensor(rows)
    count = len_(rows)
    array = TensorArray(rows.dtype.base_dtype, size=count).unstack(rows)
    index: Any = 0

    def all_state() -> tuple[Any, ...]:
        return (index, *get_state())

    def set_all(state: Any) -> None:
        nonlocal index
        index, *rest = state
        set_state(tuple(rest))

    def step() -> None:
        nonlocal index
        body(array.read(index))
        index = index + 1

    def test() -> Any:
        return _and(raw_ops.Less(index, count), extra_test)

    names = ("<internal iterate>", *symbol_names)
    staged_while(test, step, all_state, set_all, names, opts)


def _for_range(
    numbers: Any,
    extra_test: Test | None,
    body: Body,
    get_state: GetState,
    set_state: SetState,
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Build a loop over the numbers of a tf.range, without creating the tensor of all these
    numbers.
    """
    start, limit, delta = numbers.op._inputs
    number: Any = start
    target = opts.get("iterate_names")

    def all_state() -> tuple[Any, ...]:
        state = [
            number if name == target and isinstance(value, Undefined) else value
            for name, value in zip(symbol_names, get_state())
        ]
        return (number, *state)

    def set_all(state: Any) -> None:
        nonlocal number
        number, *rest = state
        set_state(tuple(rest))

    def step() -> None:
        nonlocal number
        body(number)
        number = raw_ops.AddV2(number, delta)

    def test() -> Any:
        return _and(_in_range(number, limit, delta), extra_test)

    names = ("<internal iterate>", *symbol_names)
    staged_while(test, step, all_state, set_all, names, opts)


def _in_range(number: Any, limit: Any, delta: Any) -> Any:
    known = constant_value(delta)
    if known is not None:
        return raw_ops.Less(number, limit) if known >= 0 else raw_ops.Greater(number, limit)
    upwards = raw_ops.GreaterEqual(delta, raw_ops.ZerosLike(delta))
    return raw_ops.Select(upwards, raw_ops.Less(number, limit), raw_ops.Greater(number, limit))


def _and(condition: Any, extra_test: Test | None) -> Any:
    if extra_test is None:
        return condition
    return tf_cond(condition, extra_test, lambda: False)
