"""Programs of the less common methods of strategies, and of models of Keras in their scopes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

from life.strategies import call, central, mirrored, names, number, rounded, session
from life.strategy_trainings import after, by_name, constant, initialize, linear, run_steps

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def one(tf: Any) -> Any:
    """Return a OneDeviceStrategy."""
    mirrored(tf)
    return tf.distribute.OneDeviceStrategy("/cpu:1")


def short(name: str) -> str:
    """Return the last part of a device's name."""
    return str(name).rpartition("device:")[2]


@program
def devices_of_strategies(tf: Any, record: Record) -> None:
    makes = {"mirrored": mirrored, "central": central, "one": one}
    for name, make in makes.items():
        with tf.Graph().as_default():
            strategy = make(tf)
            extended = strategy.extended
            with strategy.scope():
                v = tf.get_variable("v", [], initializer=constant(tf), use_resource=True)
                record(f"{name}: workers", [short(item) for item in extended.worker_devices])
                record(f"{name}: parameters", [short(item) for item in extended.parameter_devices])
                record(f"{name}: replicas", strategy.num_replicas_in_sync)
                record(f"{name}: kind", [extended.experimental_between_graph,
                                         extended.experimental_should_init,
                                         extended.should_checkpoint,
                                         extended.should_save_summary,
                                         extended.experimental_require_static_shapes])  # fmt: skip
                record(f"{name}: v", [short(part.device) for part in strategy.unwrap(v)])


@program
def arrays_as_datasets(tf: Any, record: Record) -> None:
    x = np.arange(8, dtype=np.float32)
    for name, make in {"mirrored": mirrored, "one": one, "central": central}.items():
        with tf.Graph().as_default():
            strategy = make(tf)
            with strategy.scope(), session(tf) as running:
                data = strategy.experimental_make_numpy_dataset((x, {"y": x * 2}), session=running)
                iterator = strategy.make_dataset_iterator(data.batch(4))
                value = call(strategy, lambda a, b: a + b["y"], iterator.get_next())
                parts = strategy.experimental_local_results(value)
                running.run(iterator.initialize())
                record(name, [rounded(running.run(parts)) for _ in range(2)])
                record(f"{name}: variables", names(tf.global_variables()))


@program
def default_strategy(tf: Any, record: Record) -> None:
    strategy = tf.distribute.get_strategy()
    record("replicas", strategy.num_replicas_in_sync)
    value = call(strategy, lambda x, y=1: x + y, (2,), {"y": 5})
    record("value", value)
    record("reduce", [strategy.reduce("SUM", 3.0, None), strategy.reduce("MEAN", 4.0, None)])
    record("local", strategy.experimental_local_results(7))
    record.error("workers", lambda: strategy.extended.worker_devices)
    record.error("parameters", lambda: strategy.extended.parameter_devices)
    with strategy.scope():
        record("in its scope", tf.distribute.has_strategy())
        v = tf.get_variable("v", [], initializer=constant(tf), use_resource=True)
    record("created", strategy.extended.variable_created_in_scope(v))
    contexts: list[Any] = []

    def input_fn(context: Any) -> Any:
        contexts.append([context.num_input_pipelines, context.input_pipeline_id,
                         context.num_replicas_in_sync])  # fmt: skip
        return tf.data.Dataset.range(3)

    iterator = strategy.make_input_fn_iterator(input_fn)
    following = iterator.get_next()
    reduced = strategy.reduce("SUM", tf.range(4.0), axis=0)
    with session(tf) as running:
        running.run(iterator.initialize())
        record("elements", [int(running.run(following)) for _ in range(3)])
        record("axis", rounded(running.run(reduced)))
    record("contexts", contexts)


