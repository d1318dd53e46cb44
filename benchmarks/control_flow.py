"""Loops and branches: gpugraph beside TensorFlow's v1 control flow and JAX.

    python benchmarks/control_flow.py [--rows ROW ...] [--rounds N] [--json FILE] [--check]

All peers do the same computation with the same numbers; --check compares results. See
benchmarks/peers.py for the search for peers and the measurements.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from peers import Rows, main, tensorflow

STEPS, BATCH, TEXT, VOCABULARY, UNITS = 50, 32, 50, 64, 128
BEAM, WORDS, HIDDEN = 8, 1000, 64


def own() -> Any:
    return importlib.import_module("gpugraph")


def random(*shape: int, seed: int = 0) -> Any:
    return (np.random.RandomState(seed).randn(*shape) * 0.1).astype(np.float32)


# -- a loop that counts to 1,000


def scalar_loop(library: Callable[[], Any]) -> Callable[[], Any]:
    tf = library()
    count = tf.while_loop(lambda i: i < 1000, lambda i: i + 1, [0])
    return tf.Session().make_callable(count)  # type: ignore[no-any-return]


def scalar_loop_in_jax() -> Callable[[], Any]:
    jax = importlib.import_module("jax")
    loop = jax.jit(lambda start: jax.lax.while_loop(lambda i: i < 1000, lambda i: i + 1, start))
    return lambda: loop(0).block_until_ready()


# -- a loop over vectors, and its gradient


def vector_loop(library: Callable[[], Any], gradient: bool) -> Callable[[], Any]:
    tf = library()
    x, w = tf.placeholder(tf.float32, [64]), tf.constant(random(64))
    y = tf.while_loop(lambda i, y: i < 1000, lambda i, y: (i + 1, tf.tanh(y * w) + x), [0, x])[1]
    fetch = tf.gradients(tf.reduce_sum(y), [x])[0] if gradient else y
    run, value = tf.Session().make_callable(fetch, [x]), random(64, seed=1)
    return lambda: run(value)


def vector_loop_in_jax(gradient: bool) -> Callable[[], Any]:
    jax = importlib.import_module("jax")
    w, value = random(64), random(64, seed=1)

    def loop(x: Any) -> Any:
        def body(y: Any, _: Any) -> Any:
            return jax.numpy.tanh(y * w) + x, None

        return jax.lax.scan(body, x, None, length=1000)[0]

    step = jax.jit(jax.grad(lambda x: loop(x).sum()) if gradient else loop)
    return lambda: step(value).block_until_ready()


# -- one training step of an LSTM over 50 characters


def lstm_step(library: Callable[[], Any]) -> Callable[[], Any]:
    tf = library()
    ids = tf.placeholder(tf.int32, [BATCH, TEXT])
    table = tf.Variable(random(VOCABULARY, UNITS))
    cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
    kernel = tf.constant_initializer(random(2 * UNITS, 4 * UNITS, seed=1))
    with tf.variable_scope("network", initializer=kernel):
        inputs = tf.nn.embedding_lookup(table, ids)
        outputs, _ = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
    flat = tf.reshape(outputs, [-1, UNITS])
    logits = tf.matmul(flat, tf.Variable(random(UNITS, VOCABULARY, seed=2)))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(ids, [-1]), logits=logits
    )
    loss = tf.reduce_mean(losses)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    run = session.make_callable([train, loss], [ids])
    text = np.random.RandomState(0).randint(0, VOCABULARY, (BATCH, TEXT)).astype(np.int32)
    return lambda: run(text)


def lstm_step_in_jax() -> Callable[[], Any]:
    jax = importlib.import_module("jax")
    jnp = jax.numpy
    text = np.random.RandomState(0).randint(0, VOCABULARY, (BATCH, TEXT)).astype(np.int32)

    def loss(weights: Any) -> Any:
        table, kernel, bias, out = weights

        def cell(state: Any, x: Any) -> Any:
            c, h = state
            i, j, f, o = jnp.split(jnp.concatenate([x, h], 1) @ kernel + bias, 4, axis=1)
            c = c * jax.nn.sigmoid(f + 1.0) + jax.nn.sigmoid(i) * jnp.tanh(j)
            h = jnp.tanh(c) * jax.nn.sigmoid(o)
            return (c, h), h

        zeros = jnp.zeros((BATCH, UNITS))
        _, outputs = jax.lax.scan(cell, (zeros, zeros), table[text].transpose(1, 0, 2))
        logits = outputs.transpose(1, 0, 2) @ out
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), text[..., None], 2)
        return -chosen.mean()

    @jax.jit  # type: ignore[misc]
    def train(weights: Any) -> Any:
        now, grads = jax.value_and_grad(loss)(weights)
        return [weight - 0.1 * grad for weight, grad in zip(weights, grads)], now

    weights = [
        random(VOCABULARY, UNITS),
        random(2 * UNITS, 4 * UNITS, seed=1),
        np.zeros(4 * UNITS, np.float32),
        random(UNITS, VOCABULARY, seed=2),
    ]

    def step() -> Any:
        nonlocal weights
        weights, now = jax.block_until_ready(train(weights))
        return now

    return step


# -- beam search over 50 words


def beam_search(library: Callable[[], Any]) -> Callable[[], Any]:
    tf = library()
    table, recur = tf.constant(random(WORDS, HIDDEN)), tf.constant(random(HIDDEN, HIDDEN, seed=1))
    project = tf.constant(random(HIDDEN, WORDS, seed=2))
    start = tf.placeholder(tf.float32, [BEAM, HIDDEN])

    def body(i: Any, words: Any, scores: Any, state: Any, chosen_words: Any, parents: Any) -> Any:
        state = tf.tanh(tf.gather(table, words) + tf.matmul(state, recur))
        totals = scores[:, None] + tf.nn.log_softmax(tf.matmul(state, project))
        scores, best = tf.nn.top_k(tf.reshape(totals, [-1]), BEAM)
        parent, words = best // WORDS, best % WORDS
        state = tf.gather(state, parent)
        return i + 1, words, scores, state, chosen_words.write(i, words), parents.write(i, parent)

    arrays = [tf.TensorArray(tf.int32, STEPS) for _ in range(2)]
    first = [0, tf.zeros([BEAM], tf.int32), tf.zeros([BEAM]), start, *arrays]
    ended = tf.while_loop(lambda i, *_: i < STEPS, body, first)
    run = tf.Session().make_callable([ended[4].stack(), ended[5].stack(), ended[2]], [start])
    value = random(BEAM, HIDDEN, seed=3)
    return lambda: run(value)


def beam_search_in_jax() -> Callable[[], Any]:
    jax = importlib.import_module("jax")
    jnp = jax.numpy
    table, recur = random(WORDS, HIDDEN), random(HIDDEN, HIDDEN, seed=1)
    project, value = random(HIDDEN, WORDS, seed=2), random(BEAM, HIDDEN, seed=3)
    arrays = [jnp.asarray(array) for array in (table, recur, project)]

    def body(carried: Any, _: Any) -> Any:
        words, scores, state = carried
        state = jnp.tanh(arrays[0][words] + state @ arrays[1])
        totals = scores[:, None] + jax.nn.log_softmax(state @ arrays[2])
        scores, best = jax.lax.top_k(totals.reshape(-1), BEAM)
        parent, words = best // WORDS, best % WORDS
        return (words, scores, state[parent]), (words, parent)

    @jax.jit  # type: ignore[misc]
    def search(start: Any) -> Any:
        first = (jnp.zeros(BEAM, jnp.int32), jnp.zeros(BEAM), start)
        (_, scores, _), (chosen_words, parents) = jax.lax.scan(body, first, None, length=STEPS)
        return chosen_words, parents, scores

    return lambda: jax.block_until_ready(search(value))


def row(ours: Callable[..., Any], jax: Callable[[], Any], *arguments: Any) -> dict[str, Any]:
    return {
        "gpugraph": partial(ours, own, *arguments),
        "tensorflow": partial(ours, tensorflow, *arguments),
        "jax": partial(jax, *arguments),
    }


ROWS: Rows = {
    "while_loop, 1,000 scalar iterations": row(scalar_loop, scalar_loop_in_jax),
    "while_loop, 1,000 x tanh of 64": row(vector_loop, vector_loop_in_jax, False),
    "gradient of 1,000 x tanh of 64": row(vector_loop, vector_loop_in_jax, True),
    "LSTM 128, batch 32, 50 steps, training step": row(lstm_step, lstm_step_in_jax),
    "beam search, 8 of 1,000 words, 50 steps": row(beam_search, beam_search_in_jax),
}

if __name__ == "__main__":
    main(ROWS, __file__)
