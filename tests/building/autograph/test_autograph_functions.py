# ruff: noqa: F821, F841, RUF021, SIM108 -- the statements to convert
"""tf.autograph: statements on tensors as graphs, in converted functions."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.autograph.function_conversion import convert

pytest.importorskip("malt")

ASSERTS = tf.autograph.experimental.Feature.ASSERT_STATEMENTS
BUILTINS = tf.autograph.experimental.Feature.BUILTIN_FUNCTIONS
EQUALITY = tf.autograph.experimental.Feature.EQUALITY_OPERATORS
LISTS = tf.autograph.experimental.Feature.LISTS
SCOPES = tf.autograph.experimental.Feature.NAME_SCOPES


def both_branches(x):
    if x > 0:
        y = x * x
    else:
        y = -x
    return y


def early_return(x):
    if x > 10:
        return x
    if x > 5:
        return x * 2
    return x * 3


def collatz(n):
    steps = 0
    while n > 1:
        if n % 2 > 0:
            n = 3 * n + 1
        else:
            n = n // 2
        steps += 1
    return steps


def odd_sum(limit, n):
    total = 0
    i = 0
    while True and i < n:
        i += 1
        if i % 2 < 1:
            continue
        total += i
        if total > limit:
            break
    return total


def over_range(n):
    total = 0.0
    for i in tf.range(1, n):
        total += tf.cast(i, tf.float32)
        if total > 20.0:
            break
    return total


def python_range(n):
    total = 0
    for i in range(n):
        total += i
    return total + len(range(3))


def last_row(rows):
    for row in rows:
        last = row
    return last


def logic(x):
    return not (x > 0 and x < 10 or x > 100)


def chained(x):
    return 1 if 0 < x < 10 else 2


def nested_loops(n):
    total = 0
    for i in tf.range(n):
        for j in tf.range(i):
            total += i * j
    return total


PROGRAMS = [
    (both_branches, {(3,): 9, (-4,): 4}),
    (early_return, {(11,): 11, (7,): 14, (2,): 6}),
    (collatz, {(27,): 111, (1,): 0}),
    (odd_sum, {(30, 100): 36, (10**6, 9): 25}),
    (over_range, {(4,): 6.0, (100,): 21.0}),
    (python_range, {(5,): 13, (0,): 3}),
    (logic, {(5,): False, (20,): True, (200,): False}),
    (chained, {(5,): 1, (50,): 2}),
    (nested_loops, {(5,): 35, (0,): 0}),
]


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [(f, *row) for f, rows in PROGRAMS for row in rows.items()],
)
def test_a_converted_function_computes_as_python_does(function, arguments, expected):
    fed = [tf.placeholder(tf.int32, []) for _ in arguments]
    result = tf.autograph.to_graph(function)(*fed)
    with tf.Session() as session:
        assert session.run(result, dict(zip(fed, arguments))) == expected


def test_the_function_stays_python_for_python_values():
    assert tf.autograph.to_graph(collatz)(27) == 111
    assert tf.autograph.to_graph(both_branches)(-2) == 2


def test_a_loop_over_the_rows_of_a_tensor():
    rows = tf.placeholder(tf.float32, [None, 2])
    last = tf.autograph.to_graph(last_row)(rows)
    with tf.Session() as session:
        values = np.arange(6.0).reshape(3, 2)
        assert session.run(last, {rows: values}).tolist() == [4, 5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="must iterate at least once"):
            session.run(last, {rows: np.zeros((0, 2))})


class Counter:
    def __init__(self):
        self.count = tf.constant(0)

    def up_to(self, n):
        while self.count < n:
            self.count += 2
        return self.count


def test_attributes_are_loop_variables():
    result = tf.autograph.to_graph(Counter.up_to)(Counter(), tf.constant(5))
    converted = tf.autograph.to_graph(Counter)()
    with tf.Session() as session:
        assert session.run([result, converted.up_to(tf.constant(3))]) == [6, 4]


def helper(x):
    if x > 1:
        return x * 10
    return x


def calls_helper(x):
    return helper(x) + functools.partial(helper, x)()


def test_functions_that_the_function_calls_are_converted():
    with tf.Session() as session:
        assert session.run(tf.autograph.to_graph(calls_helper)(tf.constant(2))) == 40
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="did not convert this"):
        tf.autograph.to_graph(calls_helper, recursive=False)(tf.constant(2))


@tf.autograph.experimental.do_not_convert
def unconverted(x):
    return x if x > 0 else -x


def calls_unconverted(x):
    return unconverted(x)


def test_do_not_convert():
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="is disabled in this"):
        tf.autograph.to_graph(calls_unconverted)(tf.constant(2))
    assert unconverted(-2) == 2
    assert tf.autograph.experimental.do_not_convert()(len)([1]) == 1


def test_an_unconverted_function_gets_tensorflows_error():
    words = "using a `tf.Tensor` as a Python `bool` is not allowed in Graph execution. Use Eager"
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match=words):
        both_branches(tf.constant(1))


def half_defined(x):
    if x > 0:
        y = x
    return y


def half_returned(x):
    if x > 0:
        return x


def two_dtypes(x):
    if x > 0:
        y = 1
    else:
        y = 1.0
    return y


def two_structures(x):
    if x > 0:
        y = (x, x)
    else:
        y = x
    return y


def growing(n):
    x = tf.constant([1])
    while tf.shape(x)[0] < n:
        x = tf.concat([x, x], 0)
    return x


def changing(n):
    x = 0
    while x < n:
        x = tf.cast(x, tf.float32) + 0.5
    return x


def returning(n):
    for i in tf.range(n):
        if i > 3:
            return i
    return -1


def undefined(n):
    while n > 0:
        n = n + later
        later = n
    return n


ERRORS = [
    (half_defined, ValueError, r"initialized in the else branch: \('y',\)\. Alternatively"),
    (half_returned, ValueError, "must also be returned from the else branch"),
    (two_dtypes, TypeError, '"y" has dtype int32 in the TRUE branch, but dtype=float32 in the'),
    (two_structures, TypeError, '"y" does not have the same nested structure in the TRUE and'),
    (growing, ValueError, r'"x" has shape \(1,\) before the loop, but shape \(2,\) after one'),
    (changing, TypeError, '"x" has dtype int32 before the loop, but dtype float32 after'),
    (returning, ValueError, "return statements are not supported within a TensorFlow loop"),
    (undefined, ValueError, r"must be defined before the loop: \('later',\)"),
]


@pytest.mark.parametrize(("function", "kind", "words"), ERRORS)
def test_statements_that_have_no_graph_are_refused(function, kind, words):
    with pytest.raises(kind, match=words):
        tf.autograph.to_graph(function)(tf.constant(5))
    assert tf.get_default_graph().get_operations()[-1].type != "Assert"


def test_errors_name_the_lines_of_the_user():
    with pytest.raises(ValueError, match="in converted code") as caught:
        convert(recursive=True)(half_defined)(tf.constant(1))
    assert f"{__file__}:" in str(caught.value)
    assert "if x > 0:" in str(caught.value)
    op = tf.autograph.to_graph(both_branches)(tf.constant(1)).op
    assert op.graph.get_operations()[3].origin.source == "if x > 0:"


def with_shapes(n):
    x = tf.constant([1])
    while tf.shape(x)[0] < n:
        tf.autograph.experimental.set_loop_options(
            shape_invariants=[(x, tf.TensorShape([None]))], maximum_iterations=2
        )
        x = tf.concat([x, x], 0)
    return x


def test_loop_options():
    with tf.Session() as session:
        result = tf.autograph.to_graph(with_shapes)(tf.constant(30))
        assert session.run(result).tolist() == [1, 1, 1, 1]


def asserting(x):
    assert x > 0, "must be positive"
    return x


def equal(x):
    return (1 if x == 3 else 2), (1 if x != 3 else 2)


def collected(n):
    items = []
    tf.contrib.autograph.set_element_type(items, tf.int32)
    for i in tf.range(n):
        items.append(i * i)
    return tf.contrib.autograph.stack(items, element_dtype=tf.int32)


def scoped(x):
    return tf.identity(x, name="inner")


def test_features():
    x = tf.constant(3)
    equals = tf.autograph.to_graph(equal, experimental_optional_features=EQUALITY)(x)
    squares = tf.autograph.to_graph(collected, experimental_optional_features=LISTS)(x)
    named = tf.autograph.to_graph(scoped, experimental_optional_features=(SCOPES,))(x)
    assert named.op.name == "scoped/inner"
    with tf.Session() as session:
        assert session.run(equals) == (1, 2)
        assert session.run(squares).tolist() == [0, 1, 4]
        tf.autograph.to_graph(asserting, experimental_optional_features=ASSERTS)(x - 9)
        check = [op for op in tf.get_default_graph().get_operations() if op.type == "Assert"]
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
            session.run(check[-1])


def builtins(x, name):
    return int(x), float(name), len(x), abs(x), [i for i, _ in enumerate(zip([1, 2], [3, 4]))]


def test_builtin_functions():
    x, name = tf.constant([-1.5, 2.5]), tf.constant("3.5")
    result = tf.autograph.to_graph(builtins)(x, name)
    assert result[2] == 2
    with tf.Session() as session:
        cast, parsed, size = session.run([result[0], result[1], result[3]])
    assert cast.tolist() == [-1, 2]
    assert parsed == 3.5
    assert size.tolist() == [1.5, 2.5]
    assert result[4] == [0, 1]


def printing(x):
    print("x is", x, sep="=")
    return x


def test_print_of_a_tensor_prints_in_the_run(capfd):
    tf.autograph.to_graph(printing, experimental_optional_features=BUILTINS)(tf.constant(3))
    op = tf.get_default_graph().get_operations()[-1]
    assert capfd.readouterr().out == ""
    with tf.Session() as session:
        session.run(op)
    assert capfd.readouterr().out == "x is=3\n"


def test_to_code_and_trace(capfd):
    code = tf.autograph.to_code(both_branches)
    assert code.startswith("def tf__both_branches(x):")
    assert "ag__.if_stmt" in code
    tf.autograph.trace("a", 1)
    assert capfd.readouterr().out == "a 1\n"
    tf.autograph.set_verbosity(0)
    with pytest.raises(ValueError, match="converting <built-in function len>"):
        tf.autograph.to_graph(len)


def test_the_gradient_of_a_converted_function():
    x = tf.placeholder(tf.float32, [])

    def power(x):
        y = 1.0
        for _ in tf.range(3):
            y *= x
        if y > 10.0:
            y = y * 2.0
        return y

    y = tf.autograph.to_graph(power)(x)
    (gradient,) = tf.gradients(y, [x])
    with tf.Session() as session:
        assert session.run([y, gradient], {x: 3.0}) == [54.0, 54.0]
        assert session.run([y, gradient], {x: 2.0}) == [8.0, 12.0]
