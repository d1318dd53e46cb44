"""Trainings as users of strategies wrote them for 1.15: their own loops around a step."""

from __future__ import annotations

from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

from life.strategies import call, central, mirrored, number, rounded, session
from life.strategy_methods import one
from life.strategy_trainings import after, by_name, constant, examples, initialize, linear

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def iterator_of(tf: Any, strategy: Any, dataset: Any) -> Any:
    """Return the iterator of a dataset that is divided among the replicas."""
    return strategy.make_dataset_iterator(dataset)


def arrays(tf: Any, count: int, size: int, features: int = 3) -> Any:
    """Return a dataset of batches of numbers with classes; the last batch may be smaller."""
    x = np.cos(np.arange(count * features, dtype=np.float32)).reshape(count, features)
    y = (np.arange(count) % 3).astype(np.int32)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(size)


def deep(tf: Any, x: Any) -> Any:
    """Return the logits of three classes."""
    hidden = tf.layers.dense(x, 4, tf.tanh, kernel_initializer=constant(tf, 0.2), name="hidden")
    return tf.layers.dense(hidden, 3, kernel_initializer=ramp(tf), name="logits")


def ramp(tf: Any) -> Any:
    """Return an initializer of unequal values."""
    return lambda shape, dtype=None, partition_info=None: tf.reshape(
        tf.linspace(-0.5, 0.5, int(np.prod(shape))), shape
    )


