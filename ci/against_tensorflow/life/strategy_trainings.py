"""Programs of trainings under strategies, in the manner of 2019: input, layers, averages, hooks."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

from life.strategies import call, mirrored, number, rounded, session

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def initialize(tf: Any, running: Any) -> None:
    """Initialize all variables."""
    running.run([tf.global_variables_initializer(), tf.local_variables_initializer()])


def after(tf: Any, operation: Any, value: Any) -> Any:
    """Return a value that is read after an operation."""
    with tf.control_dependencies([operation]):
        return tf.identity(value)


def examples(tf: Any, count: int = 12, size: int = 4) -> Any:
    """Return a repeated dataset of batches (x, y)."""
    x = np.arange(count * 2, dtype=np.float32).reshape(count, 2) / count
    y = x.sum(1, keepdims=True)
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(size)


def constant(tf: Any, value: float = 0.1) -> Any:
    """Return an initializer."""
    return tf.constant_initializer(value)


def linear(tf: Any, x: Any, name: str = "out") -> Any:
    """Return a linear layer."""
    return tf.layers.dense(x, 1, kernel_initializer=constant(tf), name=name)


def run_steps(tf: Any, strategy: Any, fn: Any, args: Any = (), steps: int = 3) -> Any:
    """Return the summed results of a step function, and the values of all variables by name."""
    total = strategy.reduce("SUM", call(strategy, fn, args), axis=None)
    with session(tf) as running:
        initialize(tf, running)
        values = [rounded(running.run(total)) for _ in range(steps)]
        return [values, by_name(tf, running)]


def by_name(tf: Any, running: Any) -> Any:
    """Return the values of all variables by name."""
    variables = [*tf.global_variables(), *tf.local_variables()]
    return {item.name: rounded(running.run(item)) for item in variables}


@program
def dataset_distributed(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        data = strategy.experimental_distribute_dataset(examples(tf))
        iterator = (
            data.make_initializable_iterator()
            if hasattr(data, "make_initializable_iterator")
            else tf.data.make_initializable_iterator(data)
        )

        def fn(batch: Any) -> Any:
            x, y = batch
            loss = tf.reduce_sum((linear(tf, x) - y) ** 2) / 4
            return after(tf, optimizer.minimize(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn, (iterator.get_next(),)), axis=None)
        with session(tf) as running:
            running.run(iterator.initializer)
            initialize(tf, running)
            record("losses", [rounded(running.run(total)) for _ in range(5)])
            record("variables", by_name(tf, running))


@program
def iterator_of_dataset(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        iterator = strategy.make_dataset_iterator(examples(tf))

        def fn(batch: Any) -> Any:
            x, y = batch
            loss = tf.losses.mean_squared_error(y, linear(tf, x)) / 2
            return after(tf, optimizer.minimize(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn, (iterator.get_next(),)), axis=None)
        with session(tf) as running:
            running.run(iterator.initialize())
            initialize(tf, running)
            record("losses", [rounded(running.run(total)) for _ in range(4)])


@program
def iterator_of_input_fn(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def input_fn(context: Any) -> Any:
            size = context.get_per_replica_batch_size(4)
            numbers = tf.data.Dataset.range(12).map(lambda item: {"a": tf.cast(item, tf.float32)})
            return numbers.batch(size)

        iterator = strategy.make_input_fn_iterator(input_fn)
        batches = call(strategy, lambda item: item["a"] * 2, (iterator.get_next(),))
        parts = strategy.experimental_local_results(batches)
        with session(tf) as running:
            running.run(iterator.initialize())
            record("parts", [rounded(running.run(parts)) for _ in range(3)])


@program
def moving_averages(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        averages = tf.train.ExponentialMovingAverage(0.5, step)

        def fn() -> Any:
            loss = tf.reduce_mean((linear(tf, number(tf) + tf.ones([3, 2])) - 1) ** 2) / 2
            train = optimizer.minimize(loss, global_step=step)
            with tf.control_dependencies([train]):
                kept = averages.apply(tf.trainable_variables())
            return after(tf, kept, loss)

        record("trained", run_steps(tf, strategy, fn))
        names = set(averages.variables_to_restore())
        record("restored", sorted(names))


def _moving_average(name: str, **settings: Any) -> None:
    """Add a program in which a mirrored variable follows the mean of the replicas' values."""

    def run(tf: Any, record: Record) -> None:
        strategy = mirrored(tf)
        is_reference = "tensorflow" in tf.__name__
        where = "tensorflow.python.training" if is_reference else "gpugraph.library.train"
        follow = importlib.import_module(f"{where}.moving_averages").assign_moving_average
        with strategy.scope():
            average = tf.get_variable("average", [], initializer=constant(tf, 0.0), trainable=False)

            def fn() -> Any:
                return after(tf, follow(average, number(tf) + 1.0, 0.9, **settings), number(tf))

            total = strategy.reduce("SUM", call(strategy, fn), axis=None)
            with session(tf) as running:
                initialize(tf, running)
                for turn in range(3):
                    running.run(total)
                    copies = [item.value() for item in average.values]
                    record(f"copies {turn}", rounded(running.run(copies)))

    run.__name__ = name
    program(run)


