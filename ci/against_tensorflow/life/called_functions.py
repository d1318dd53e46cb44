# ruff: noqa: SIM108 -- statements to convert
"""Programs of tf.function, defun, Defun, tf.py_function and tf.custom_gradient."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def module_of(tf: Any, path: str) -> Any:
    """Return TensorFlow's module `path`, or gpugraph's that answers for it."""
    if tf.__name__.startswith("gpugraph"):
        with tf.as_tensorflow():
            return importlib.import_module(f"tensorflow.{path}")
    return importlib.import_module(f"tensorflow.{path}")


def run(tf: Any, fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def calls_of(tf: Any) -> list[str]:
    """Return the call ops of the default graph's GraphDef."""
    nodes = tf.get_default_graph().as_graph_def().node
    return [f"{node.name}: {node.op}" for node in nodes if "Partitioned" in node.op]


@program
def traces_by_dtype_shape_and_value(tf: Any, record: Record) -> None:
    traces: list[Any] = []

    @tf.function
    def f(x: Any, by: Any = 2) -> Any:
        traces.append((x.dtype.name, x.shape.as_list(), by))
        return x * by

    a = tf.constant([1.0, 2.0])
    results = [f(a), f(a + 1), f(a, 2), f(a, by=3), f(tf.constant([1, 2])), f(tf.constant(2.0))]
    results += [f(np.float32(3)), f(np.float32(4))]
    record("traces", [list(row) for row in traces])
    record("names", [tensor.name for tensor in results])
    record("calls", calls_of(tf))
    record("values", run(tf, results))


@program
def structured_results(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any, pair: Any) -> Any:
        return {"b": x + 1.0, "a": (x * pair[0], None)}, [pair[1]]

    result = f(tf.constant(3.0), (tf.constant(2.0), tf.constant([1, 2])))
    record("keys", sorted(result[0]))
    record("none", result[0]["a"][1] is None)
    record("values", run(tf, [result[0]["b"], result[0]["a"][0], result[1][0]]))


@program
def sparse_arguments_and_results(tf: Any, record: Record) -> None:
    @tf.function
    def f(sparse: Any) -> Any:
        return tf.SparseTensor(sparse.indices, sparse.values * 2.0, sparse.dense_shape)

    result = f(tf.SparseTensor([[0], [2]], [1.0, 2.0], [4]))
    record("values", run(tf, [result.indices, result.values, result.dense_shape]))


@program
def effects_in_program_order(tf: Any, record: Record) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def f(x: Any) -> Any:
        v.assign(v * 10.0)
        before = v.read_value()
        if x > 0:
            v.assign_add(x)
        else:
            v.assign_sub(5.0)
        for _ in tf.range(3):
            v.assign_add(100.0)
        return before

    one, two = f(tf.constant(2.0)), f(tf.constant(-2.0))
    with tf.Session() as session:
        session.run(v.initializer)
        record("steps", [session.run(t).tolist() for t in (one, v, two, v)])


@program
def effects_without_results(tf: Any, record: Record) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def f() -> None:
        v.assign_add(1.0)
        v.assign(v * 3.0)

    op = f()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(op)
        session.run(op)
        record("value", session.run(v))


@program
def nested_calls(tf: Any, record: Record) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def double() -> Any:
        return v.assign(v * 2.0)

    @tf.function
    def outer(x: Any) -> Any:
        double()
        v.assign_add(x)
        double()
        return v.read_value()

    y = outer(tf.constant(1.0))
    record("value", run(tf, y))
    library = tf.get_default_graph().as_graph_def().library.function
    record("functions", sorted(f.signature.name.rsplit("_", 1)[0] for f in library))


@program
def variables_created_once(tf: Any, record: Record) -> None:
    traces: list[int] = []

    class Layer:
        def __init__(self) -> None:
            self.w = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            traces.append(1)
            if self.w is None:
                self.w = tf.Variable(tf.fill([2], 3.0), name="w")
            return x * self.w

    layer, other = Layer(), Layer()
    x = tf.constant([1.0, 2.0])
    y, again, third = layer(x), layer(x + 1.0), other(x)
    record("traces", len(traces))
    record("variables", [v.name for v in tf.global_variables()])
    record("gradient", run(tf, tf.gradients(y, layer.w)))
    record("values", run(tf, [y, again, third]))