def cross_entropy(tf: Any, y: Any, logits: Any, batch: int) -> Any:
    """Return a replica's part of the mean loss of a batch."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    return tf.reduce_sum(losses) / batch


def own_variables(tf: Any) -> Any:
    """Return the trainable variables without the copies that 2.x also collects."""
    return [v for v in tf.trainable_variables() if hasattr(v, "values")]


def until_the_end(tf: Any, running: Any, fetches: Any) -> list[Any]:
    """Return the values of runs until the dataset ends."""
    values = []
    while True:
        try:
            values.append(np.asarray(running.run(fetches)).tolist())
        except tf.errors.OutOfRangeError:
            return values


@program
def steps_on_an_iterator(tf: Any, record: Record) -> None:
    for name, make in {"mirrored": mirrored, "one": one}.items():
        with tf.Graph().as_default():
            strategy = make(tf)
            with strategy.scope():
                iterator = iterator_of(tf, strategy, examples(tf))
                optimizer = tf.train.MomentumOptimizer(0.05, 0.9)

                def step(
                    context: Any, batch: Any, strategy: Any = strategy, optimizer: Any = optimizer
                ) -> Any:
                    def fn(batch: Any) -> Any:
                        x, y = batch
                        loss = tf.reduce_sum((linear(tf, x) - y) ** 2) / 4
                        train = optimizer.minimize(loss)
                        context.set_last_step_output("loss", loss, tf.distribute.ReduceOp.SUM)
                        context.set_non_tensor_output("name", "step")
                        return train

                    return strategy.group(call(strategy, fn, (batch,)))

                context = strategy.extended.experimental_run_steps_on_iterator(
                    step, iterator, iterations=3, initial_loop_values={"loss": 0.0}
                )
                with session(tf) as running:
                    running.run(iterator.initialize())
                    initialize(tf, running)
                    losses = []
                    for _ in range(2):
                        fetches = [context.last_step_outputs["loss"], context.run_op]
                        losses.append(rounded(running.run(fetches)[0]))
                    record(f"{name}: losses", losses)
                    record(f"{name}: variables", by_name(tf, running))
                    record(f"{name}: others", [str(v) for v in context.non_tensor_outputs["name"]])


@program
def epochs_with_metrics(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        train, test = (iterator_of(tf, strategy, arrays(tf, n, 4)) for n in (10, 7))
        optimizer = tf.train.AdamOptimizer(0.05)
        loss_seen, accuracy = tf.keras.metrics.Mean(), tf.keras.metrics.SparseCategoricalAccuracy()

        def train_step(batch: Any) -> Any:
            x, y = batch
            with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                logits = deep(tf, x)
            loss = cross_entropy(tf, y, logits, 4)
            seen = [accuracy.update_state(y, logits), optimizer.minimize(loss)]
            return after(tf, tf.group(*seen), loss)

        def test_step(batch: Any) -> Any:
            x, y = batch
            with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=y, logits=deep(tf, x)
                )
            return after(tf, loss_seen.update_state(losses), tf.cast(tf.size(losses), tf.float32))

        trained = strategy.reduce("SUM", call(strategy, train_step, (train.get_next(),)), None)
        tested = strategy.reduce("SUM", call(strategy, test_step, (test.get_next(),)), None)
        states = tf.variables_initializer([*loss_seen.variables, *accuracy.variables])
        with session(tf) as running:
            initialize(tf, running)
            for epoch in range(2):
                running.run([states, train.initialize(), test.initialize()])
                record(f"losses {epoch}", until_the_end(tf, running, trained))
                record(f"tested {epoch}", until_the_end(tf, running, tested))
                results = [loss_seen.result(), accuracy.result()]
                record(f"metrics {epoch}", rounded(running.run(results)))


def trained_with(tf: Any, strategy: Any, train: Any, steps: int = 4) -> list[Any]:
    """Return the losses of a classifier, and its variables, with a function that trains it."""
    with strategy.scope():
        iterator = iterator_of(tf, strategy, arrays(tf, 12, 4).repeat())

        def fn(batch: Any) -> Any:
            x, y = batch
            loss = cross_entropy(tf, y, deep(tf, x), 4)
            return after(tf, train(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn, (iterator.get_next(),)), axis=None)
        with session(tf) as running:
            running.run(iterator.initialize())
            initialize(tf, running)
            losses = [rounded(running.run(total)) for _ in range(steps)]
            return [losses, by_name(tf, running)]


@program
def norms_clipped_in_each_replica(tf: Any, record: Record) -> None:
    optimizer = tf.train.GradientDescentOptimizer(0.5)

    def train(loss: Any) -> Any:
        grads, variables = zip(*optimizer.compute_gradients(loss))
        clipped, norm = tf.clip_by_global_norm(grads, 0.05)
        with tf.control_dependencies([tf.debugging.assert_non_negative(norm)]):
            return optimizer.apply_gradients(zip(clipped, variables))

    record("trained", trained_with(tf, mirrored(tf), train))


@program
def norms_clipped_after_the_sum(tf: Any, record: Record) -> None:
    optimizer = tf.train.AdagradOptimizer(0.2)

    def train(loss: Any) -> Any:
        context = tf.distribute.get_replica_context()
        variables = own_variables(tf)
        grads = context.all_reduce("SUM", tf.gradients(loss, variables))
        clipped, _ = tf.clip_by_global_norm(grads, 0.1)
        shared = [grad / context.num_replicas_in_sync for grad in clipped]
        return optimizer.apply_gradients(zip(shared, variables))

    record("trained", trained_with(tf, mirrored(tf), train))


def _scheduled(name: str, rate_of: Any) -> None:
    def run(tf: Any, record: Record) -> None:
        strategy = mirrored(tf)
        with strategy.scope():
            step = tf.train.get_or_create_global_step()
            optimizer = tf.train.MomentumOptimizer(rate_of(tf, step), 0.5)
        trained = trained_with(tf, strategy, lambda loss: optimizer.minimize(loss, step), 5)
        record("trained", trained)

    run.__name__ = f"rate_by_{name}"
    program(run)


_scheduled("pieces", lambda tf, step: tf.train.piecewise_constant(step, [1, 3], [0.5, 0.1, 0.01]))
_scheduled("cosine", lambda tf, step: tf.train.cosine_decay(0.5, step, 4, alpha=0.1))
_scheduled("restarts", lambda tf, step: tf.train.cosine_decay_restarts(0.5, step, 2))
_scheduled("warmup", lambda tf, step: tf.cond(
    step < 2,
    lambda: 0.1 * tf.cast(step + 1, tf.float32),
    lambda: tf.train.polynomial_decay(0.4, step, 5, 0.01, power=2.0),
))  # fmt: skip


@program
def inner_steps_by_a_loop(tf: Any, record: Record) -> None:
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    strategy = mirrored(tf)
    with strategy.scope():
        start = tf.get_variable("start", [2], initializer=ramp(tf))

        def fn() -> Any:
            goal = tf.stack([number(tf), 1.0 - number(tf)])

            def inner(count: Any, point: Any) -> Any:
                return count + 1, point - 0.2 * (point - goal)

            _, found = tf.while_loop(lambda count, _: count < 3, inner, [0, start + 0.0])
            loss = tf.reduce_sum((found - goal) ** 2)
            return after(tf, optimizer.minimize(loss), loss)

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)
        with session(tf) as running:
            initialize(tf, running)
            record("losses", [rounded(running.run(total)) for _ in range(4)])
            record("variables", by_name(tf, running))


@program
def two_players(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        players = [tf.train.AdamOptimizer(0.05, beta1=0.5), tf.train.RMSPropOptimizer(0.05)]

        def fn() -> Any:
            noise = tf.reshape(tf.linspace(-1.0, 1.0, 4), [4, 1]) + number(tf) / 4
            with tf.variable_scope("generator"):
                fake = tf.layers.dense(noise, 2, kernel_initializer=ramp(tf))
            real = tf.ones([4, 2]) * (1 + number(tf))
            with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
                scores = [tf.layers.dense(x, 1, name="d", kernel_initializer=constant(tf))
                          for x in (real, fake)]  # fmt: skip
            wins = tf.losses.sigmoid_cross_entropy(tf.ones([4, 1]), scores[1]) / 2
            loses = tf.losses.sigmoid_cross_entropy(tf.ones([4, 1]), scores[0]) / 2 - wins
            steps = []
            for player, loss, scope in zip(players, (wins, loses), ("generator", "critic")):
                variables = tf.trainable_variables(scope)
                with tf.control_dependencies(steps):
                    steps.append(player.minimize(loss, var_list=variables))
            return after(tf, steps[-1], tf.stack([wins, loses]))

        total = strategy.reduce("SUM", call(strategy, fn), axis=None)
        with session(tf) as running:
            initialize(tf, running)
            record("losses", [rounded(running.run(total)) for _ in range(3)])
            record("variables", by_name(tf, running))


def _factorized(name: str, make: Any, optimizer_of: Any) -> None:
    def run(tf: Any, record: Record) -> None:
        strategy = make(tf)
        with strategy.scope():
            optimizer = optimizer_of(tf)
            users = tf.get_variable("users", [5, 2], initializer=ramp(tf))
            items = tf.get_variable("items", [4, 2], initializer=constant(tf, 0.3))

            def fn() -> Any:
                shift = tf.cast(number(tf), tf.int32)
                row = tf.nn.embedding_lookup(users, [0, 3, 3] + shift)
                column = tf.nn.embedding_lookup(items, [0, 1, 2] + shift)
                loss = tf.reduce_sum((tf.reduce_sum(row * column, 1) - 1.0) ** 2) / 6
                return after(tf, optimizer.minimize(loss), loss)

            total = strategy.reduce("SUM", call(strategy, fn), axis=None)
            with session(tf) as running:
                initialize(tf, running)
                record("losses", [rounded(running.run(total)) for _ in range(3)])
                record("variables", by_name(tf, running))

    run.__name__ = f"factors_{name}"
    program(run)


_factorized("mirrored_by_adagrad", mirrored, lambda tf: tf.train.AdagradOptimizer(0.5))
_factorized("mirrored_by_ftrl", mirrored, lambda tf: tf.train.FtrlOptimizer(0.3))
_factorized("central_by_adam", central, lambda tf: tf.train.AdamOptimizer(0.1))
_factorized("central_by_momentum", central, lambda tf: tf.train.MomentumOptimizer(0.1, 0.9))


@program
def centers_of_clusters(tf: Any, record: Record) -> None:
    strategy = mirrored(tf, 3)
    points = np.array([[0.0], [0.2], [1.0], [1.2], [4.0], [4.4]], np.float32)
    with strategy.scope():
        centers = tf.Variable([[0.1], [1.5]], trainable=False, name="centers")
        iterator = iterator_of(tf, strategy, tf.data.Dataset.from_tensors(points).repeat())

        def fn(batch: Any) -> Any:
            distances = tf.reduce_sum((batch[:, None] - centers[None]) ** 2, 2)
            nearest = tf.one_hot(tf.argmin(distances, 1), 2)
            sums = tf.matmul(nearest, batch, transpose_a=True)
            return sums, tf.reduce_sum(nearest, 0), tf.reduce_sum(tf.reduce_min(distances, 1))

        sums, counts, errors = call(strategy, fn, (iterator.get_next(),))
        sums, counts, error = (strategy.reduce("SUM", v, None) for v in (sums, counts, errors))
        move = centers.assign(sums / tf.maximum(counts, 1.0)[:, None])
        parts = strategy.experimental_local_results(centers)
        with session(tf) as running:
            running.run(iterator.initialize())
            initialize(tf, running)
            for turn in range(3):
                record(f"error {turn}", rounded(running.run([error, strategy.group(move)])[0]))
                record(f"centers {turn}", rounded(running.run(parts)))


@program
def scaled_losses(tf: Any, record: Record) -> None:
    strategy = mirrored(tf)
    with strategy.scope():
        scale = tf.Variable(8.0, trainable=False, name="scale",
                            aggregation=tf.VariableAggregation.MEAN)  # fmt: skip
        w = tf.Variable([1.0, -1.0], name="w")
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        bad = tf.placeholder_with_default(0.0, [])

        def fn() -> Any:
            loss = tf.reduce_sum(w**2) * (1.0 + number(tf)) / 2
            [grad] = tf.gradients(loss * scale, [w])
            grad = grad / scale + bad / (1.0 - tf.sign(tf.abs(bad)))
            context = tf.distribute.get_replica_context()
            fine = context.all_reduce(
                "MEAN", tf.cast(tf.reduce_all(tf.is_finite(grad)), tf.float32)
            )
            safe = tf.where(tf.equal(fine, 1.0) & tf.is_finite(grad), grad, tf.zeros_like(grad))
            train = optimizer.apply_gradients([(safe, w)])
            return after(tf, tf.group(train, scale.assign(tf.where(fine < 1.0, scale / 2,
                                                                   scale * 2))), fine)  # fmt: skip

        total = strategy.reduce("MEAN", call(strategy, fn), axis=None)
        with session(tf) as running:
            initialize(tf, running)
            for turn, value in enumerate([0.0, 0.0, 1.0, 0.0]):
                record(f"fine {turn}", rounded(running.run(total, {bad: value})))
                record(f"variables {turn}", by_name(tf, running))
