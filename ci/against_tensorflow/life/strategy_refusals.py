"""Programs of strategies with bad input: variables, values, structures, batches, clusters."""

from __future__ import annotations

import collections
import json
import os
from random import Random
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

from life.strategies import call, central, mirrored, number, rounded, session
from life.strategy_trainings import after, constant, initialize, linear

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


@program
def variable_from_outside(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    outside = tf.get_variable("w", [2], initializer=constant(tf), use_resource=True)
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        record("created", strategy.extended.variable_created_in_scope(outside))

        def trained() -> Any:
            return optimizer.minimize(tf.reduce_sum(outside**2), var_list=[outside])

        record.error("trained", lambda: call(strategy, trained))
        record.error(
            "updated", lambda: strategy.extended.update(outside, lambda v: v.assign_add([1.0, 1.0]))
        )
        read = strategy.experimental_local_results(call(strategy, lambda: outside * 2))
        with session(tf) as running:
            initialize(tf, running)
            record("read", rounded(running.run(read)))


@program
def model_from_outside(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    layer = tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer=constant(tf))
    model = tf.keras.Sequential([layer])

    def compiled() -> Any:
        with strategy.scope():
            model.compile(tf.keras.optimizers.SGD(0.1), "mse")

    record.error("compiled", compiled)


@program
def changes_without_aggregation(tf: Any, record: Record) -> None:
    for name, make in {"mirrored": mirrored, "central": central}.items():
        with tf.Graph().as_default():
            strategy = make(tf)
            with strategy.scope():
                v = tf.get_variable("v", [], initializer=constant(tf), use_resource=True)
                for method in ("assign", "assign_add", "assign_sub"):
                    change = getattr(v, method)
                    record.error(
                        f"{name} {method}",
                        lambda change=change, s=strategy: (
                            call(s, lambda: change(number(tf))) and None
                        ),
                    )


@program
def numbers_that_differ_without_aggregation(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable(0.0, name="v", synchronization=tf.VariableSynchronization.ON_WRITE)
        record.error("function", lambda: call(strategy, lambda: tf.assign(v, number(tf))) and None)


@program
def batches_that_do_not_divide(tf: Any, record: Record) -> None:
    for count in (2, 3):
        with tf.Graph().as_default():
            strategy = mirrored(tf, count)
            with strategy.scope():
                data = tf.data.Dataset.range(11).batch(6)
                iterator = strategy.make_dataset_iterator(data)
                values = call(strategy, lambda x: tf.reduce_sum(x), (iterator.get_next(),))
                total = strategy.reduce("SUM", values, axis=None)
                with session(tf) as running:
                    running.run(iterator.initialize())
                    record(f"sums {count}", [rounded(running.run(total)) for _ in range(2)])
                    record.error(f"end {count}", lambda total=total: running.run(total))


@program
def means_over_uneven_batches(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        data = tf.data.Dataset.range(9).map(lambda x: tf.cast(x, tf.float32)).batch(6)
        iterator = strategy.make_dataset_iterator(data)
        values = call(strategy, lambda x: x * x, (iterator.get_next(),))
        mean = strategy.reduce("MEAN", values, axis=0)
        with session(tf) as running:
            running.run(iterator.initialize())
            record("means", [rounded(running.run(mean)) for _ in range(2)])


@program
def batches_smaller_than_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf, 4)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(10).batch(8))
        parts = strategy.experimental_local_results(
            call(strategy, lambda x: tf.shape(x)[0], (iterator.get_next(),))
        )
        with session(tf) as running:
            running.run(iterator.initialize())
            record("rows", [rounded(running.run(parts)) for _ in range(2)])


@program
def trained_on_uneven_batches(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.05)
        x = np.arange(14, dtype=np.float32).reshape(7, 2) / 7
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices(x).batch(4))

        def fn(rows: Any) -> Any:
            loss = tf.reduce_sum((linear(tf, rows) - 1) ** 2) / 4
            return after(tf, optimizer.minimize(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn, (iterator.get_next(),)), axis=None)
        with session(tf) as running:
            initialize(tf, running)
            losses = []
            for _ in range(2):
                running.run(iterator.initialize())
                losses += [rounded(running.run(total)) for _ in range(2)]
            record("losses", losses)


Pair = collections.namedtuple("Pair", "a b")


