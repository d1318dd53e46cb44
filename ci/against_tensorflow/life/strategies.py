"""Programs of strategies: replicas on several CPU devices of one process."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)

_CONFIGURED: list[bool] = []


def mirrored(tf: Any, count: int = 2) -> Any:
    """Return a MirroredStrategy over CPU devices, which TensorFlow has to be told of."""
    if hasattr(tf.config, "set_logical_device_configuration") and not _CONFIGURED:
        _CONFIGURED.append(True)
        [cpu] = tf.config.list_physical_devices("CPU")
        parts = [tf.config.LogicalDeviceConfiguration()] * 4
        tf.config.set_logical_device_configuration(cpu, parts)
    return tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(count)])


def central(tf: Any, count: int = 2) -> Any:
    """Return a CentralStorageStrategy over CPU devices."""
    mirrored(tf)
    devices = [f"/cpu:{number}" for number in range(count)]
    return tf.distribute.experimental.CentralStorageStrategy(devices, "/cpu:0")


def call(strategy: Any, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call `fn` for each replica, by the name of either version."""
    run = getattr(strategy, "experimental_run_v2", None) or strategy.run
    return run(fn, args=args, kwargs=kwargs or {})


def session(tf: Any) -> Any:
    """Return a session on four CPU devices."""
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 4}))


def number(tf: Any) -> Any:
    """Return the number of the replica as a float."""
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def names(items: Any) -> list[str]:
    """Return the sorted names of variables."""
    return sorted(item.name for item in items)


def rounded(value: Any) -> Any:
    """Return numbers with five digits."""
    return np.round(np.asarray(value, np.float64), 5).tolist()


def train(tf: Any, strategy: Any, optimizer: Any, loss_of: Any, steps: int = 4) -> list[Any]:
    """Return the mean losses of some steps of a training."""
    with strategy.scope():
        step = tf.train.get_or_create_global_step()

        def fn() -> Any:
            loss = loss_of()
            operation = optimizer.minimize(loss, global_step=step)
            with tf.control_dependencies([operation]):
                return tf.identity(loss)

        total = strategy.reduce("MEAN", call(strategy, fn), axis=None)
        with session(tf) as running:
            running.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            losses = [rounded(running.run(total)) for _ in range(steps)]
            return [*losses, int(running.run(step))]


def net(tf: Any) -> Any:
    """Return the loss of a small network, with another input for each replica."""
    x = number(tf) * tf.ones([4, 3]) + tf.reshape(tf.range(12.0), [4, 3]) / 12
    hidden = tf.layers.dense(
        x, 5, tf.nn.relu, kernel_initializer=tf.constant_initializer(0.1), name="hidden"
    )
    out = tf.layers.dense(hidden, 1, kernel_initializer=tf.constant_initializer(0.2), name="out")
    return tf.losses.mean_squared_error(tf.ones([4, 1]), out)


# -- contexts


@program
def contexts(tf: Any, record: Record) -> None:
    d = tf.distribute
    record("default", [d.has_strategy(), d.in_cross_replica_context()])
    record("replicas", [d.get_strategy().num_replicas_in_sync, d.get_replica_context() is not None])
    strategy = mirrored(tf, 3)
    with strategy.scope():
        record("inside", [d.has_strategy(), d.in_cross_replica_context()])
        record("same", [d.get_strategy() is strategy, d.get_replica_context() is None])
        seen: list[Any] = []

        def fn() -> Any:
            context = d.get_replica_context()
            seen.append([context.num_replicas_in_sync, context.strategy is strategy])
            seen.append([d.in_cross_replica_context(), d.has_strategy()])
            return context.replica_id_in_sync_group

        ids = strategy.experimental_local_results(call(strategy, fn))
        record("seen", seen)
        with session(tf) as running:
            record("ids", running.run(ids))
    record("after", [d.has_strategy(), d.in_cross_replica_context()])


@program
def scopes_in_each_other(tf: Any, record: Record) -> None:
    first, second = mirrored(tf), mirrored(tf, 3)
    with first.scope(), first.scope():
        record("again", tf.distribute.get_strategy() is first)

    def nest() -> None:
        with first.scope(), second.scope():
            pass

    record.error("another", nest)
    record.error("reduce in a replica", lambda: call(first, lambda: first.reduce("SUM", 1, None)))