@program
def variables_on_later_calls(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x * tf.Variable(1.0)

    try:
        f(tf.constant(1.0))
        record("error", "none")
    except Exception as error:  # any error is an answer
        record("error", record.class_of(error))


@program
def get_variable_in_a_scope(tf: Any, record: Record) -> None:
    @tf.function
    def model(x: Any) -> Any:
        with tf.variable_scope("m", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", [2, 3], initializer=tf.ones_initializer())
        return tf.matmul(x, w)

    y = model(tf.constant([[1.0, 2.0]]))
    record("variables", [v.name for v in tf.global_variables()])
    record("trainable", [v.name for v in tf.trainable_variables()])
    loss = tf.reduce_sum(y * y)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss, var_list=tf.global_variables())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        record("losses", [session.run([loss, train])[0] for _ in range(3)])


@program
def gradients_through_calls(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any, n: Any) -> Any:
        y = 1.0
        for _ in tf.range(n):
            y = y * x
        return tf.tanh(y), y * 2.0

    x = tf.placeholder(tf.float32, [])
    one, two = f(x, tf.constant(3))
    (first,) = tf.gradients([one, two], x)
    record("values", run(tf, [one, two, first], {x: 0.7}))
    (second,) = tf.gradients(f(x, 0)[1] * x, x)
    record("no iteration", run(tf, second, {x: 0.7}))


@program
def second_gradients(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.exp(x * 2.0) * x

    x = tf.placeholder(tf.float32, [])
    (first,) = tf.gradients(f(x), x)
    (second,) = tf.gradients(first, x)
    record("values", run(tf, [first, second], {x: 0.5}))


@program
def gradients_inside_a_function(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]
        return tf.gradients(y, x)[0]

    record("value", run(tf, f(tf.constant(2.0))))


@program
def captured_tensors(tf: Any, record: Record) -> None:
    p = tf.placeholder(tf.float32, [])
    c = tf.constant(2.0)

    @tf.function
    def f(x: Any) -> Any:
        return x * p + c

    y = f(tf.constant(3.0))
    record("values", run(tf, [y, *tf.gradients(y, [p, c])], {p: 5.0}))
    concrete = f.get_concrete_function(tf.constant(3.0))
    record("captured", len(concrete.captured_inputs))


@program
def input_signatures(tf: Any, record: Record) -> None:
    traces: list[Any] = []

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="values")])
    def total(x: Any) -> Any:
        traces.append(x.op.name)
        return tf.reduce_sum(x)

    record("values", run(tf, [total([1.0, 2.0]), total(tf.constant([4.0]))]))
    record("traces", traces)
    for key, arguments in {
        "scalar": (1.0,), "dtype": (tf.constant([1]),), "too many": ([1.0], 2),
        "object": (object(),),
    }.items():  # fmt: skip
        try:
            total(*arguments)
            record(key, "no error")
        except Exception as error:  # any error is an answer
            record(key, record.class_of(error))


@program
def concrete_functions(tf: Any, record: Record) -> None:
    v = tf.get_variable("v", initializer=2.0, use_resource=True)

    @tf.function
    def f(x: Any, y: Any) -> Any:
        return {"sum": x + y * v}

    spec = tf.TensorSpec([], tf.float32)
    concrete = f.get_concrete_function(spec, spec)
    name = concrete.name
    record("name", (name.decode() if isinstance(name, bytes) else name).rsplit("_", 1)[0])
    record("inputs", [tensor.dtype.name for tensor in concrete.inputs])
    record("outputs", [tensor.dtype.name for tensor in concrete.outputs])
    record("variables", [v.name for v in concrete.trainable_variables])
    record("value", run(tf, concrete(tf.constant(1.0), y=tf.constant(3.0))["sum"]))
    signature = concrete.function_def.signature
    record("arguments", [arg.name for arg in signature.input_arg][:2])


@program
def relaxed_shapes(tf: Any, record: Record) -> None:
    traces: list[Any] = []

    @tf.function(experimental_relax_shapes=True)
    def f(x: Any) -> Any:
        traces.append(x.shape.as_list())
        return tf.reduce_sum(x)

    record("values", run(tf, [f(tf.ones([n, 2])) for n in (1, 2, 3)]))
    record("last trace", traces[-1])