@program
def structures_that_disagree(tf: Any, record: Record) -> None:
    results = {
        "keys": [{"a": 1.0}, {"b": 1.0}],
        "lengths": [[1.0, 2.0], [1.0]],
        "list and number": [[1.0], 1.0],
        "dict and list": [{"a": 1.0}, [1.0]],
        "list and tuple": [[1.0], (1.0,)],
        "none and number": [None, 1.0],
        "number and none": [1.0, None],
        "named and plain": [Pair(1.0, 2.0), (1.0, 2.0)],
        "deep": [{"a": [1.0, 2.0]}, {"a": [1.0]}],
        "nothing": [None, None],
    }
    strategy = mirrored(tf)
    with strategy.scope():
        for name, values in results.items():
            given = iter(values)
            record.error(
                name, lambda given=given: type(call(strategy, lambda: next(given))).__name__
            )


@program
def variables_that_disagree(tf: Any, record: Record) -> None:
    """Replicas that create or return different variables, at random."""
    random = Random(1)
    kinds = ("variable", "got", "value", "constant")
    for turn in range(40):
        plans = [
            [
                (random.choice(kinds[:2]), random.choice("ab"), random.choice((1, 1, 2)))
                for _ in range(random.randint(1, 2))
            ]
            for _ in range(2)
        ]
        if random.random() < 0.6:
            plans[1] = list(plans[0])
        results = [random.choice(kinds) for _ in range(2)]
        with tf.Graph().as_default():
            strategy = mirrored(tf)
            given = iter(zip(plans, results))

            def fn(given: Any = given) -> Any:
                made, result = next(given)
                variables = []
                for kind, name, size in made:
                    initial = tf.ones_initializer()
                    if kind == "got":
                        with tf.variable_scope("", reuse=tf.AUTO_REUSE):
                            variables.append(tf.get_variable(name, [size], initializer=initial))
                    else:
                        variables.append(tf.Variable([1.0] * size, name=name))
                if result == "constant":
                    return tf.constant(1.0)
                return variables[-1] + 1.0 if result == "value" else variables[0]

            def called(strategy: Any = strategy, fn: Any = fn) -> Any:
                value = call(strategy, fn)
                kind = type(value).__name__
                return kind, [variable.name for variable in tf.global_variables()]

            with strategy.scope():
                record.error(f"{turn}", called)


