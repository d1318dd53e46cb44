"""Programs with branches and loops, in TensorFlow's words: `tf` is this package or TensorFlow.

`structures.txt` holds the graphs that TensorFlow makes of them, as `structures.lines` writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[[Any], None]] = {}
"""Each builds a graph. Those named `gradient ...` are compared in their control flow only."""


def program(name: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    def add(function: Callable[[Any], None]) -> Callable[[Any], None]:
        PROGRAMS[name] = function
        return function

    return add


def bools(tf: Any, *names: str) -> list[Any]:
    return [tf.placeholder(tf.bool, [], name=name) for name in names]


def vector(tf: Any, name: str = "x", size: int | None = 3) -> Any:
    return tf.placeholder(tf.float32, [size], name=name)


# -- branches


@program("cond")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    x, y = tf.constant(1.0, name="x"), vector(tf, "y", None)
    tf.cond(p, lambda: tf.add(x, y), lambda: tf.square(y))


@program("cond of numbers")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    tf.cond(p, lambda: 1, lambda: 2, name="c")


@program("cond of outer tensors")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    x = vector(tf)
    tf.cond(p, lambda: x, lambda: x * 2.0)


@program("cond in cond")
def _(tf: Any) -> None:
    p, q = bools(tf, "p", "q")
    x = vector(tf)

    def taken() -> Any:
        z = x + 1.0
        return tf.cond(q, lambda: z * x, lambda: x)

    tf.cond(p, taken, lambda: x - 3.0)


@program("cond of a variable")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    v = tf.Variable(1.0, name="v")
    tf.cond(p, lambda: tf.assign(v, 2.0), lambda: v)


@program("cond of operations")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    v = tf.Variable(1.0, name="v")
    tf.cond(p, lambda: tf.group(tf.assign(v, 2.0)), lambda: tf.no_op())


@program("cond of structures")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    x = vector(tf)
    tf.cond(p, lambda: {"b": [x, (x, 2.0)], "a": x}, lambda: {"a": x * x, "b": [x, (x, 3.0)]})


@program("cond and control inputs")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    x, n = vector(tf), tf.no_op(name="n")

    def taken() -> Any:
        with tf.control_dependencies([x]):
            return tf.identity(tf.constant(1.0, name="a")) + x[0]

    with tf.control_dependencies([n]):
        tf.cond(p, taken, lambda: 1.0)


@program("cond and devices")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    with tf.device("/cpu:0"):
        x = vector(tf)
    with tf.device("/cpu:1"):
        tf.cond(p, lambda: x * x, lambda: x)


# -- loops


@program("while")
def _(tf: Any) -> None:
    i = tf.constant(0, name="i")
    tf.while_loop(lambda i: i < 10, lambda i: i + 1, [i])


@program("while with an invariant")
def _(tf: Any) -> None:
    x = vector(tf)
    tf.while_loop(lambda i, a: tf.less(i, 10), lambda i, a: (i + 1, a * x), (0, x))


@program("while with open shapes")
def _(tf: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    tf.while_loop(
        lambda i, a: i < 10,
        lambda i, a: [i + 1, tf.concat([a, x], 0)],
        [tf.constant(0), x[:1]],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])],
    )


@program("while with a maximum")
def _(tf: Any) -> None:
    x, most = vector(tf), tf.placeholder(tf.int32, [], name="most")
    tf.while_loop(lambda a: a[0] < 5.0, lambda a: a * 2.0, [x], maximum_iterations=7, name="w")
    tf.while_loop(
        lambda i, a: a[0] < 5.0,
        lambda i, a: (i + 1, a * 2.0),
        (0, x),
        maximum_iterations=most,
        parallel_iterations=3,
    )


@program("while in while")
def _(tf: Any) -> None:
    x = vector(tf)

    def body(i: Any, a: Any) -> Any:
        y = a * x
        inner = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + y * x), (0, a))
        return i + 1, inner[1]

    tf.while_loop(lambda i, a: i < 10, body, (0, x))


@program("cond in while")
def _(tf: Any) -> None:
    x = vector(tf)

    def body(i: Any, a: Any) -> Any:
        even = tf.equal(i % 2, 0)
        return i + 1, tf.cond(even, lambda: a * x, lambda: a + x + tf.constant(1.0))

    tf.while_loop(lambda i, a: i < 10, body, (0, x))


@program("while in cond")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    x = vector(tf)

    def taken() -> Any:
        return tf.while_loop(lambda i, a: i < 10, lambda i, a: (i + 1, a * x), (0, x))[1]

    tf.cond(p, taken, lambda: x)


@program("while in cond in while")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    x = vector(tf)
    y = x * 3.0

    def inner(j: Any, b: Any) -> Any:
        return j + 1, tf.cond(p, lambda: b * y, lambda: b + x)

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(
            p, lambda: tf.while_loop(lambda j, b: j < 3, inner, (0, a))[1], lambda: y
        )

    tf.while_loop(lambda i, a: i < 10, body, (0, x))


@program("while and control inputs")
def _(tf: Any) -> None:
    x, n, m = vector(tf), tf.no_op(name="n"), tf.constant(2.0, name="m")

    def body(i: Any, a: Any) -> Any:
        with tf.control_dependencies([m, n]):
            c = tf.constant(2.0)
            d = tf.identity(a) * c
            e = tf.add(x, x)
        with tf.control_dependencies([d]):
            f = tf.constant(2.0)
        with tf.control_dependencies([tf.square(x)]):
            return i + 1, d + e + f

    with tf.control_dependencies([n]):
        tf.while_loop(lambda i, a: i < 10, body, (0, x))


@program("while that writes a variable")
def _(tf: Any) -> None:
    v = tf.Variable(1.0, name="v")
    tf.while_loop(lambda i: i < v, lambda i: i + tf.assign_add(v, 0.5), [0.0])


@program("while over a variable")
def _(tf: Any) -> None:
    v = tf.Variable(1.0, name="v")
    tf.while_loop(lambda i: i < 10.0, lambda i: v._ref(), [v._ref()])


@program("while over structures")
def _(tf: Any) -> None:
    x = vector(tf)

    def body(i: Any, s: Any) -> Any:
        return i + 1, {"b": s["a"][0], "a": [s["b"], x]}

    tf.while_loop(lambda i, s: i < 10, body, (0, {"a": [x, x * 2.0], "b": x}))


@program("constants in an inner loop")
def _(tf: Any) -> None:
    def body(i: Any) -> Any:
        return tf.while_loop(lambda j: j < 3, lambda j: j + tf.constant(1), [tf.constant(5)]) + i

    tf.while_loop(lambda i: i < 100, body, [0])


@program("names")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    with tf.name_scope("s"):
        for _ in range(2):
            tf.cond(p, lambda: 1, lambda: 2)
            tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0])


# -- cases and assertions


@program("Assert")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    tf.Assert(p, [tf.constant([1, 2], name="x"), "text"])
    tf.Assert(p, [tf.constant([1.0, 2.0], name="y")], summarize=2, name="floats")


@program("case")
def _(tf: Any) -> None:
    p, q = bools(tf, "p", "q")
    x = tf.constant(1.0, name="x")
    tf.case([(p, lambda: x + 1.0), (q, lambda: x + 2.0)], default=lambda: x)


@program("case without a default")
def _(tf: Any) -> None:
    p, q = bools(tf, "p", "q")
    x = tf.constant(1.0, name="x")
    tf.case([(p, lambda: x + 1.0), (q, lambda: x + 2.0)])


@program("exclusive case of a dict")
def _(tf: Any) -> None:
    p, q = bools(tf, "p", "q")
    x = tf.constant(1.0, name="x")
    tf.case({q: lambda: x + 1.0, p: lambda: x + 2.0}, default=lambda: x, exclusive=True)


# -- gradients


def power(tf: Any, x: Any, w: Any, **how: Any) -> Any:
    """x * w * w * ..."""
    return tf.while_loop(lambda i, a: i < 10, lambda i, a: (i + 1, a * w), (0, x), **how)[1]


@program("gradient of cond")
def _(tf: Any) -> None:
    p, q = bools(tf, "p", "q")
    x = vector(tf)
    y = tf.cond(p, lambda: tf.cond(q, lambda: x * x, lambda: x + 1.0), lambda: x * 3.0)
    tf.gradients(y, x)


@program("gradient of while")
def _(tf: Any) -> None:
    x, w = vector(tf), vector(tf, "w")
    tf.gradients(power(tf, x, w, swap_memory=True), [x, w])


@program("gradient of while, one iteration at a time")
def _(tf: Any) -> None:
    x, w = vector(tf), vector(tf, "w")
    tf.gradients(power(tf, x, w, parallel_iterations=1), [x, w])


@program("gradient of while without back_prop")
def _(tf: Any) -> None:
    x = vector(tf)
    tf.gradients(power(tf, x, x, back_prop=False) + x, x)


@program("gradient of what a loop forgets")
def _(tf: Any) -> None:
    x, z = vector(tf), vector(tf, "z")
    found = tf.while_loop(
        lambda i, a, b: i < 10, lambda i, a, b: (i + 1, x * 2.0, b * z), (0, x, z)
    )
    tf.gradients([found[1]], [x, z])


@program("gradient of while in while")
def _(tf: Any) -> None:
    x = vector(tf)

    def body(i: Any, a: Any) -> Any:
        y = a * x
        inner = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * y), (0, a))
        return i + 1, inner[1]

    tf.gradients(tf.while_loop(lambda i, a: i < 10, body, (0, x))[1], x)


@program("gradient of cond in while")
def _(tf: Any) -> None:
    x = vector(tf)

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x, lambda: a + 1.0)

    tf.gradients(tf.while_loop(lambda i, a: i < 10, body, (0, x))[1], x)


@program("gradient of while in cond")
def _(tf: Any) -> None:
    (p,) = bools(tf, "p")
    x = vector(tf)
    tf.gradients(tf.cond(p, lambda: power(tf, x, x), lambda: x * 3.0), x)


@program("gradient of while in cond in while")
def _(tf: Any) -> None:
    x = vector(tf)

    def body(i: Any, a: Any) -> Any:
        even = tf.equal(i % 2, 0)
        return i + 1, tf.cond(even, lambda: power(tf, a, x), lambda: a * x)

    tf.gradients(tf.while_loop(lambda i, a: i < 10, body, (0, x))[1], x)


@program("gradient inside a body")
def _(tf: Any) -> None:
    x, w = vector(tf), vector(tf, "w")

    def body(i: Any, a: Any) -> Any:
        return i + 1, tf.add_n(tf.gradients(power(tf, a, w), [a, w]))

    tf.while_loop(lambda i, a: i < 10, body, (0, x))


@program("gradient of one loop after another")
def _(tf: Any) -> None:
    x = vector(tf)
    y = power(tf, x, x)
    tf.gradients(power(tf, y, y) + y, x)