@program
def methods_and_classes(tf: Any, record: Record) -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @tf.function
        def scaled(self, x: Any, power: int = 1) -> Any:
            if x > 0:
                y = x * self.scale
            else:
                y = x
            return y**power

    one, two = Model(2.0), Model(3.0)
    x = tf.constant(2.0)
    record("values", run(tf, [one.scaled(x), two.scaled(x), one.scaled(x, power=2)]))


@program
def in_conditions_and_loops(tf: Any, record: Record) -> None:
    @tf.function
    def step(x: Any) -> Any:
        return tf.cond(x > 5.0, lambda: x * 2.0, lambda: x + 1.0)

    x = tf.placeholder(tf.float32, [])
    looped = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, step(y)), [0, x])[1]
    chosen = tf.cond(x > 100.0, lambda: x, lambda: step(x))
    record("values", run(tf, [looped, chosen], {x: 3.0}))
    mapped = tf.map_fn(step, tf.constant([1.0, 10.0]))
    record("mapped", run(tf, mapped))


@program
def random_ops_in_functions(tf: Any, record: Record) -> None:
    @tf.function
    def f() -> Any:
        return tf.random.stateless_uniform([3], seed=[1, 2])

    record("values", run(tf, f()))
    record("calls", calls_of(tf))


@program
def tables_and_strings(tf: Any, record: Record) -> None:
    keys = tf.lookup.KeyValueTensorInitializer(
        tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
    )
    table = tf.lookup.StaticHashTable(keys, -1)

    @tf.function
    def f(text: Any) -> Any:
        return table.lookup(tf.strings.substr(text, 0, 1))

    y = f(tf.constant(["apple", "cat", "berry"]))
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        record("values", session.run(y))


@program
def without_autograph(tf: Any, record: Record) -> None:
    def f(x: Any) -> Any:
        return x if x > 0 else -x

    for key, function in (
        ("function", tf.function(f, autograph=False)),
        ("unconverted", tf.function(tf.autograph.experimental.do_not_convert(f))),
        ("plain", f),
    ):
        try:
            function(tf.constant(1.0))
            record(key, "no error")
        except Exception as error:  # any error is an answer
            record(key, [isinstance(error, TypeError), "as a Python `bool`" in str(error)])


@program
def errors_of_arguments(tf: Any, record: Record) -> None:
    f = tf.function(lambda x, y=1: x)
    for key, call in {
        "none": lambda: f(), "too many": lambda: f(1, 2, 3), "unknown": lambda: f(1, z=2),
        "twice": lambda: f(1, x=2), "no tensor": lambda: tf.function(lambda: object())(),
        "signature": lambda: tf.function(lambda x: x, input_signature=3),
    }.items():  # fmt: skip
        try:
            call()
            record(key, "no error")
        except Exception as error:  # any error is an answer
            record(key, record.class_of(error))


@program
def graph_defs_with_functions(tf: Any, record: Record) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return x * 3.0

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) + 1.0

    y = outer(tf.constant(2.0))
    message = tf.get_default_graph().as_graph_def()
    record("ops", [node.op for node in message.node])
    with tf.Graph().as_default():
        (copy,) = tf.import_graph_def(message, return_elements=[y.name])
        record("value", run(tf, copy))


@program
def custom_gradients_inside(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any) -> Any:
        @tf.custom_gradient
        def clipped(y: Any) -> Any:
            squared = y * y
            return squared, lambda dy: dy * squared * 10.0

        return clipped(x) + x

    x = tf.placeholder(tf.float32, [])
    y = f(x)
    record("values", run(tf, [y, *tf.gradients(y, x)], {x: 3.0}))


@program
def custom_gradients_around(tf: Any, record: Record) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return x * x

    @tf.custom_gradient
    def f(x: Any) -> Any:
        y = inner(x)
        return y, lambda dy: dy * 100.0

    x = tf.constant(3.0)
    y = f(x)
    record("values", run(tf, [y, *tf.gradients(y, x)]))