@program
def set_strategy(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    tf.distribute.experimental_set_strategy(strategy)
    record("set", [tf.distribute.get_strategy() is strategy, tf.distribute.has_strategy()])
    tf.distribute.experimental_set_strategy(None)
    record("unset", tf.distribute.has_strategy())
    with strategy.scope():
        record.error("in a scope", lambda: tf.distribute.experimental_set_strategy(strategy))


@program
def devices_and_names_of_ops(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope(), tf.name_scope("outer"):

        def fn() -> Any:
            with tf.name_scope("inner"):
                return tf.constant(1.0, name="c")

        values = strategy.experimental_local_results(call(strategy, fn))
    record("names", [value.name for value in values])
    record("devices", [value.device.rpartition("device:")[2] for value in values])


# -- variables


@program
def mirrored_variables(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable(3.0, name="v")
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        with tf.variable_scope("scope"):
            x = tf.get_variable("x", [1], initializer=tf.zeros_initializer(), trainable=False)
    record("names", [v.name, w.name, x.name])
    parts = strategy.experimental_local_results(w)
    record("parts", [part.name for part in parts])
    record("devices", [part.device.rpartition("device:")[2] for part in parts])
    record("global", names(tf.global_variables()))
    record("trainable", names(tf.trainable_variables()))
    record("created", [strategy.extended.variable_created_in_scope(v)])
    record("shape", [str(w.shape), w.dtype.base_dtype.name])
    with session(tf) as running:
        running.run(tf.global_variables_initializer())
        record("values", rounded(running.run(parts)))
        record("value", rounded(running.run(v)))
        record("sum", rounded(running.run(w + v)))


@program
def changes_outside_of_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable(1.0, name="v", aggregation=tf.VariableAggregation.MEAN)
        changes = [v.assign(5.0), v.assign_add(2.0), v.assign_sub(4.0)]
        parts = strategy.experimental_local_results(v)
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            for count, change in enumerate(changes):
                running.run(change)
                record(f"after {count}", rounded(running.run(parts)))


@program
def changes_in_replicas(tf: Any, record: Record) -> None:
    for name in ("SUM", "MEAN", "ONLY_FIRST_REPLICA"):
        with tf.Graph().as_default():
            strategy = mirrored(tf, 3)
            with strategy.scope():
                v = tf.Variable(1.0, name="v", aggregation=getattr(tf.VariableAggregation, name))
                change = call(strategy, lambda v=v: v.assign_add(number(tf) + 1.0))
                parts = strategy.experimental_local_results(v)
                with session(tf) as running:
                    running.run(tf.global_variables_initializer())
                    running.run(strategy.experimental_local_results(change))
                    record(name, rounded(running.run(parts)))


@program
def no_aggregation(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        record.error("refused", lambda: call(strategy, lambda: v.assign_add(1.0)))


@program
def synchronized_on_read(tf: Any, record: Record) -> None:
    for name in ("SUM", "MEAN", "ONLY_FIRST_REPLICA"):
        with tf.Graph().as_default():
            strategy = mirrored(tf)
            with strategy.scope():
                v = tf.Variable(
                    1.0,
                    name="v",
                    synchronization=tf.VariableSynchronization.ON_READ,
                    aggregation=getattr(tf.VariableAggregation, name),
                )
                record(f"{name} trainable", names(tf.trainable_variables()))
                change = call(strategy, lambda v=v: v.assign_add(number(tf) + 1.0))
                parts = strategy.experimental_local_results(v)
                with session(tf) as running:
                    running.run(tf.global_variables_initializer())
                    running.run(strategy.experimental_local_results(change))
                    record(name, rounded(running.run(parts)))
                    record(f"{name} read", rounded(running.run(strategy.extended.read_var(v))))
                    running.run(v.assign(6.0))
                    record(f"{name} assigned", rounded(running.run(parts)))


@program
def modes_refused(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    modes = tf.VariableSynchronization
    with strategy.scope():
        record.error("none", lambda: tf.Variable(1.0, synchronization=modes.NONE))
        record.error(
            "trainable", lambda: tf.Variable(1.0, synchronization=modes.ON_READ, trainable=True)
        )


@program
def variables_of_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            v = tf.Variable(1.0, name="v")
            w = tf.get_variable("w", [], initializer=tf.ones_initializer())
            again = tf.Variable(2.0, name="v")
            return v + w + again

        value = strategy.reduce("SUM", call(strategy, fn), axis=None)
        record("names", names(tf.global_variables()))
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            record("value", rounded(running.run(value)))


@program
def other_names_in_another_replica(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    made: list[int] = []

    def fn() -> Any:
        made.append(1)
        return tf.Variable(1.0, name=f"v{len(made)}x") + 1.0

    with strategy.scope():
        record.error("refused", lambda: call(strategy, fn))


@program
def initial_values_are_equal(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.get_variable("v", [3], initializer=tf.random_uniform_initializer())
        parts = strategy.experimental_local_results(v)
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            first, second = running.run(parts)
            record("equal", bool((first == second).all()))


# -- values


@program
def reductions(tf: Any, record: Record) -> None:
    strategy = mirrored(tf, 3)
    with strategy.scope():
        value = call(strategy, lambda: number(tf) + tf.range(4.0))
        with session(tf) as running:
            for operation in ("SUM", "MEAN"):
                for axis in (None, 0):
                    result = strategy.reduce(operation, value, axis=axis)
                    record(f"{operation} {axis}", rounded(running.run(result)))


@program
def structures(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        value = call(strategy, lambda: {"a": number(tf), "b": [tf.constant(2.0), (7, "x")]})
        record("kinds", [sorted(value), type(value["b"]).__name__, value["b"][1]])
        parts = strategy.experimental_local_results(value["a"])
        with session(tf) as running:
            record("a", rounded(running.run(parts)))

        def fn(given: Any, factor: float = 1.0) -> Any:
            return given["a"] * factor

        doubled = call(strategy, fn, (value,), {"factor": 2.0})
        with session(tf) as running:
            results = strategy.experimental_local_results(doubled)
            record("passed", rounded(running.run(results)))


@program
def merged_calls(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)

    def merge(given: Any, value: Any, constant: int) -> Any:
        record("is the strategy", [given is strategy, constant])
        record("in cross-replica", tf.distribute.in_cross_replica_context())
        return given.extended.reduce_to("SUM", value, given.extended.worker_devices[0])

    def fn() -> Any:
        context = tf.distribute.get_replica_context()
        first = context.merge_call(merge, args=(number(tf) + 1.0, 3))
        return first * 2.0

    with strategy.scope():
        value = strategy.experimental_local_results(call(strategy, fn))
        with session(tf) as running:
            record("value", rounded(running.run(value)))


@program
def all_reduce(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)

    def fn() -> Any:
        context = tf.distribute.get_replica_context()
        v = number(tf) + 1.0
        total = context.all_reduce("sum", {"a": v * v, "b": tf.constant([1.0, 2.0])})
        [grad] = tf.gradients(total["a"], [v])
        mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, v)
        return total["a"], total["b"], mean, grad

    with strategy.scope():
        values = call(strategy, fn)
        with session(tf) as running:
            for count, value in enumerate(values):
                parts = strategy.experimental_local_results(value)
                record(f"value {count}", rounded(running.run(parts)))


@program
def unequal_merge_calls(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    calls: list[int] = []

    def fn() -> Any:
        calls.append(1)
        if len(calls) == 1:
            tf.distribute.get_replica_context().merge_call(lambda strategy: None)
        return tf.constant(1.0)

    with strategy.scope():
        record.error("refused", lambda: call(strategy, fn))


@program
def errors_of_a_replica(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)

    def fn() -> Any:
        raise KeyError("mine")

    with strategy.scope():
        record.error("raised", lambda: call(strategy, fn))
        value = call(strategy, lambda: tf.constant(1.0))
        with session(tf) as running:
            record("goes on", rounded(running.run(strategy.experimental_local_results(value))))


@program
def updates(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        value = call(strategy, lambda: number(tf) + 1.0)
        extended = strategy.extended
        grouped = extended.update(v, lambda each, add: each.assign_add(add), args=(value,))
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            running.run(strategy.experimental_local_results(grouped))
            parts = strategy.experimental_local_results(v)
            record("parts", rounded(running.run(parts)))


# -- training

OPTIMIZERS = {
    "GradientDescentOptimizer": {},
    "MomentumOptimizer": {"momentum": 0.9},
    "AdamOptimizer": {},
    "AdagradOptimizer": {},
    "AdadeltaOptimizer": {},
    "RMSPropOptimizer": {},
    "FtrlOptimizer": {},
    "ProximalGradientDescentOptimizer": {},
    "ProximalAdagradOptimizer": {},
}


def _trains_by(name: str) -> Any:
    def run(tf: Any, record: Record) -> None:
        optimizer = getattr(tf.train, name)(0.1, **OPTIMIZERS[name])
        record("losses", train(tf, mirrored(tf), optimizer, lambda: net(tf)))
        record("variables", names(tf.global_variables()))
        record("slots", optimizer.get_slot_names())

    return run


for _name in OPTIMIZERS:
    PROGRAMS[f"trained_by_{_name}"] = _trains_by(_name)


@program
def trained_on_several(tf: Any, record: Record) -> None:
    kinds = {
        "one": lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
        "three": lambda: mirrored(tf, 3),
        "single": lambda: mirrored(tf, 1),
        "central": lambda: central(tf),
        "central of one": lambda: central(tf, 1),
    }
    for name, make in kinds.items():
        with tf.Graph().as_default():
            optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
            record(name, train(tf, make(), optimizer, lambda: net(tf)))
            record(f"{name}: variables", names(tf.global_variables()))


@program
def summed_losses(tf: Any, record: Record) -> None:
    def loss_of() -> Any:
        w = tf.get_variable("w", [3], initializer=tf.ones_initializer())
        return tf.losses.absolute_difference(
            tf.zeros([3]), w * (number(tf) + 1.0), reduction=tf.losses.Reduction.SUM
        )

    record("losses", train(tf, mirrored(tf), tf.train.GradientDescentOptimizer(0.01), loss_of))


@program
def sparse_gradients(tf: Any, record: Record) -> None:
    for name in ("GradientDescentOptimizer", "AdagradOptimizer", "AdamOptimizer"):
        with tf.Graph().as_default():

            def loss_of() -> Any:
                table = tf.get_variable("table", [5, 2], initializer=tf.ones_initializer())
                rows = tf.cast(number(tf), tf.int32) + [0, 1, 1]
                return tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, rows) - 3.0))

            record(name, train(tf, mirrored(tf), getattr(tf.train, name)(0.1), loss_of))


@program
def clipped_gradients(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.AdamOptimizer(0.1)

        def fn() -> Any:
            loss = net(tf)
            pairs = optimizer.compute_gradients(loss)
            grads, _ = tf.clip_by_global_norm([grad for grad, _ in pairs], 0.1)
            applied = optimizer.apply_gradients(
                zip(grads, [variable for _, variable in pairs]),
                global_step=tf.train.get_or_create_global_step(),
            )
            with tf.control_dependencies([applied]):
                return tf.identity(loss)

        total = strategy.reduce("MEAN", call(strategy, fn), axis=None)
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            record("losses", [rounded(running.run(total)) for _ in range(3)])


@program
def batch_norm(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)

    def loss_of() -> Any:
        x = tf.reshape(tf.range(12.0), [4, 3]) * (number(tf) + 1.0)
        normal = tf.layers.batch_normalization(x, training=True, momentum=0.5)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates[-2:]):
            return tf.reduce_mean(tf.square(normal - 1.0))

    record("losses", train(tf, strategy, tf.train.GradientDescentOptimizer(0.1), loss_of))
    record("variables", names(tf.global_variables()))


@program
def metrics(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            return tf.metrics.mean(number(tf) + 1.0)

        value, update = call(strategy, fn)
        with session(tf) as running:
            running.run(tf.local_variables_initializer())
            running.run(strategy.experimental_local_results(update))
            record("value", rounded(running.run(strategy.experimental_local_results(value))))
        record("local", names(tf.local_variables()))


@program
def apply_outside_of_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        record.error("refused", lambda: optimizer.apply_gradients([(tf.constant(1.0), v)]))


@program
def checkpoints(tf: Any, record: Record) -> None:
    folder = tempfile.mkdtemp()
    for kind in ("mirrored", "central", "plain"):
        for source in ("plain", "mirrored"):
            with tf.Graph().as_default():
                _saved(tf, source, folder)
            with tf.Graph().as_default():
                record(f"{source} to {kind}", _restored(tf, kind, folder))


def _strategy(tf: Any, kind: str) -> Any:
    if kind == "plain":
        return tf.distribute.get_strategy()
    return mirrored(tf) if kind == "mirrored" else central(tf)


def _variables(tf: Any) -> list[Any]:
    on_read = {
        "synchronization": tf.VariableSynchronization.ON_READ,
        "aggregation": tf.VariableAggregation.SUM,
    }
    return [
        tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=True),
        tf.get_variable("total", [], initializer=tf.zeros_initializer(), use_resource=True,
                        **on_read),
    ]  # fmt: skip


def _saved(tf: Any, kind: str, folder: str) -> None:
    strategy = _strategy(tf, kind)
    with strategy.scope():
        v, total = _variables(tf)
        saver = tf.train.Saver()
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            running.run([v.assign([3.0, 4.0]), total.assign(8.0)])
            saver.save(running, f"{folder}/model")


def _restored(tf: Any, kind: str, folder: str) -> Any:
    strategy = _strategy(tf, kind)
    with strategy.scope():
        v, total = _variables(tf)
        saver = tf.train.Saver()
        with session(tf) as running:
            saver.restore(running, f"{folder}/model")
            parts = strategy.experimental_local_results(v)
            shares = strategy.experimental_local_results(total)
            return [rounded(running.run(parts)), rounded(running.run(shares))]


@program
def control_flow_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)

    def fn() -> Any:
        n = number(tf)
        chosen = tf.cond(n > 0.5, lambda: n * 10.0, lambda: n - 1.0)
        looped = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + n), [0, 1.0])[1]
        return chosen, looped

    with strategy.scope():
        chosen, looped = call(strategy, fn)
        with session(tf) as running:
            for name, value in {"chosen": chosen, "looped": looped}.items():
                record(name, rounded(running.run(strategy.experimental_local_results(value))))


@program
def cross_device_operations(tf: Any, record: Record) -> None:
    operations = [
        tf.distribute.ReductionToOneDevice(),
        tf.distribute.ReductionToOneDevice(reduce_to_device="/cpu:1"),
    ]
    for count, given in enumerate(operations):
        with tf.Graph().as_default():
            mirrored(tf)
            strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"], given)
            with strategy.scope():
                value = call(strategy, lambda: number(tf) + 1.0)
                result = strategy.reduce("MEAN", value, axis=None)
                with session(tf) as running:
                    record(f"mean {count}", rounded(running.run(result)))


# -- input and clusters


@program
def input_contexts(tf: Any, record: Record) -> None:
    context = tf.distribute.InputContext(3, 1, 6)
    record("numbers", [context.num_input_pipelines, context.input_pipeline_id])
    record("batch", context.get_per_replica_batch_size(12))
    record.error("uneven", lambda: context.get_per_replica_batch_size(13))


@program
def clusters(tf: Any, record: Record) -> None:
    resolvers = tf.distribute.cluster_resolver
    cluster = {"worker": ["a:1", "b:2"], "ps": ["c:3"]}
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": cluster, "task": {"type": "worker", "index": 1}}
    )
    try:
        mine = resolvers.TFConfigClusterResolver()
        record("task", [mine.task_type, mine.task_id, mine.master()])
        record("cluster", mine.cluster_spec().as_dict())
        record("master", mine.master("ps", 0, "grpc"))
    finally:
        del os.environ["TF_CONFIG"]
    record("none", [resolvers.TFConfigClusterResolver().master()])
    simple = resolvers.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), master="a:1", task_type="worker", task_id=0, rpc_layer="grpc"
    )
    record("simple", [simple.master(), simple.master("worker", 1), simple.task_id])
    record.error("no cluster", lambda: resolvers.SimpleClusterResolver(cluster))
    union = getattr(resolvers, "UnionResolver", None) or resolvers.UnionClusterResolver
    other = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({"chief": ["d:4"]}))
    both = union(simple, other)
    record("union", both.cluster_spec().as_dict())
    record("of the union", [both.task_type, both.master("chief", 0)])
    record.error("nothing", union)


@program
def devices_refused(tf: Any, record: Record) -> None:
    record.error("twice", lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:0"]))
    record("single", mirrored(tf, 1).num_replicas_in_sync)