@program
def methods_of_the_base(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        extended = strategy.extended
        v = tf.get_variable("v", [2], initializer=constant(tf))
        value = call(strategy, lambda: number(tf) + tf.ones([2]))
        record("container", [extended.value_container(part) is v for part in v.values])
        record.error("list", lambda: extended.broadcast_to(tf.constant(3.0), ["/cpu:0"]))
        copies = extended.broadcast_to(tf.constant(3.0), v)
        record("devices", [short(item.device) for item in copies.values])
        sums = extended.batch_reduce_to("SUM", [(value, v), (value, "/cpu:1")])
        ungrouped = extended.update(v, lambda var, x: var.assign_add(x), (value,), group=False)
        where = extended.non_slot_devices([v])
        other = extended.update_non_slot(where, lambda: tf.constant(2.0), group=False)
        with session(tf) as running:
            initialize(tf, running)
            record("copies", rounded(running.run(list(copies.values))))
            record("sums", [rounded(running.run(strategy.unwrap(item))) for item in sums])
            record("updated", rounded(running.run(list(ungrouped))))
            record("non slot", rounded(running.run(list(other))))
            record("group", running.run(strategy.group(value)) is None)


@program
def structures_reduced_over_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf, 3)

    def fn() -> Any:
        context = tf.distribute.get_replica_context()
        rows = tf.IndexedSlices(tf.ones([1, 2]) * number(tf), tf.constant([0]), tf.constant([3, 2]))
        total = context.all_reduce("SUM", [number(tf), {"b": number(tf) * 2}])
        dense = tf.convert_to_tensor(context.all_reduce("SUM", rows))
        return total[0], total[1]["b"], dense

    with strategy.scope():
        values = [strategy.experimental_local_results(item) for item in call(strategy, fn)]
        with session(tf) as running:
            for turn, value in enumerate(values):
                record(f"value {turn}", rounded(running.run(value)))


@program
def losses_in_replicas(tf: Any, record: Record) -> None:
    kinds = tf.losses.Reduction
    for name in ("NONE", "SUM", "MEAN", "SUM_OVER_BATCH_SIZE", "SUM_BY_NONZERO_WEIGHTS"):
        kind = getattr(kinds, name)
        with tf.Graph().as_default():
            strategy = mirrored(tf)
            with strategy.scope():

                def fn(kind: Any = kind) -> Any:
                    w = tf.get_variable("w", [3], initializer=constant(tf))
                    loss = tf.losses.absolute_difference(
                        tf.ones([3]), w * (number(tf) + 1), weights=[1.0, 0.0, 2.0], reduction=kind
                    )
                    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
                    return after(tf, train, tf.reduce_sum(loss))

                record(name, run_steps(tf, strategy, fn, steps=2))
                record(f"{name}: collected", len(tf.losses.get_losses()))


@program
def losses_of_an_estimator(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope(), strategy._scale_loss_for_estimator_enabled():

        def fn() -> Any:
            x = tf.ones([3, 2]) * (number(tf) + 1)
            loss = tf.losses.mean_squared_error(tf.ones([3, 1]), linear(tf, x))
            return after(tf, tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss)

        record("trained", run_steps(tf, strategy, fn))


@program
def gradients_of_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        w = tf.get_variable("w", [2], initializer=constant(tf, 2.0))
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def fn() -> Any:
            loss = tf.reduce_sum(w**3) * (number(tf) + 1)
            pairs = optimizer.compute_gradients(loss, [w])
            [hessian] = tf.gradients(tf.gradients(loss, [w])[0], [w])
            return pairs[0][0], hessian, tf.stop_gradient(w)

        grad, hessian, kept = call(strategy, fn)
        with session(tf) as running:
            initialize(tf, running)
            record("grad", rounded(running.run(strategy.unwrap(grad))))
            record("hessian", rounded(running.run(strategy.unwrap(hessian))))
            record("kept", rounded(running.run(strategy.unwrap(kept))))


@program
def settings_of_variables(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        local = tf.Variable(
            1.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False
        )
        clipped = tf.get_variable("clipped", [2], initializer=constant(tf, 2.0),
                                  constraint=lambda w: tf.clip_by_value(w, 0.0, 1.0))  # fmt: skip
        shaped = tf.get_variable("shaped", initializer=np.float32([1, 2]))
        late = tf.Variable(lambda: tf.ones([2]) * 3, name="late", dtype=tf.float32)
        record("collections", [names(tf.local_variables()), names(tf.trainable_variables())])

        def fn() -> Any:
            loss = tf.reduce_sum((clipped - number(tf)) ** 2)
            return after(
                tf, tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[clipped]), loss
            )

        record("trained", run_steps(tf, strategy, fn))
        record("shapes", [item.shape.as_list() for item in (local, shaped, late)])


@program
def names_in_scopes(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope(), tf.variable_scope("net"):
        first = tf.get_variable("w", [1], initializer=constant(tf))

        def fn() -> Any:
            with tf.variable_scope("layer") as scope:
                w = tf.get_variable("w", [1], initializer=constant(tf))
            with tf.variable_scope(scope, reuse=True):
                again = tf.get_variable("w", [1])
            with tf.name_scope("ops"):
                return tf.add(w, again, name="sum")

        values = strategy.experimental_local_results(call(strategy, fn))
        record("values", [value.name for value in values])
        record("variables", names(tf.global_variables()))
        record("parts", [part.name for part in first.values])


@program
def averages_across_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    path = os.path.join(str(record.folder), "model")
    with strategy.scope():
        w = tf.get_variable("w", [2], initializer=constant(tf, 1.0))
        averages = tf.train.ExponentialMovingAverage(0.5)

        def fn() -> Any:
            loss = tf.reduce_sum((w - number(tf)) ** 2)
            train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            with tf.control_dependencies([train]):
                return after(tf, averages.apply([w]), loss)

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)
        record("name", averages.average_name(w))
        with session(tf) as running:
            initialize(tf, running)
            record("losses", [rounded(running.run(total)) for _ in range(3)])
            record("average", rounded(running.run(averages.average(w))))
            tf.train.Saver().save(running, path)
    record("saved", [list(item) for item in tf.train.list_variables(path)])


@program
def batch_norm_in_a_branch(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        is_training = tf.placeholder_with_default(True, [])

        def fn() -> Any:
            x = tf.reshape(tf.range(8.0), [4, 2]) * (number(tf) + 1)
            y = tf.layers.batch_normalization(x, training=is_training, momentum=0.5)
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)[-2:]):
                return tf.reduce_sum(y * y)

        values = strategy.experimental_local_results(call(strategy, fn))
        with session(tf) as running:
            initialize(tf, running)
            for turn, feeds in enumerate([{}, {is_training: False}]):
                record(f"values {turn}", rounded(running.run(values, feeds)))
                record(f"averages {turn}", by_name(tf, running))