@program
def defun_by_types(tf: Any, record: Record) -> None:
    Defun = module_of(tf, "python.framework.function").Defun

    @Defun(tf.float32, tf.float32, func_name="Affine")
    def affine(a: Any, b: Any) -> Any:
        return a * b + a

    y = affine(tf.constant(2.0), 5.0, name="call")
    message = tf.get_default_graph().as_graph_def()
    record("ops", [node.op for node in message.node])
    record("functions", [f.signature.name for f in message.library.function])
    record("arguments", [arg.name for arg in message.library.function[0].signature.input_arg])
    record("name", y.name)
    a = tf.constant(3.0)
    record("values", run(tf, [y, *tf.gradients(affine(a, 2.0), a)]))
    with tf.Graph().as_default():
        (copy,) = tf.import_graph_def(message, return_elements=["call:0"])
        record("copy", run(tf, copy))


@program
def defun_with_gradient_functions(tf: Any, record: Record) -> None:
    Defun = module_of(tf, "python.framework.function").Defun

    @Defun(tf.float32, tf.float32, tf.float32)
    def grad(a: Any, b: Any, dy: Any) -> Any:
        return dy * 10.0, dy * b

    @Defun(tf.float32, tf.float32, grad_func=grad)
    def with_function(a: Any, b: Any) -> Any:
        return a * b

    @Defun(tf.float32, python_grad_func=lambda op, dy: [dy * op.inputs[0] * 7.0])
    def with_python(a: Any) -> Any:
        return a * a

    a, b = tf.constant(2.0), tf.constant(3.0)
    record("by function", run(tf, tf.gradients(with_function(a, b), [a, b])))
    record("by python", run(tf, tf.gradients(with_python(a), a)))
    record("pairs", len(tf.get_default_graph().as_graph_def().library.gradient))


@program
def defun_without_types(tf: Any, record: Record) -> None:
    Defun = module_of(tf, "python.framework.function").Defun
    traces: list[str] = []

    @Defun(func_name="Twice")
    def twice(x: Any) -> Any:
        traces.append(x.dtype.name)
        return x + x

    results = [twice(tf.constant(1.0)), twice(tf.constant(2)), twice(tf.constant(3.0))]
    record("values", run(tf, results))
    record("traces", traces)
    library = tf.get_default_graph().as_graph_def().library.function
    record("functions", sorted(f.signature.name for f in library))


@program
def defun_captures(tf: Any, record: Record) -> None:
    Defun = module_of(tf, "python.framework.function").Defun
    v = tf.get_variable("v", initializer=3.0)
    scale = tf.placeholder(tf.float32, [])

    @Defun(tf.float32)
    def f(x: Any) -> Any:
        return x * v + scale

    y = f(tf.constant(2.0))
    record("captured", len(f.captured_inputs))
    record("values", run(tf, [y, *tf.gradients(y, [v, scale])], {scale: 1.0}))


@program
def defun_shapes_and_names(tf: Any, record: Record) -> None:
    Defun = module_of(tf, "python.framework.function").Defun

    @Defun(tf.float32, shape_func=lambda op: [[4]])
    def shaped(x: Any) -> Any:
        return x + 1.0

    @Defun(tf.float32, tf.int32, out_names=["first", "second"])
    def pair(x: Any, n: Any) -> Any:
        return x + 1.0, n

    record("shape", shaped(tf.ones([4])).shape.as_list())
    record("results", [arg.name for arg in pair.definition.signature.output_arg])
    record("length of the name", len(pair.name))
    record("values", run(tf, list(pair(tf.constant(1.0), tf.constant(2)))))


@program
def defun_misuse(tf: Any, record: Record) -> None:
    Defun = module_of(tf, "python.framework.function").Defun
    identity = Defun(tf.float32)(lambda x: x)
    for key, action in {
        "defaults": lambda: Defun(tf.float32)(lambda x=1.0: x),
        "fewer": lambda: Defun(tf.float32, tf.float32)(lambda x: x),
        "no function": lambda: Defun(tf.float32)(3),
        "arguments": lambda: identity(1.0, 2.0),
    }.items():
        try:
            action()
            record(key, "no error")
        except Exception as error:  # any error is an answer
            record(key, record.class_of(error))


