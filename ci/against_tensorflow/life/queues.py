"""Programs of queues of each kind."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, in_thread, run_new, shapes

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


# -- queues of each kind


@program
def fifo(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
    one, many = queue.dequeue(), queue.dequeue_many(3)
    some = queue.dequeue_up_to(4)
    record("names", [queue.name, one.name, many.name, some.name, queue.queue_ref.op.type])
    record("shapes", shapes([one, many, some]) + [str(queue.shapes), str(queue.dtypes)])
    with tf.Session() as session:
        session.run(queue.enqueue(1.5))
        session.run(queue.enqueue_many([[2.0, 3.0, 4.0, 5.0, 6.0]]))
        record("size", session.run(queue.size()))
        record("one", session.run(one))
        record("many", session.run(many))
        session.run(queue.close())
        record("closed", session.run(queue.is_closed()))
        record("rest", session.run(some))
        record.error("empty", lambda: session.run(one))
        record.error("empty of many", lambda: session.run(many))
        record.error("empty up to", lambda: session.run(some))


@program
def elements_with_names(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(5, [tf.int32, tf.string], shapes=[[2], []], names=["a", "b"])
    put = queue.enqueue({"a": [1, 2], "b": "x"})
    rows = queue.enqueue_many({"a": [[3, 4], [5, 6]], "b": ["y", "z"]})
    with tf.Session() as session:
        session.run([put])
        session.run(rows)
        record("one", session.run(queue.dequeue()))
        record("two", session.run(queue.dequeue_many(2)))
    record.error("not a dict", lambda: queue.enqueue([[1, 2], "x"]))
    record.error("other names", lambda: queue.enqueue({"a": [1, 2], "c": "x"}))
    record.error("a name missing", lambda: queue.enqueue({"a": [1, 2]}))
    unnamed = tf.FIFOQueue(5, [tf.int32])
    record.error("names not expected", lambda: unnamed.enqueue({"a": 1}))
    record.error("too few names", lambda: tf.FIFOQueue(5, [tf.int32, tf.int32], names=["a"]))
    record("attribute", queue.names)


@program
def components_of_all_types(tf: Any, record: Record) -> None:
    types = [tf.float32, tf.float64, tf.int8, tf.int64, tf.uint8, tf.bool, tf.string, tf.complex64]
    queue = tf.FIFOQueue(5, types, shapes=[[]] * len(types))
    values = [1.5, 2.5, -3, 4, 5, True, "six", 7 + 8j]
    with tf.Session() as session:
        session.run(queue.enqueue(values))
        session.run(queue.enqueue(values))
        answer = session.run(queue.dequeue_many(2))
    record("dtypes", [array.dtype.name for array in answer])
    record("values", [[str(item) for item in array.tolist()] for array in answer])


@program
def without_shapes(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(5, tf.int32)
    one = queue.dequeue()
    record("shape", shapes(one))
    record.error("many", lambda: queue.dequeue_many(2).shape)
    with tf.Session() as session:
        for value in ([1, 2], 3, [[4]]):
            session.run(queue.enqueue(value))
        record("values", [session.run(one) for _ in range(3)])
        session.run(queue.enqueue(1))
        record.error("many in a run", lambda: session.run(queue.dequeue_many(1)))
        record.error("up to in a run", lambda: session.run(queue.dequeue_up_to(1)))
        record("still there", session.run(queue.size()))


@program
def closed(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]], name="mine", shared_name="mine")
    with tf.Session() as session:
        session.run(queue.enqueue_many([[1, 2]]))
        session.run(queue.close())
        record.error("enqueue", lambda: session.run(queue.enqueue(3)))
        record.error("enqueue many", lambda: session.run(queue.enqueue_many([[3]])))
        record.error("close again", lambda: session.run(queue.close()))
        record.error("cancel again", lambda: session.run(queue.close(cancel_pending_enqueues=True)))
        record.error("too many", lambda: session.run(queue.dequeue_many(3)))
        record("kept", session.run(queue.size()))
        record("taken", session.run(queue.dequeue_up_to(3)))
        record.error("dequeue", lambda: session.run(queue.dequeue()))
        record.error("none up to", lambda: session.run(queue.dequeue_up_to(1)))
        record("zero of none", session.run(queue.dequeue_many(0)))


@program
def pending_enqueues(tf: Any, record: Record) -> None:
    for cancel in (False, True):
        queue = tf.FIFOQueue(2, tf.int32, shapes=[[]], shared_name=f"pending{cancel}")
        with tf.Session() as session:
            put = queue.enqueue_many([[1, 2, 3]])
            taken = queue.dequeue()
            key = f"enqueue, {cancel}"
            thread = in_thread(record, key, lambda s=session, p=put: s.run(p))
            close = queue.close(cancel_pending_enqueues=cancel)
            closing = threading.Thread(target=lambda s=session, c=close: s.run(c))
            closing.start()
            time.sleep(0.3)
            record(f"taken, {cancel}", [session.run(taken) for _ in range(2)])
            closing.join(10)
            thread.join(10)
            record.error(f"third, {cancel}", lambda s=session, t=taken: s.run(t))


@program
def misfits_of_the_graph(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(5, [tf.float32, tf.int32], shapes=[[2], []])
    good = [1.0, 2.0]
    record.error("too few", lambda: queue.enqueue([good]))
    record.error("too many", lambda: queue.enqueue([good, 1, 1]))
    record.error("shape", lambda: queue.enqueue([[1.0], 1]))
    record.error("dtype", lambda: queue.enqueue([good, 1.5]))
    record.error("tensor's dtype", lambda: queue.enqueue([good, tf.constant(1.0)]))
    record.error("rows' shape", lambda: queue.enqueue_many([[good], [[1]]]))
    record.error("rows' count", lambda: queue.enqueue_many([[good, good], [1]]))
    record.error("no rows", lambda: queue.enqueue_many([good, 1]))
    record.error("negative n", lambda: queue.dequeue_many(-1))
    record.error("vector n", lambda: queue.dequeue_many([1]))
    record.error("shapes' count", lambda: tf.FIFOQueue(5, [tf.int32], shapes=[[], []]))
    record.error("no dtypes", lambda: tf.FIFOQueue(5, []))
    record.error("no list of shapes", lambda: tf.FIFOQueue(5, [tf.int32], shapes=3))
    record.error("unknown shape", lambda: tf.FIFOQueue(5, [tf.int32], shapes=[[None]]).size().name)


@program
def misfits_of_a_run(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(5, [tf.float32, tf.int32], shapes=[[2], []], name="pair")
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    count = tf.placeholder(tf.int32, [])
    one, rows, many = queue.enqueue([a, b]), queue.enqueue_many([a, b]), queue.dequeue_many(count)
    with tf.Session() as session:
        record.error("shape", lambda: session.run(one, {a: [1.0], b: 1}))
        record.error("second's shape", lambda: session.run(one, {a: [1.0, 2.0], b: [1]}))
        record.error("rows' shape", lambda: session.run(rows, {a: [[1.0]], b: [1]}))
        record.error("rows' count", lambda: session.run(rows, {a: [[1.0, 2.0]] * 2, b: [1]}))
        record.error("no rows", lambda: session.run(rows, {a: [1.0, 2.0], b: 1}))
        record.error("negative n", lambda: session.run(many, {count: -1}))
        record("zero", session.run(many, {count: 0}))
        record("no rows go in", session.run(rows, {a: np.zeros([0, 2]), b: []}))
        record("size", session.run(queue.size()))


@program
def shared_names(tf: Any, record: Record) -> None:
    first = tf.FIFOQueue(5, tf.int32, shapes=[[]], shared_name="s")
    second = tf.FIFOQueue(5, tf.int32, shapes=[[]], shared_name="s")
    wrong = {
        "capacity": lambda: tf.FIFOQueue(6, tf.int32, shapes=[[]], shared_name="s"),
        "dtype": lambda: tf.FIFOQueue(5, tf.float32, shapes=[[]], shared_name="s"),
        "shape": lambda: tf.FIFOQueue(5, tf.int32, shapes=[[2]], shared_name="s"),
        "no shape": lambda: tf.FIFOQueue(5, tf.int32, shared_name="s"),
        "kind": lambda: tf.PaddingFIFOQueue(5, tf.int32, shapes=[[]], shared_name="s"),
        "shuffle": lambda: tf.RandomShuffleQueue(5, 1, tf.int32, shapes=[[]], shared_name="s"),
        "priority": lambda: tf.PriorityQueue(5, [tf.int32], shapes=[[]], shared_name="s"),
    }
    others = {key: make().size() for key, make in wrong.items()}
    with tf.container("elsewhere"):
        apart = tf.FIFOQueue(5, tf.int32, shapes=[[]], shared_name="s")
    with tf.Session() as session:
        session.run(first.enqueue(7))
        record("same", session.run(second.size()))
        record("apart", session.run(apart.size()))
        for key, size in others.items():
            record.error(key, lambda size=size: session.run(size))
        record("value", session.run(second.dequeue()))


@program
def shared_shuffles(tf: Any, record: Record) -> None:
    def queue(least: int, seed: int) -> Any:
        return tf.RandomShuffleQueue(9, least, tf.int32, [[]], seed=seed, shared_name="r")

    first, other, seeds = queue(2, 1), queue(3, 1), queue(2, 5)
    with tf.Session() as session:
        session.run(first.enqueue(7))
        record.error("least", lambda: session.run(other.size()))
        record.error("seed", lambda: session.run(seeds.size()))


@program
def padding(tf: Any, record: Record) -> None:
    queue = tf.PaddingFIFOQueue(10, [tf.int32, tf.string], shapes=[[None, None], [None]])
    a, b = tf.placeholder(tf.int32), tf.placeholder(tf.string)
    put, many, some = queue.enqueue([a, b]), queue.dequeue_many(3), queue.dequeue_up_to(5)
    record("shapes", [*shapes(many), *shapes(some), *shapes(queue.dequeue())])
    with tf.Session() as session:
        for rows, columns in ((1, 2), (2, 1), (0, 3), (1, 1)):
            feeds = {a: np.arange(rows * columns).reshape(rows, columns) + 1, b: ["x"] * columns}
            session.run(put, feeds)
        record("many", session.run(many))
        session.run(queue.close())
        record("some", session.run(some))
        record("none", session.run(queue.dequeue_many(0)))
        record.error("rank", lambda: session.run(put, {a: [1], b: ["x"]}))
    record.error("no shapes", lambda: tf.PaddingFIFOQueue(10, [tf.int32], shapes=None))
    record.error("count", lambda: tf.PaddingFIFOQueue(10, [tf.int32], shapes=[[], []]))
    record.error(
        "unknown rank", lambda: run_new(tf, tf.PaddingFIFOQueue(10, [tf.int32], [None]).size())
    )


@program
def shuffled(tf: Any, record: Record) -> None:
    for seed, graph_seed in ((3, None), (3, 5), (None, 5)):
        with tf.Graph().as_default(), tf.Session() as session:
            if graph_seed:
                tf.set_random_seed(graph_seed)
            queue = tf.RandomShuffleQueue(20, 2, tf.int32, shapes=[[]], seed=seed)
            session.run(queue.enqueue_many([list(range(10))]))
            order = [session.run(queue.dequeue()) for _ in range(4)]
            record(f"order {seed} {graph_seed}", [*order, *session.run(queue.dequeue_many(4))])
            session.run(queue.close())
            record(f"rest {seed} {graph_seed}", session.run(queue.dequeue_up_to(4)))
    least = tf.RandomShuffleQueue(5, 5, tf.int32, shapes=[[]])
    record.error("least is capacity", lambda: run_new(tf, least.size()))
    negative = tf.RandomShuffleQueue(5, -1, tf.int32, shapes=[[]])
    record.error("least is negative", lambda: run_new(tf, negative.size()))


@program
def shuffled_keeps_some(tf: Any, record: Record) -> None:
    queue = tf.RandomShuffleQueue(10, 3, tf.int32, shapes=[[]], seed=1)
    short = tf.RunOptions(timeout_in_ms=300)
    with tf.Session() as session:
        session.run(queue.enqueue_many([[1, 2, 3, 4]]))
        session.run(queue.dequeue())
        record.error("waits", lambda: session.run(queue.dequeue(), options=short))
        record("size", session.run(queue.size()))


@program
def priorities(tf: Any, record: Record) -> None:
    queue = tf.PriorityQueue(10, [tf.string, tf.float32], shapes=[[], [2]])
    one, many = queue.dequeue(), queue.dequeue_many(2)
    record("shapes", [*shapes(one), *shapes(many), str(queue.dtypes)])
    with tf.Session() as session:
        for number in (5, -1, 3, 2**40):
            session.run(queue.enqueue([number, str(number), [number, 0]]))
        record("first", session.run(one))
        record("next", session.run(many))
        session.run(queue.enqueue([1, "x", [1.0, 2.0]]))
        session.run(queue.close())
        record("rest", session.run([one, one]))
        record.error("empty", lambda: session.run(one))
        record.error("closed", lambda: session.run(queue.enqueue([1, "x", [1.0, 2.0]])))
    record.error("no priority", lambda: queue.enqueue(["x", [1.0, 2.0]]))
    record.error("a float", lambda: queue.enqueue([tf.constant(1.0), "x", [1.0, 2.0]]))
    record.error("an int32", lambda: queue.enqueue([tf.constant(1), "x", [1.0, 2.0]]).name)
    record.error("priorities alone", lambda: tf.PriorityQueue(3, [], shapes=[]))
    record.error("without shapes", lambda: tf.PriorityQueue(3, [tf.int32], shapes=None))


@program
def rest_of_priorities(tf: Any, record: Record) -> None:
    queue = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    with tf.Session() as session:
        session.run(queue.enqueue_many([[3, 1], ["c", "a"]]))
        session.run(queue.close())
        record.error("rest", lambda: session.run(queue.dequeue_up_to(3)))
        record("size", session.run(queue.size()))
    with tf.Session() as session:
        session.run(queue.enqueue_many([[3, 1, 2], ["c", "a", "b"]]))
        record.error("many", lambda: session.run(queue.dequeue_many(2)))
        session.run(queue.close())
        record.error("one of three", lambda: session.run(queue.dequeue_up_to(3)))


@program
def chosen_from_a_list(tf: Any, record: Record) -> None:
    queues = [tf.FIFOQueue(5, tf.int32, shapes=[[]]) for _ in range(3)]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    record("dtypes", str(chosen.dtypes))
    with tf.Session() as session:
        for number in (0, 2, 2):
            session.run(chosen.enqueue(number), {index: number})
        record("sizes", session.run([queue.size() for queue in queues]))
        record.error("beyond", lambda: session.run(chosen.size(), {index: 3}))
        record("value", session.run(chosen.dequeue(), {index: 2}))
    others = [tf.FIFOQueue(5, tf.int32), tf.FIFOQueue(5, tf.float32)]
    record.error("dtypes differ", lambda: tf.QueueBase.from_list(0, others))
    record.error("no list", lambda: tf.QueueBase.from_list(0, queues[0]))
    record.error("no queues", lambda: tf.QueueBase.from_list(0, [1, 2]))
    mixed = [tf.FIFOQueue(5, tf.int32, names=["a"]), tf.FIFOQueue(5, tf.int32, names=["b"])]
    record.error("names differ", lambda: tf.QueueBase.from_list(0, mixed))
    padded = [tf.FIFOQueue(5, tf.int32, [[2]]), tf.FIFOQueue(5, tf.int32, [[3]])]
    record("shapes merged", str(tf.QueueBase.from_list(0, padded).shapes).replace("None", "?"))