@program
def loops_that_merge(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        v = tf.get_variable("v", [], initializer=constant(tf), trainable=False,
                            aggregation=tf.VariableAggregation.SUM)  # fmt: skip
        first = strategy.group(call(strategy, lambda: v.assign_add(number(tf) + 1.0)))
        with tf.control_dependencies([first]):
            second = strategy.group(call(strategy, lambda: v.assign_sub(number(tf))))
        with session(tf) as running:
            initialize(tf, running)
            running.run(second)
            record("copies", rounded(running.run([part.value() for part in v.values])))


def _net(tf: Any) -> Any:
    k = tf.keras
    return k.Sequential([
        k.layers.Conv2D(3, 3, activation="relu", input_shape=(6, 6, 1),
                        kernel_initializer=constant(tf)),
        k.layers.MaxPooling2D(),
        k.layers.Flatten(),
        k.layers.Dense(4, kernel_initializer=constant(tf), activation="softmax"),
    ])  # fmt: skip


def _digits(count: int = 16) -> Any:
    x = np.sin(np.arange(count * 36, dtype=np.float32)).reshape(count, 6, 6, 1)
    return x, (np.arange(count) % 4).astype(np.int32)


def _convolutions(count: int) -> None:
    def run(tf: Any, record: Record) -> None:
        x, y = _digits()
        strategy = mirrored(tf, count)
        with session(tf) as running:
            tf.keras.backend.set_session(running)
            with strategy.scope():
                model = _net(tf)
                model.compile(
                    tf.keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy", ["accuracy"]
                )
            kept = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
            record("loss", rounded(kept.history["loss"]))
            named = "acc" if "acc" in kept.history else "accuracy"
            record("accuracy", rounded(kept.history[named]))
            record("evaluated", rounded(model.evaluate(x, y, batch_size=8, verbose=0)))
            record("predicted", rounded(model.predict(x, batch_size=8)[:2]))
            record("weights", [list(item.shape) for item in model.get_weights()])

    run.__name__ = f"keras_convolutions_on_{count}"
    program(run)


for _count in (1, 2, 4):
    _convolutions(_count)


@program
def keras_weights_exchanged(tf: Any, record: Record) -> None:
    x, y = _digits()
    path = os.path.join(str(record.folder), "weights.h5")
    losses = []
    for count in (2, 1):
        with tf.Graph().as_default():
            strategy = mirrored(tf, count)
            with session(tf) as running:
                tf.keras.backend.set_session(running)
                with strategy.scope():
                    model = _net(tf)
                    model.compile(tf.keras.optimizers.SGD(0.1), "sparse_categorical_crossentropy")
                if count == 1:
                    model.load_weights(path)
                    losses.append(rounded(model.evaluate(x, y, batch_size=8, verbose=0)))
                model.fit(x, y, batch_size=8, epochs=1, shuffle=False, verbose=0)
                if count == 2:
                    losses.append(rounded(model.evaluate(x, y, batch_size=8, verbose=0)))
                    model.save_weights(path)
    record("losses", losses)
