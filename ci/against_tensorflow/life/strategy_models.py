"""Models of users under strategies: of layers and checkpoints, and of tf.keras with callbacks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

from life.strategies import call, central, mirrored, number, rounded, session
from life.strategy_loops import (
    arrays,
    cross_entropy,
    deep,
    iterator_of,
    own_variables,
    ramp,
    until_the_end,
)
from life.strategy_trainings import after, by_name, constant, initialize, linear

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)

X = np.sin(np.arange(64, dtype=np.float32)).reshape(16, 4)
Y = X[:, :1] * 2 + 1
CLASSES = (np.arange(16) % 3).astype(np.int32)


@program
def averages_for_evaluation(tf: Any, record: Record) -> None:
    path = os.path.join(str(record.folder), "model")
    strategy = mirrored(tf)
    with strategy.scope():
        average = tf.train.ExponentialMovingAverage(0.5)
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        w = tf.get_variable("w", [2], initializer=ramp(tf))

        def fn() -> Any:
            loss = tf.reduce_sum((w - number(tf)) ** 2)
            train = optimizer.minimize(loss)
            with tf.control_dependencies([train]):
                return after(tf, average.apply([w]), loss)

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)
        saver = tf.train.Saver()
        with session(tf) as running:
            initialize(tf, running)
            record("losses", [rounded(running.run(total)) for _ in range(3)])
            record("variables", by_name(tf, running))
            saver.save(running, path)
    with tf.Graph().as_default(), session(tf) as running:
        w = tf.get_variable("w", [2])
        name = tf.train.ExponentialMovingAverage(0.5).average_name(w)
        tf.train.Saver({name: w}).restore(running, path)
        record("restored", rounded(running.run(w)))


def _classifier(tf: Any, strategy: Any, path: str, restores: bool) -> list[Any]:
    """Train a classifier, from a checkpoint if asked to, and save it; return its losses."""
    with tf.Graph().as_default(), strategy.scope():
        optimizer = tf.train.AdamOptimizer(0.1)
        iterator = iterator_of(tf, strategy, arrays(tf, 12, 6).repeat())

        def fn(batch: Any) -> Any:
            x, y = batch
            loss = cross_entropy(tf, y, deep(tf, x), 6)
            return after(tf, optimizer.minimize(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn, (iterator.get_next(),)), axis=None)
        saver = tf.train.Saver()
        with session(tf) as running:
            running.run(iterator.initialize())
            initialize(tf, running)
            if restores:
                saver.restore(running, path)
            losses = [rounded(running.run(total)) for _ in range(2)]
            saver.save(running, path)
            return losses


@program
def checkpoints_go_around(tf: Any, record: Record) -> None:
    path = os.path.join(str(record.folder), "model")
    makes = [lambda: mirrored(tf), lambda: central(tf, 3), lambda: mirrored(tf, 3),
             tf.distribute.get_strategy, lambda: mirrored(tf, 1)]  # fmt: skip
    for turn, make in enumerate(makes):
        strategy = make()
        if turn == 3:
            tf.distribute.OneDeviceStrategy("/cpu:0")
            strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        record(f"losses {turn}", _classifier(tf, strategy, path, turn > 0))
    shapes = tf.train.list_variables(path)
    record("names", [[name, list(shape)] for name, shape in shapes])


@program
def checkpoints_of_objects(tf: Any, record: Record) -> None:
    prefix = os.path.join(str(record.folder), "objects")
    path = ""
    for turn, count in enumerate((2, 3, 1)):
        with tf.Graph().as_default():
            strategy = mirrored(tf, count)
            with strategy.scope(), session(tf) as running:
                w = tf.Variable([1.0, 2.0], name="w", use_resource=True)
                step = tf.Variable(0, trainable=False, name="step", use_resource=True)
                keeper = tf.train.Checkpoint(w=w, step=step)
                changes = [strategy.group(w.assign_add([0.5, 0.25])),
                           strategy.group(step.assign_add(1))]  # fmt: skip
                running.run(tf.global_variables_initializer())
                if path:
                    keeper.restore(path).assert_consumed().run_restore_ops(running)
                running.run(changes)
                record(f"values {turn}", rounded(running.run(w)))
                record(f"step {turn}", int(running.run(step)))
                path = keeper.save(prefix, session=running)


@program
def hooks_around_uneven_epochs(tf: Any, record: Record) -> None:
    seen: list[Any] = []

    class Watching(tf.train.SessionRunHook):  # type: ignore[misc]
        def before_run(self, context: Any) -> Any:
            return tf.train.SessionRunArgs(tf.train.get_global_step())

        def after_run(self, context: Any, values: Any) -> None:
            seen.append(int(values.results))

        def end(self, running: Any) -> None:
            seen.append("end")

    strategy = mirrored(tf)
    with strategy.scope():
        step = tf.train.get_or_create_global_step()
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        iterator = iterator_of(tf, strategy, arrays(tf, 7, 3))

        def fn(batch: Any) -> Any:
            x, y = batch
            loss = cross_entropy(tf, y, deep(tf, x), 3)
            return after(tf, optimizer.minimize(loss, step), loss)

        total = strategy.reduce("SUM", call(strategy, fn, (iterator.get_next(),)), axis=None)
        scaffold = tf.train.Scaffold(local_init_op=tf.group(iterator.initialize()))
        config = tf.ConfigProto(device_count={"CPU": 4})
        losses = []
        creator = tf.train.ChiefSessionCreator(scaffold, config=config)
        with tf.train.MonitoredSession(creator, [Watching()]) as running:
            while not running.should_stop():
                losses.append(rounded(running.run(total)))
        record("losses", losses)
        record("seen", seen)


@program
def steps_gathered_before_an_update(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        w = tf.Variable([1.0, 1.0], name="w")
        held = tf.Variable([0.0, 0.0], trainable=False, name="held",
                           aggregation=tf.VariableAggregation.SUM)  # fmt: skip
        turn = tf.placeholder(tf.int32, [])

        def fn() -> Any:
            loss = tf.reduce_sum((w * (number(tf) + 1) - tf.cast(turn, tf.float32)) ** 2) / 2
            return after(tf, held.assign_add(tf.gradients(loss, [w])[0]), loss)

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)
        with tf.control_dependencies([total]):
            move = strategy.extended.update(w, lambda v, g: v.assign_sub(0.1 * g), (held,))
        with tf.control_dependencies([strategy.group(move)]):
            clear = held.assign(tf.zeros([2]))
        with session(tf) as running:
            initialize(tf, running)
            for count in range(4):
                fetches = [total, strategy.group(clear)] if count % 2 else [total]
                record(f"loss {count}", rounded(running.run(fetches, {turn: count})[0]))
                record(f"variables {count}", by_name(tf, running))


@program
def counts_of_confusions(tf: Any, record: Record) -> None:
    strategy = mirrored(tf, 3)
    with strategy.scope():
        table = tf.Variable(tf.zeros([3, 3]), trainable=False, name="table",
                            synchronization=tf.VariableSynchronization.ON_READ,
                            aggregation=tf.VariableAggregation.SUM)  # fmt: skip
        iterator = iterator_of(tf, strategy, arrays(tf, 10, 5))

        def fn(batch: Any) -> Any:
            x, y = batch
            found = tf.argmax(x, 1)
            seen = tf.confusion_matrix(y, found, 3, dtype=tf.float32)
            return after(tf, table.assign_add(seen), tf.size(y))

        sizes = strategy.experimental_local_results(call(strategy, fn, (iterator.get_next(),)))
        whole = strategy.extended.read_var(table)
        with session(tf) as running:
            initialize(tf, running)
            running.run(iterator.initialize())
            record("sizes", until_the_end(tf, running, sizes))
            record("table", rounded(running.run(whole)))
            record("accuracy", rounded(running.run(tf.trace(whole) / tf.reduce_sum(whole))))


@program
def slow_weights_follow(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.MomentumOptimizer(0.2, 0.5)
        w = tf.get_variable("w", [2], initializer=ramp(tf))
        slow = tf.get_variable("slow", [2], initializer=ramp(tf), trainable=False)

        def fn() -> Any:
            loss = tf.reduce_sum((w - 1.0 - number(tf)) ** 2)
            return after(tf, optimizer.minimize(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)

        def look_back(fast: Any, kept: Any) -> Any:
            new = kept + 0.5 * (fast - kept)
            return tf.group(kept.assign(new), fast.assign(new))

        back = strategy.extended.update(w, look_back, (slow,))
        with session(tf) as running:
            initialize(tf, running)
            for turn in range(2):
                record(f"losses {turn}", [rounded(running.run(total)) for _ in range(2)])
                running.run(back)
                record(f"variables {turn}", by_name(tf, running))


@program
def padded_sentences(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    sentences = [[1, 2], [3], [2, 2, 1, 4], [4, 3, 1], [1]]

    def words() -> Any:
        yield from sentences

    with strategy.scope():
        data = tf.data.Dataset.from_generator(words, tf.int32, tf.TensorShape([None]))
        iterator = iterator_of(tf, strategy, data.padded_batch(4, [None]))
        optimizer = tf.train.AdamOptimizer(0.1)

        def fn(ids: Any) -> Any:
            table = tf.get_variable("table", [5, 2], initializer=ramp(tf))
            lengths = tf.reduce_sum(tf.cast(ids > 0, tf.int32), 1)
            cell = tf.nn.rnn_cell.GRUCell(3, kernel_initializer=constant(tf))
            _, state = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(table, ids), lengths,
                                         dtype=tf.float32)  # fmt: skip
            loss = tf.reduce_sum((state - 0.5) ** 2) / 4
            grads = optimizer.compute_gradients(loss)
            grads = [(tf.clip_by_value(tf.convert_to_tensor(g), -0.1, 0.1), v) for g, v in grads]
            return after(tf, optimizer.apply_gradients(grads), loss)

        total = strategy.reduce("SUM", call(strategy, fn, (iterator.get_next(),)), axis=None)
        with session(tf) as running:
            initialize(tf, running)
            for turn in range(2):
                running.run(iterator.initialize())
                record(f"losses {turn}", until_the_end(tf, running, total))
            record("variables", by_name(tf, running))


@program
def moments_of_all_replicas(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def fn() -> Any:
            x = tf.reshape(tf.range(6.0), [3, 2]) * (number(tf) + 1.0) / 6
            w = tf.get_variable("w", [2, 2], initializer=ramp(tf))
            y = tf.matmul(x, w)
            context = tf.distribute.get_replica_context()
            mean, square = context.all_reduce("MEAN", [tf.reduce_mean(y, 0),
                                                       tf.reduce_mean(y**2, 0)])  # fmt: skip
            normed = tf.nn.batch_normalization(y, mean, square - mean**2, None, None, 1e-3)
            loss = tf.reduce_sum(normed**3 * number(tf)) / 9
            return after(tf, optimizer.minimize(loss, var_list=own_variables(tf)), loss)

        values = strategy.experimental_local_results(call(strategy, fn))
        with session(tf) as running:
            initialize(tf, running)
            record("losses", [rounded(running.run(values)) for _ in range(3)])
            record("variables", by_name(tf, running))


@program
def tasks_with_common_layers(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    x = {"a": X[:8], "b": X[8:16] * 2}
    y = {"one": Y[:8], "two": CLASSES[:8]}
    with strategy.scope():
        data = tf.data.Dataset.from_tensor_slices((x, y)).batch(4).repeat()
        iterator = iterator_of(tf, strategy, data)
        optimizer = tf.train.RMSPropOptimizer(0.05, centered=True)

        def fn(features: Any, labels: Any) -> Any:
            both = tf.concat([features["a"], features["b"]], 1)
            scale = tf.contrib.layers.l2_regularizer(0.1) if hasattr(tf, "contrib") else None
            scale = scale or (lambda w: 0.1 * tf.nn.l2_loss(w))
            hidden = tf.layers.dense(both, 3, tf.nn.elu, kernel_initializer=ramp(tf),
                                     kernel_regularizer=scale)  # fmt: skip
            one, two = (
                linear(tf, hidden, "one"),
                tf.layers.dense(hidden, 3, kernel_initializer=ramp(tf), name="two"),
            )
            losses = [
                tf.losses.huber_loss(labels["one"], one, weights=0.5),
                tf.losses.sparse_softmax_cross_entropy(labels["two"], two),
                tf.reduce_sum(tf.losses.get_regularization_losses()[:1]),
            ]
            loss = tf.add_n(losses) / 2
            return after(tf, optimizer.minimize(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn, iterator.get_next()), axis=None)
        with session(tf) as running:
            running.run(iterator.initialize())
            initialize(tf, running)
            record("losses", [rounded(running.run(total)) for _ in range(4)])