_moving_average("moving_average_of_a_value", zero_debias=False)
_moving_average("debiased_average_of_a_value")


@program
def batch_norm_in_training(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.AdamOptimizer(0.1)

        def fn() -> Any:
            x = tf.reshape(tf.range(12.0), [6, 2]) * (number(tf) + 1)
            x = tf.layers.batch_normalization(x, training=True, momentum=0.5)
            loss = tf.reduce_mean((linear(tf, x) - 1) ** 2) / 2
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                train = optimizer.minimize(loss)
            return after(tf, train, loss)

        record("trained", run_steps(tf, strategy, fn))


@program
def metrics_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            labels = tf.constant([1, 0, 1])
            predictions = tf.constant([1, 1, 1]) - tf.cast(number(tf), tf.int32)
            pairs = [
                tf.metrics.accuracy(labels, predictions),
                tf.metrics.precision(labels, predictions),
                tf.metrics.mean(number(tf) + [1.0, 2.0]),
            ]
            return [value for value, _ in pairs], [update for _, update in pairs]

        values, updates = call(strategy, fn)
        operations = [strategy.experimental_local_results(update) for update in updates]
        with session(tf) as running:
            initialize(tf, running)
            for turn in range(2):
                running.run(operations)
                shown = [strategy.experimental_local_results(value)[0] for value in values]
                record(f"values {turn}", rounded(running.run(shown)))


def _metric_in_replicas(name: str, *extra: Any, **settings: Any) -> None:
    """Add the program of a metric of tf.metrics, whose value is that of both replicas."""

    def run(tf: Any, record: Record) -> None:
        strategy = mirrored(tf)
        with strategy.scope():

            def fn() -> Any:
                half = number(tf) / 2
                if name.endswith("_at_k"):
                    predictions = tf.constant([[0.1, 0.4, 0.3], [0.6, 0.1, 0.2]]) * (1 - 2 * half)
                    labels = tf.constant([[1], [2]], tf.int64)
                elif name in ("mean_iou", "mean_per_class_accuracy"):
                    predictions = tf.constant([0, 1, 2, 1]) - tf.cast(half, tf.int32)
                    labels = tf.constant([0, 1, 1, 2])
                else:
                    predictions = tf.constant([0.1, 0.9, 0.6, 0.4]) * (1 - half)
                    labels = tf.constant([0.0, 1.0, 1.0, 0.0])
                given = (predictions,) if name in ("mean_tensor", "percentage_below") else ()
                given = given or (labels, predictions)
                value, update = getattr(tf.metrics, name)(*given, *extra, **settings)
                return value, update

            value, update = call(strategy, fn)
            with session(tf) as running:
                initialize(tf, running)
                for turn in range(2):
                    running.run(strategy.experimental_local_results(update))
                    shown = strategy.experimental_local_results(value)
                    record(f"values {turn}", [rounded(item) for item in running.run(shown)])

    run.__name__ = f"metric_{name}"
    program(run)


for _name in [
    "auc",
    "accuracy",
    "false_negatives",
    "false_positives",
    "true_negatives",
    "true_positives",
    "precision",
    "recall",
    "mean_absolute_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_tensor",
]:
    _metric_in_replicas(_name)
_metric_in_replicas("mean_iou", 3)
_metric_in_replicas("mean_per_class_accuracy", 3)
_metric_in_replicas("mean_relative_error", [1.0, 2.0, 1.0, 2.0])
_metric_in_replicas("mean_cosine_distance", 0)
_metric_in_replicas("percentage_below", 0.5)
_metric_in_replicas("precision_at_thresholds", [0.3, 0.5])
_metric_in_replicas("false_positives_at_thresholds", [0.3, 0.5])
_metric_in_replicas("sensitivity_at_specificity", 0.5)
_metric_in_replicas("recall_at_k", 1)
_metric_in_replicas("precision_at_k", 2)
_metric_in_replicas("average_precision_at_k", 2)


@program
def decayed_rate(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.2, step, 2, 0.5, staircase=True)
        optimizer = tf.train.GradientDescentOptimizer(rate)

        def fn() -> Any:
            loss = tf.reduce_mean((linear(tf, tf.ones([3, 2])) - number(tf)) ** 2) / 2
            return after(tf, optimizer.minimize(loss, global_step=step), loss)

        record("trained", run_steps(tf, strategy, fn, steps=5))


@program
def decayed_rate_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            step = tf.train.get_or_create_global_step()
            rate = tf.train.polynomial_decay(0.2, step, 4, 0.01)
            optimizer = tf.train.RMSPropOptimizer(rate, centered=True)
            loss = tf.reduce_mean((linear(tf, tf.ones([3, 2])) - number(tf)) ** 2) / 2
            return after(tf, optimizer.minimize(loss, global_step=step), loss)

        record("trained", run_steps(tf, strategy, fn, steps=5))


@program
def regularized_losses(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def fn() -> Any:
            x = tf.ones([3, 2]) * (number(tf) + 1)
            out = tf.layers.dense(
                x,
                1,
                kernel_initializer=constant(tf),
                kernel_regularizer=lambda w: 0.1 * tf.nn.l2_loss(w),
            )
            tf.losses.mean_squared_error(tf.ones([3, 1]), out)
            loss = tf.losses.get_total_loss()
            return after(tf, optimizer.minimize(loss), loss)

        record("trained", run_steps(tf, strategy, fn))
        record("losses", len(tf.get_collection(tf.GraphKeys.LOSSES)))
        record("regularizers", len(tf.losses.get_regularization_losses()))


@program
def accumulated_gradients(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        w = tf.get_variable("w", [2], initializer=constant(tf))
        held = tf.get_variable(
            "held",
            [2],
            initializer=tf.zeros_initializer(),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

        def gather() -> Any:
            loss = tf.reduce_sum((w * (number(tf) + 1) - 1) ** 2)
            [grad] = tf.gradients(loss, [w])
            return after(tf, held.assign_add(grad), loss)

        def apply() -> Any:
            train = optimizer.apply_gradients([(held.read_value(), w)])
            with tf.control_dependencies([train]):
                return after(tf, held.assign(tf.zeros([2])), number(tf))

        gathered = strategy.experimental_local_results(call(strategy, gather))
        applied = strategy.experimental_local_results(call(strategy, apply))
        with session(tf) as running:
            initialize(tf, running)
            for turn in range(2):
                running.run(gathered)
                running.run(gathered)
                record(f"held {turn}", rounded(running.run(held)))
                running.run(applied)
                record(f"w {turn}", rounded(running.run(w)))


@program
def saver_of_strategy(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    path = os.path.join(str(record.folder), "model")
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(0.1)

        def fn() -> Any:
            loss = tf.reduce_mean((linear(tf, tf.ones([3, 2])) - number(tf)) ** 2)
            return after(tf, optimizer.minimize(loss, global_step=step), loss)

        operation = strategy.experimental_local_results(call(strategy, fn))
        saver = tf.train.Saver(max_to_keep=2)
        with session(tf) as running:
            initialize(tf, running)
            for _ in range(3):
                running.run(operation)
                saver.save(running, path, global_step=step)
            kept = [os.path.basename(name) for name in saver.last_checkpoints]
            values = by_name(tf, running)
        with session(tf) as running:
            saver.restore(running, tf.train.latest_checkpoint(str(record.folder)))
            record("same", by_name(tf, running) == values)
            running.run(operation)
            record("next", by_name(tf, running))
    record("kept", kept)
    record("listed", [list(item) for item in tf.train.list_variables(path + "-3")])


@program
def monitored_session(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    folder = str(record.folder)
    config = tf.ConfigProto(device_count={"CPU": 4})
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def fn() -> Any:
            loss = tf.reduce_mean((linear(tf, tf.ones([3, 2])) - number(tf)) ** 2)
            return after(tf, optimizer.minimize(loss, global_step=step), loss)

        total = strategy.reduce("MEAN", call(strategy, fn), axis=None)
        for turn, last in enumerate([3, 5]):
            seen = []
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=folder,
                save_checkpoint_steps=2,
                save_summaries_steps=None,
                hooks=[tf.train.StopAtStepHook(last_step=last)],
                config=config,
            ) as running:
                while not running.should_stop():
                    seen.append(rounded(running.run(total)))
            record(f"losses {turn}", seen)
    record("last", os.path.basename(tf.train.latest_checkpoint(folder)))


@program
def checkpoint_hooks(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    folder = str(record.folder)
    config = tf.ConfigProto(device_count={"CPU": 4})
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def fn() -> Any:
            loss = tf.reduce_mean((linear(tf, tf.ones([3, 2])) - number(tf)) ** 2)
            return after(tf, optimizer.minimize(loss, global_step=step), loss)

        operation = strategy.group(call(strategy, fn))
        hooks = [
            tf.train.CheckpointSaverHook(folder, save_steps=2),
            tf.train.StepCounterHook(every_n_steps=100, output_dir=folder),
            tf.train.NanTensorHook(
                strategy.reduce("MEAN", call(strategy, lambda: number(tf)), None)
            ),
        ]
        with tf.train.SingularMonitoredSession(hooks=hooks, config=config) as running:
            for _ in range(5):
                running.run(operation)
            record("step", int(running.raw_session().run(step)))
    state = tf.train.get_checkpoint_state(folder)
    record("kept", [os.path.basename(item) for item in state.all_model_checkpoint_paths])


@program
def summaries_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            tf.summary.scalar("mine", number(tf))
            tf.summary.histogram("many", number(tf) + tf.ones([3]))
            return number(tf)

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)
        tf.summary.scalar("total", total)
        merged = tf.summary.merge_all()
        with session(tf) as running:
            summary = tf.Summary.FromString(running.run(merged))
            record("tags", sorted(value.tag for value in summary.value))
            record("values", {v.tag: v.simple_value for v in summary.value if "many" not in v.tag})


def rows(tf: Any) -> Any:
    """Return the new value of a row."""
    return tf.IndexedSlices([9.0], [1])


@program
def methods_of_variables(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable([1.0, 2.0, 3.0], name="v")
        n = tf.Variable(0, name="n", trainable=False)
        with session(tf) as running:
            initialize(tf, running)
            record("eval", rounded(v.eval(running)))
            record("read", [rounded(item) for item in running.run([v + 1, v[1], v * v, -v])])
            running.run(v.assign([4.0, 5.0, 6.0]))
            running.run(v.assign_sub([1.0, 1.0, 1.0]))
            record("all", rounded(running.run([item.value() for item in v.values])))
            running.run(n.assign_add(2))
            record("n", int(running.run(n)))
            record.error("scatter", lambda: running.run(v.scatter_update(rows(tf))))
            record("scattered", rounded(running.run(v)))
            record.error("count", lambda: running.run(n.count_up_to(3)))
            record("shape", v.shape.as_list())
            record("dtype", v.dtype.base_dtype.name)
            record("name", [v.name, v.op.name, n.name])
            record("initialized", bool(running.run(tf.is_variable_initialized(v))))
            names = running.run(tf.report_uninitialized_variables())
            record("uninitialized", [str(name) for name in names])
            record("matmul", rounded(running.run(tf.tensordot(v, v, 1))))
            record("gather", rounded(running.run(tf.gather(v, [2, 0]))))


@program
def functions_of_variables(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    mean = tf.VariableAggregation.MEAN
    with strategy.scope():
        v = tf.get_variable("v", [3], initializer=constant(tf, 1.0))
        own = tf.get_variable("own", [3], initializer=constant(tf, 1.0), aggregation=mean)
        changes = {
            "assign": lambda: tf.assign(v, [1.0, 2.0, 3.0]),
            "assign_add": lambda: tf.assign_add(v, [1.0, 1.0, 1.0]),
            "assign_sub": lambda: tf.assign_sub(v, [0.0, 1.0, 2.0]),
        }
        in_replicas = {
            "assign": lambda: tf.assign(own, number(tf) + tf.ones([3])),
            "assign_add": lambda: tf.assign_add(own, number(tf) + tf.ones([3])),
        }
        with session(tf) as running:
            initialize(tf, running)
            for name, change in changes.items():
                running.run(getattr(change(), "op", None) or change())
                copies = [item.value() for item in v.values]
                record(f"{name}", rounded(running.run(copies)))
            for name, change in in_replicas.items():
                done = call(strategy, lambda change=change: after(tf, change(), number(tf)))
                running.run(strategy.experimental_local_results(done))
                copies = [item.value() for item in own.values]
                record(f"{name} in replicas", rounded(running.run(copies)))


@program
def loads(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], name="v")
        with session(tf) as running:
            initialize(tf, running)
            v.load([7.0, 8.0], running)
            record("values", rounded(running.run([item.value() for item in v.values])))


@program
def partitioned_and_reused(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            with tf.variable_scope("net", partitioner=tf.fixed_size_partitioner(2)):
                w = tf.get_variable("w", [4, 2], initializer=constant(tf))
            with tf.variable_scope("net", reuse=True):
                same = tf.get_variable("w", [4, 2])
            with tf.variable_scope("tower", reuse=tf.AUTO_REUSE):
                first = linear(tf, tf.ones([1, 2]))
                second = linear(tf, tf.ones([1, 2]) * 2)
            return tf.reduce_sum(w + same) + tf.reduce_sum(first + second)

        record("values", run_steps(tf, strategy, fn, steps=1))
        record("names", [item.name for item in tf.global_variables()])


@program
def reused_over_calls(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def fn() -> Any:
            with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
                return linear(tf, tf.ones([1, 2]) + number(tf))

        train = strategy.reduce("SUM", call(strategy, fn), axis=None)
        test = strategy.reduce("SUM", call(strategy, fn), axis=None)
        with session(tf) as running:
            initialize(tf, running)
            record("values", rounded(running.run([train, test])))
        record("names", [item.name for item in tf.global_variables()])


@program
def keras_layers_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        k = tf.keras
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        hidden = k.layers.Dense(3, "relu", kernel_initializer=constant(tf))
        norm = k.layers.BatchNormalization(momentum=0.5)
        out = k.layers.Dense(1, kernel_initializer=constant(tf))

        def fn() -> Any:
            x = tf.reshape(tf.range(8.0), [4, 2]) * (number(tf) + 1)
            y = out(norm(hidden(x), training=True))
            loss = tf.reduce_mean((y - 1) ** 2) / 2
            train = optimizer.minimize(loss)
            with tf.control_dependencies([train]):
                return after(tf, train, loss)

        record("trained", run_steps(tf, strategy, fn)[0])
        record("count", len(tf.global_variables()))


def _keras_trained(name: str, **settings: Any) -> None:
    def run(tf: Any, record: Record) -> None:
        strategy = mirrored(tf)
        with strategy.scope():
            optimizer = getattr(tf.keras.optimizers, name)(**settings)
            w = tf.Variable([[1.0], [2.0]], name="w")
            b = tf.Variable([0.5], name="b")

            def fn() -> Any:
                x = tf.reshape(tf.range(6.0), [3, 2]) / 6 + number(tf)
                loss = tf.reduce_sum((tf.matmul(x, w) + b - 1) ** 2) / 6
                grads = tf.gradients(loss, [w, b])
                return after(tf, optimizer.apply_gradients(zip(grads, [w, b])), loss)

            total = strategy.reduce("SUM", call(strategy, fn), axis=None)
            with session(tf) as running:
                running.run(tf.global_variables_initializer())
                running.run(tf.variables_initializer(optimizer.variables()))
                record("losses", [rounded(running.run(total)) for _ in range(4)])
                copies = [item.value() for v in (w, b) for item in v.values]
                record("copies", [rounded(value) for value in running.run(copies)])
                record("steps", int(running.run(optimizer.iterations)))

    run.__name__ = f"keras_{name.lower()}_in_replicas"
    program(run)


for _name, _settings in [
    ("SGD", {"momentum": 0.9, "learning_rate": 0.1}),
    ("Adam", {"learning_rate": 0.1}),
    ("RMSprop", {"learning_rate": 0.1}),
    ("Adagrad", {"learning_rate": 0.1}),
]:
    _keras_trained(_name, **_settings)


@program
def keras_optimizer_of_rows(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.keras.optimizers.SGD(0.5)
        table = tf.Variable(tf.ones([4, 2]), name="table")

        def fn() -> Any:
            rows = tf.nn.embedding_lookup(table, [0, 0, 2] + tf.cast(number(tf), tf.int32))
            loss = tf.reduce_sum(rows**2)
            grads = tf.gradients(loss, [table])
            return after(tf, optimizer.apply_gradients(zip(grads, [table])), loss)

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            running.run(tf.variables_initializer(optimizer.variables()))
            record("losses", [rounded(running.run(total)) for _ in range(2)])
            record("table", rounded(running.run(table)))


@program
def keras_metrics_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        mean = tf.keras.metrics.Mean()
        accuracy = tf.keras.metrics.BinaryAccuracy()

        def fn() -> Any:
            one = mean.update_state([1.0, 2.0 + number(tf)])
            two = accuracy.update_state([1.0, 0.0], [0.9, 0.9 * number(tf)])
            with tf.control_dependencies([one, two]):
                return tf.identity(number(tf))

        operation = strategy.experimental_local_results(call(strategy, fn))
        results = [mean.result(), accuracy.result()]
        with session(tf) as running:
            running.run(tf.global_variables_initializer())
            running.run(tf.variables_initializer(mean.variables + accuracy.variables))
            for turn in range(2):
                running.run(operation)
                record(f"results {turn}", rounded(running.run(results)))


@program
def loops_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        w = tf.get_variable("w", [], initializer=constant(tf, 1.5))
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def fn() -> Any:
            _, y = tf.while_loop(
                lambda i, y: i < 3, lambda i, y: (i + 1, y * w), [0, number(tf) + 1.0]
            )
            loss = tf.cond(number(tf) > 0, lambda: y * 2, lambda: y)
            loss += tf.reduce_sum(tf.map_fn(lambda item: item * w, tf.ones([2])))
            return after(tf, optimizer.minimize(loss), loss)

        record("trained", run_steps(tf, strategy, fn, steps=2))


@program
def recurrent_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.AdamOptimizer(0.1)

        def fn() -> Any:
            cell = tf.nn.rnn_cell.LSTMCell(3, initializer=constant(tf))
            x = tf.ones([2, 4, 2]) * (number(tf) + 1)
            outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
            loss = tf.reduce_mean((outputs - 1) ** 2)
            return after(tf, optimizer.minimize(loss), loss)

        losses, values = run_steps(tf, strategy, fn)
        record("losses", losses)
        record("names", sorted(values))


@program
def custom_getters(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():

        def getter(inner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
            return inner(name, *args, **kwargs) * 2

        def fn() -> Any:
            with tf.variable_scope("a", custom_getter=getter):
                w = tf.get_variable("w", [2], initializer=constant(tf))
            return tf.reduce_sum(w) + number(tf)

        record("values", run_steps(tf, strategy, fn, steps=1))


@program
def convolutions_in_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf, 4)
    with strategy.scope():
        optimizer = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)

        def fn() -> Any:
            x = tf.reshape(tf.range(64.0), [1, 8, 8, 1]) / 64 + number(tf)
            x = tf.layers.conv2d(x, 2, 3, kernel_initializer=constant(tf), activation=tf.nn.relu)
            x = tf.layers.max_pooling2d(x, 2, 2)
            x = tf.layers.dropout(tf.layers.flatten(x), 0.0, training=True)
            logits = tf.layers.dense(x, 3, kernel_initializer=constant(tf))
            loss = tf.losses.sparse_softmax_cross_entropy([1], logits) / 4
            grads = optimizer.compute_gradients(loss)
            grads = [(tf.clip_by_norm(grad, 0.1), v) for grad, v in grads]
            return after(tf, optimizer.apply_gradients(grads), loss)

        record("losses", run_steps(tf, strategy, fn)[0])
