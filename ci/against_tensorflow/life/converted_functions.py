# ruff: noqa: F821, F841, RUF021, SIM108 -- statements to convert
"""Programs of functions that AutoGraph converts: a table of functions and of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recorded_programs import Programs, Record

PROGRAMS: Programs = {}

Case = Callable[[Any], Callable[..., Any]]
"""tf -> the function to convert."""


def _values_program(case: Case, rows: tuple[tuple[Any, ...], ...]) -> Callable[[Any, Record], None]:
    """Return a program that records the results for each row of arguments, and gradients."""

    def run(tf: Any, record: Record) -> None:
        function = case(tf)
        fed = [tf.placeholder(tf.convert_to_tensor(value).dtype) for value in rows[0]]
        for tensor, value in zip(fed, rows[0]):
            tensor.set_shape(tf.convert_to_tensor(value).shape)
        converted = tf.autograph.to_graph(function)(*fed)
        called = tf.function(function)(*fed)
        floats = [tensor for tensor in fed if tensor.dtype == tf.float32]
        first = converted[0] if isinstance(converted, (tuple, list)) else converted
        of_call = called[0] if isinstance(called, (tuple, list)) else called
        gradients = [None]
        if floats and first.dtype == tf.float32:
            gradients = [*tf.gradients(first, floats), *tf.gradients(of_call, floats)]
        with tf.Session() as session:
            for number, row in enumerate(rows):
                feeds = dict(zip(fed, row))
                record(f"result {number}", session.run(converted, feeds))
                record(f"of tf.function {number}", session.run(called, feeds))
                known = [grad for grad in gradients if grad is not None]
                record(f"gradients {number}", session.run(known, feeds))

    return run


def values(*rows: tuple[Any, ...]) -> Callable[[Case], Case]:
    """Return a decorator that adds a program for a function and rows of arguments."""

    def add(case: Case) -> Case:
        PROGRAMS[case.__name__] = _values_program(case, rows)
        return case

    return add


def refused(*row: Any) -> Callable[[Case], Case]:
    """Return a decorator that adds a program for a function whose conversion or call fails."""

    def add(case: Case) -> Case:
        def run(tf: Any, record: Record) -> None:
            for way, convert in (("to_graph", tf.autograph.to_graph), ("function", tf.function)):
                arguments = [tf.constant(value) for value in row]
                try:
                    convert(case(tf))(*arguments)
                    record(way, "no error")
                except Exception as error:  # any error is an answer
                    record(way, record.class_of(error))

        PROGRAMS[case.__name__] = run
        return case

    return add


@values((3.0,), (-4.0,))
def if_else(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0:
            y = x * x
        else:
            y = -x
        return y

    return f


@values((3.0,), (-4.0,))
def if_without_else(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        y = 1.0
        if x > 0:
            y = x * 2.0
        return y

    return f


@values((11.0,), (7.0,), (2.0,))
def elif_chain(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 10:
            y = x
        elif x > 5:
            y = x * 2
        else:
            y = x * 3
        return y

    return f


@values((11.0,), (7.0,), (2.0,))
def early_returns(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 10:
            return x
        if x > 5:
            return x * 2
        return x * 3

    return f


@values((1.0, 2.0), (2.0, 1.0))
def two_variables(tf: Any) -> Callable[..., Any]:
    def f(x: Any, y: Any) -> Any:
        if x > y:
            x, y = y, x
            d = x - y
        else:
            d = y - x
        return d, x, y

    return f


@values((4.0,), (9.0,))
def while_loop(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        n = 0
        while x > 1.0:
            x = x / 2.0
            n += 1
        return x, n

    return f


@values((27,), (1,))
def collatz(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        steps = 0
        while n > 1:
            if n % 2 > 0:
                n = 3 * n + 1
            else:
                n = n // 2
            steps += 1
        return steps

    return f


@values((5, 2.0), (0, 2.0))
def for_range(tf: Any) -> Callable[..., Any]:
    def f(n: Any, x: Any) -> Any:
        y = 1.0
        for i in tf.range(n):
            y = y * x + tf.cast(i, tf.float32)
        return y

    return f


@values((5, 2.0), (0, 2.0))
def for_python_range_of_a_tensor(tf: Any) -> Callable[..., Any]:
    def f(n: Any, x: Any) -> Any:
        y = x
        for i in range(n):
            y += tf.cast(i, tf.float32) * x
        return y

    return f


@values((10, -2), (3, -1))
def for_downwards(tf: Any) -> Callable[..., Any]:
    def f(n: Any, by: Any) -> Any:
        total = 0
        for i in tf.range(n, 0, by):
            total = total * 10 + i
        return total

    return f


@values(([[1.0, 2.0], [3.0, 4.0]],))
def for_rows(tf: Any) -> Callable[..., Any]:
    def f(rows: Any) -> Any:
        total = tf.zeros([2])
        for row in rows:
            total = total * 2.0 + row
        return tf.reduce_sum(total)

    return f


@values(([[1.0, 2.0], [3.0, 4.0]],))
def last_row(tf: Any) -> Callable[..., Any]:
    def f(rows: Any) -> Any:
        for row in rows:
            last = row
        return tf.reduce_sum(last)

    return f


@values((4, 30), (100, 30))
def break_and_continue(tf: Any) -> Callable[..., Any]:
    def f(n: Any, limit: Any) -> Any:
        total = 0
        for i in tf.range(n):
            if i % 3 > 1:
                continue
            total += i
            if total > limit:
                break
        return total

    return f


@values((20,), (3,))
def break_out_of_while(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        i = 0
        while i < n:
            if i > 6:
                break
            i += 2
        return i

    return f


@values((5,), (0,))
def nested_loops(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        total = 0
        for i in tf.range(n):
            for j in tf.range(i):
                if j > 2:
                    break
                total += i * j
        return total

    return f


@values((4,), (1,))
def while_in_if_in_for(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        total = 0
        for i in tf.range(n):
            if i > 1:
                k = i
                while k > 0:
                    total += k
                    k -= 1
            else:
                total -= 1
        return total

    return f


@values((5,), (20,), (200,))
def and_or_not(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return not (x > 0 and x < 10 or x > 100), not x > 10

    return f


@values((5,), (50,))
def chained_comparison(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return 1 if 0 < x < 10 else 2

    return f


@values((0.0,), (4.0,))
def lazy_and(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0 and 8.0 / x > 1.0:
            return x
        else:
            return -1.0

    return f


@values((3.0,), (-3.0,))
def ternary(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        return (x * 2.0 if x > 0 else -x) + (1.0 if x < 0 else 2.0)

    return f


@values((2,), (5,))
def recursion_in_python(tf: Any) -> Callable[..., Any]:
    def power(x: Any, n: int) -> Any:
        if n == 0:
            return 1
        return x * power(x, n - 1)

    def f(x: Any) -> Any:
        return power(x, 3)

    return f


@values((2.0,), (-5.0,))
def inner_functions_and_lambdas(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        scale = lambda y: y * 2.0 if y > 0 else y * 3.0  # noqa: E731

        def shifted(y: Any, by: float = 1.0) -> Any:
            if y > 3.0:
                y -= by
            return y

        return shifted(scale(x), by=0.5)

    return f


@values((3,), (0,))
def attributes(tf: Any) -> Callable[..., Any]:
    class State:
        total = 0

    def f(n: Any) -> Any:
        state = State()
        state.total = 1
        for i in tf.range(n):
            state.total = state.total * 2 + i
        if state.total > 5:
            state.total = -state.total
        return state.total

    return f


@values((3,), (7,))
def items_of_dicts_and_tuples(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        pair = (n, n * 2)
        values = {"a": 1}
        if n > 5:
            values["a"] = n
            pair = (pair[1], pair[0])
        return values["a"] + pair[0]

    return f


@values((4,), (1,))
def tensor_array(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        array = tf.TensorArray(tf.int32, size=n)
        for i in tf.range(n):
            array = array.write(i, i * i)
        return array.stack()

    return f


@values((4,), (1,))
def tensor_array_append(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        i = 0
        while i < n:
            array = array.write(i, i + 1)
            i += 1
        return tf.reduce_sum(array.stack())

    return f


@values(([-1.5, 2.5], "3.25"))
def builtin_functions(tf: Any) -> Callable[..., Any]:
    def f(x: Any, text: Any) -> Any:
        pairs = [i for i, _ in enumerate(zip([1], [2]))]
        return abs(x), int(x), float(text), tf.constant(len(x)), tf.constant(pairs)

    return f


@values((3,), (9,))
def python_values_stay_in_python(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        steps = []
        for k in range(4):
            if k % 2 == 0:
                steps.append(k)
        while len(steps) < 4:
            steps.append(9)
        return n + sum(steps)

    return f


@values((30,), (2,))
def shape_invariants_and_limits(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        x = tf.constant([1])
        while tf.shape(x)[0] < n:
            tf.autograph.experimental.set_loop_options(
                shape_invariants=[(x, tf.TensorShape([None]))], maximum_iterations=3
            )
            x = tf.concat([x, x], 0)
        return x

    return f


@values((2.0,), (-2.0,))
def try_and_with(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        with tf.name_scope("scope"):
            if x > 0:
                y = tf.sqrt(x)
            else:
                y = x * 10.0
        try:
            z = y + 1.0
        finally:
            w = 2.0
        return z * w

    return f


@values((3,), (8,))
def star_arguments(tf: Any) -> Callable[..., Any]:
    def g(a: Any, *rest: Any, **named: Any) -> Any:
        if a > 5:
            a += rest[0] + named["c"]
        return a

    def f(n: Any) -> Any:
        return g(*(n, 2), **{"c": 3})

    return f


@values((2,), (3,))
def closures_and_nonlocal(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        total = 0

        def add(k: Any) -> None:
            nonlocal total
            total = total + k

        for k in (1, 2, 3):
            add(k * n)
        return total

    return f


@refused(5)
def undefined_after_if(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0:
            y = x
        return y

    return f


@refused(5)
def returned_by_one_branch(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0:
            return x

    return f


@refused(5)
def dtypes_of_branches(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0:
            y = 1
        else:
            y = 1.0
        return y

    return f


@refused(5)
def structures_of_branches(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0:
            y = (x, x)
        else:
            y = x
        return y

    return f


@refused(5)
def dtype_changes_in_loop(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        x = 0
        while tf.cast(x, tf.int32) < n:
            x = tf.cast(x, tf.float32) + 0.5
        return x

    return f


@refused(5)
def shape_changes_in_loop(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        x = tf.constant([1])
        while tf.shape(x)[0] < n:
            x = tf.concat([x, x], 0)
        return x

    return f


@refused(5)
def undefined_before_loop(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        while n > 0:
            n = n + later
            later = n
        return n

    return f


@refused(5)
def return_in_loop(tf: Any) -> Callable[..., Any]:
    def f(n: Any) -> Any:
        for i in tf.range(n):
            if i > 3:
                return i
        return -1

    return f


@refused([1, 2])
def vector_as_condition(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 1:
            x = x + 1
        return x

    return f


@refused(5)
def number_as_condition(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x:
            x = x + 1
        return x

    return f


@refused(5)
def none_in_branch(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0:
            y = None
        else:
            y = x
        return y

    return f


@refused(5)
def raised_by_the_function(tf: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        if x > 0:
            raise KeyError("missing")
        return x

    return f