@program
def structures_kept(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            return {
                "pair": Pair(number(tf), "same"),
                "ordered": collections.OrderedDict([("z", number(tf)), ("a", [])]),
                "none": None,
                "tuple": (number(tf), (), 3),
            }

        value = call(strategy, fn)
        record("kinds", {name: type(item).__name__ for name, item in value.items()})
        record("pair", [type(value["pair"].a).__name__, value["pair"].b])
        record("ordered", list(value["ordered"]))
        record("tuple", [type(value["tuple"][0]).__name__, value["tuple"][1:]])


@program
def reductions_refused(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        value = call(strategy, lambda: number(tf))
        record.error("unknown", lambda: strategy.reduce("MAX", value, None))
        record.error("none", lambda: strategy.reduce(None, value, None))
        record.error("sum of a number", lambda: strategy.reduce("SUM", 1.0, None))
        record("mean of a number", strategy.reduce("MEAN", 1.5, None))
        record.error("axis", lambda: strategy.reduce("SUM", value, 3))
        record.error("by aggregation", lambda: tf.distribute.ReduceOp("sum"))


@program
def calls_in_the_wrong_context(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)

    def of_replica() -> None:
        extended = strategy.extended
        value = number(tf)
        record.error("reduce_to", lambda: extended.reduce_to("SUM", value, "/cpu:0"))
        record.error("batch", lambda: extended.batch_reduce_to("SUM", [(value, "/cpu:0")]))
        record.error("non slot", lambda: extended.update_non_slot("/cpu:0", lambda: None))

    calls: list[int] = []

    def fn() -> None:
        calls.append(1)
        if len(calls) == 1:
            of_replica()

    with strategy.scope():
        call(strategy, fn)
        record("outside", tf.distribute.get_replica_context() is None)
    context = tf.distribute.get_replica_context()
    record("merged by the default", context.merge_call(lambda s, x: x + 1, args=(2,)))


@program
def contexts_kept_after_the_call(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    kept: list[Any] = []
    with strategy.scope():
        call(strategy, lambda: kept.append(tf.distribute.get_replica_context()))
        record.error("merge", lambda: kept[0].merge_call(lambda strategy: None))
        record.error("reduce", lambda: kept[0].all_reduce("SUM", tf.constant(1.0)))
    record.error("outside", lambda: kept[1].merge_call(lambda strategy: None))


@program
def configurations_refused(tf: Any, record: Record) -> None:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver
    cluster = {"worker": ["a:1"]}
    texts: dict[str, Any] = {
        "no json": "{cluster",
        "list": "[1]",
        "text": '"text"',
        "number of a task": {"cluster": cluster, "task": {"type": "worker", "index": "x"}},
        "cluster of text": {"cluster": "a:1"},
        "job of a number": {"cluster": {"worker": 3}},
        "address of a number": {"cluster": {"worker": [3]}},
        "task of text": {"cluster": cluster, "task": "worker"},
        "empty": "",
        "by number": {"cluster": {"worker": {"1": "b:2", "0": "a:1"}}},
        "number as text": {"cluster": cluster, "task": {"type": "worker", "index": "0"}},
    }  # fmt: skip
    for name, value in texts.items():
        os.environ["TF_CONFIG"] = value if isinstance(value, str) else json.dumps(value)
        try:
            record.error(name, lambda: _described(resolver()))
        finally:
            del os.environ["TF_CONFIG"]


def _described(resolver: Any) -> Any:
    return [resolver.cluster_spec().as_dict(), resolver.task_type, resolver.task_id]


@program
def tasks_refused(tf: Any, record: Record) -> None:
    cluster = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
    cases: dict[str, Any] = {
        "beyond": {"cluster": cluster, "task": {"type": "worker", "index": 2}},
        "unknown": {"cluster": cluster, "task": {"type": "reader", "index": 0}},
        "two chiefs": {
            "cluster": {"chief": ["a:1", "b:2"], "ps": ["c:3"]},
            "task": {"type": "chief", "index": 0},
        },
    }
    for name, value in cases.items():
        os.environ["TF_CONFIG"] = json.dumps(value)
        try:
            resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
            make = tf.distribute.experimental.ParameterServerStrategy
            record.error(name, lambda make=make, r=resolver: make(r))
        finally:
            del os.environ["TF_CONFIG"]


@program
def unions_refused(tf: Any, record: Record) -> None:
    resolvers = tf.distribute.cluster_resolver
    union = getattr(resolvers, "UnionResolver", None) or resolvers.UnionClusterResolver

    def simple(cluster: Any) -> Any:
        return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(cluster))

    record.error(
        "twice", lambda: union(simple({"w": ["a:1"]}), simple({"w": {0: "b:2"}})).cluster_spec()
    )
    merged = union(simple({"w": {0: "a:1"}}), simple({"w": {1: "b:2"}}))
    record("merged", merged.cluster_spec().as_dict())
    record.error("type", lambda: union("a"))
    record.error("option", lambda: union(simple({"w": ["a:1"]}), other=1))


@program
def devices_that_do_not_exist(tf: Any, record: Record) -> None:
    mirrored(tf)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:7"])
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        with session(tf) as running:
            try:
                running.run(v.initializer)
                record("run", "no error")
            except tf.errors.InvalidArgumentError as error:
                record("run", "Cannot assign a device for operation" in str(error))
    record.error("none", lambda: tf.distribute.MirroredStrategy([]))
    record.error("name", lambda: tf.distribute.OneDeviceStrategy("/nonsense"))


@program
def iterators_at_their_end(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(4).batch(2))
        parts = strategy.experimental_local_results(iterator.get_next())
        with session(tf) as running:
            record.error("not initialized", lambda: running.run(parts) and None)
            for turn in range(2):
                running.run(iterator.initialize())
                record(f"parts {turn}", [rounded(running.run(parts)) for _ in range(2)])
                try:
                    running.run(parts)
                    record(f"end {turn}", "none")
                except tf.errors.OutOfRangeError:
                    record(f"end {turn}", "out of range")


@program
def merging_in_branches(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.get_variable("v", [], initializer=constant(tf), trainable=False,
                            aggregation=tf.VariableAggregation.MEAN)  # fmt: skip

        def fn() -> Any:
            return tf.cond(tf.constant(True), lambda: v.assign_add(number(tf)) * 1.0, lambda: 0.0)

        record.error("in a branch", lambda: call(strategy, fn) and None)


@program
def errors_while_merging(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)

    def merge(given: Any, value: Any) -> Any:
        del given, value
        raise LookupError("while merging")

    def fn() -> Any:
        return tf.distribute.get_replica_context().merge_call(merge, args=(number(tf),))

    with strategy.scope():
        record.error("raised", lambda: call(strategy, fn))
        record("after", [tf.distribute.in_cross_replica_context(), tf.distribute.has_strategy()])
        value = strategy.reduce("SUM", call(strategy, lambda: number(tf)), None)
        with session(tf) as running:
            record("goes on", rounded(running.run(value)))