@program
def functional_if_while_and_for(tf: Any, record: Record) -> None:
    Defun = module_of(tf, "python.framework.function").Defun
    ops = module_of(tf, "python.ops.functional_ops")

    @Defun(tf.float32)
    def double(x: Any) -> Any:
        return x * 2.0

    @Defun(tf.float32)
    def negative(x: Any) -> Any:
        return -x

    @Defun(tf.int32, tf.float32)
    def below(n: Any, x: Any) -> Any:
        return x < 100.0

    @Defun(tf.int32, tf.float32)
    def step(n: Any, x: Any) -> Any:
        return n + 1, x * 3.0

    @Defun(tf.int32, tf.float32)
    def add_index(i: Any, x: Any) -> Any:
        return x + tf.cast(i, tf.float32)

    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    chosen = ops.If(p, [x], double, negative)
    looped = ops.While([tf.constant(0), x], below, step)
    summed = ops.For(tf.constant(1), tf.constant(5), tf.constant(2), [x], add_index)
    for value in (True, False):
        record(f"values {value}", run(tf, [*chosen, *looped, *summed], {p: value, x: 2.0}))
    kinds = {"If", "While", "For"}
    nodes = tf.get_default_graph().as_graph_def().node
    record("ops", [node.op for node in nodes if node.op in kinds])


@program
def python_functions(tf: Any, record: Record) -> None:
    def log_huber(x: Any, m: Any) -> Any:
        if tf.abs(x) <= m:
            return x**2
        return m**2 * (1 - 2 * tf.log(m) + tf.log(x**2))

    x, m = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    y = tf.py_function(log_huber, [x, m], tf.float32)
    (grad,) = tf.gradients(y, x)
    record("op", y.op.type)
    for value in (1.0, 3.0):
        record(f"values {value}", run(tf, [y, grad], {x: value, m: 2.0}))


@program
def values_in_python_functions(tf: Any, record: Record) -> None:
    def look(x: Any, text: Any) -> Any:
        total = sum(int(i) for i in x) + len(x) + float(x[0])
        return total, text.numpy().decode().upper()

    result = tf.py_function(
        look, [tf.constant([1, 2]), tf.constant("abc")], [tf.float32, tf.string]
    )
    record("values", run(tf, result))
    record("no results", run(tf, tf.py_function(lambda: None, [], [])) is None)


@program
def errors_of_python_functions(tf: Any, record: Record) -> None:
    for key, function in {
        "attribute": lambda x: x.missing,
        "value": lambda x: int("a"),
        "stop": lambda x: next(iter(())),
    }.items():
        try:
            run(tf, tf.py_function(function, [tf.constant(1.0)], tf.float32))
            record(key, "no error")
        except Exception as error:  # any error is an answer
            record(key, record.class_of(error))


@program
def asserts_and_prints(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any) -> Any:
        tf.debugging.assert_positive(x)
        tf.print("value", x)
        return tf.sqrt(x)

    x = tf.placeholder(tf.float32, [])
    y = f(x)
    record("value", run(tf, y, {x: 4.0}))
    try:
        run(tf, y, {x: -4.0})
        record("error", "none")
    except Exception as error:  # any error is an answer
        record("error", record.class_of(error))


@program
def devices_and_scopes(tf: Any, record: Record) -> None:
    @tf.function
    def f(x: Any) -> Any:
        return tf.identity(x, name="inner")

    with tf.name_scope("scope"), tf.device("/cpu:0"):
        y = f(tf.constant(1.0))
    record("name", y.name)
    with tf.control_dependencies([y]):
        z = f(y)
    record("inputs", [op.name for op in z.op.control_inputs if "inner" not in op.name])
    record("value", run(tf, z))


@program
def training_in_a_function(tf: Any, record: Record) -> None:
    w = tf.get_variable("w", initializer=[[1.0], [2.0]], use_resource=True)
    optimizer = tf.train.GradientDescentOptimizer(0.1)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        loss = tf.reduce_mean((tf.matmul(x, w) - y) ** 2)
        (grad,) = tf.gradients(loss, w)
        w.assign_sub(0.1 * grad)
        return loss

    loss = step(tf.constant([[1.0, 2.0], [3.0, -1.0]]), tf.constant([[1.0], [0.0]]))
    outside = optimizer.minimize(tf.reduce_sum(w * w))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        record("losses", [session.run(loss) for _ in range(4)])
        session.run(outside)
        record("weights", session.run(w))
