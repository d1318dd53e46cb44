"""A queue between threads: gpugraph beside TensorFlow's v1 API.

    python benchmarks/queues.py [--rows ROW ...] [--rounds N] [--json FILE] [--check]

Four threads put the elements into a FIFOQueue of 50, four others take them out; each element is a
separate run of the session, or a run puts and takes a hundred. The time is that of one element,
from the start of the threads until the last one has ended; --check looks whether each element came
once. See benchmarks/peers.py for the search for peers and the measurements.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from peers import Once, Rows, main, tensorflow

ELEMENTS, THREADS, CAPACITY, MANY = 100_000, 4, 50, 100
TINY = 800
"""As many elements as a test has time for."""


def own() -> Any:
    return importlib.import_module("gpugraph")


def passed(library: Callable[[], Any], count: int, at_once: int) -> Once:
    """Return the seconds for one element of `count` that pass, `at_once` in a run, and the
    elements.
    """
    tf = library()
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(max(CAPACITY, 2 * at_once), tf.int64, shapes=[[]])
        fed = tf.placeholder(tf.int64, [None] if at_once > 1 else [])
        put = (queue.enqueue_many if at_once > 1 else queue.enqueue)([fed])
        taken = queue.dequeue_up_to(at_once) if at_once > 1 else queue.dequeue()
        enqueue = session.make_callable(put, [fed])
        dequeue = session.make_callable(taken)
        enqueue(np.arange(at_once) if at_once > 1 else np.int64(0))
        dequeue()
        results: list[Any] = []
        start = time.perf_counter()
        pass_all(
            partial(produce, enqueue, count // THREADS, at_once),
            partial(consume, dequeue, tf.errors.OutOfRangeError, results),
            partial(session.run, queue.close()),
        )
        seconds = time.perf_counter() - start
    return Once(seconds / count, np.sort(np.concatenate([np.ravel(item) for item in results])))


def produce(enqueue: Callable[[Any], Any], count: int, at_once: int, number: int) -> None:
    first = number * count
    if at_once == 1:
        for element in range(first, first + count):
            enqueue(element)
        return
    for element in range(first, first + count, at_once):
        enqueue(np.arange(element, element + at_once))


def consume(
    dequeue: Callable[[], Any], ended: type[Exception], results: list[Any], number: int
) -> None:
    del number
    own_results = []
    try:
        while True:
            own_results.append(dequeue())
    except ended:
        results.extend(own_results)


def pass_all(
    produce_part: Callable[[int], None], consume_part: Callable[[int], None], close: Any
) -> None:
    """Run producers and consumers to their end."""
    producers, consumers = (
        [threading.Thread(target=part, args=[number]) for number in range(THREADS)]
        for part in (produce_part, consume_part)
    )
    for thread in producers + consumers:
        thread.start()
    for thread in producers:
        thread.join()
    close()
    for thread in consumers:
        thread.join()


def rows(elements: int) -> Rows:
    """Return all rows, for the given number of elements."""
    return {
        name: {
            "gpugraph": partial(passed, own, elements, at_once),
            "tensorflow": partial(passed, tensorflow, elements, at_once),
        }
        for name, at_once in (("one element a run", 1), ("100 elements a run", MANY))
    }


if __name__ == "__main__":
    main(rows(ELEMENTS), __file__)
