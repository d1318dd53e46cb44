"""Programs of queues, producers, batches, coordinators and runners, by TensorFlow and gpugraph.

    python ci/against_tensorflow/queue_programs.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers and errors differ. The script fails where one
does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, main

PROGRAMS: Programs = {}

PYTHON = "1.15's words, which 2.x has written anew"
TIME_LIMIT = "the text goes on with what waited, and how long"
EXPLAINED: dict[str, str] = {
    "elements_with_names: too few names": PYTHON,
    "misfits_of_the_graph: dtype": PYTHON,
    "misfits_of_the_graph: tensor's dtype": PYTHON,
    "misfits_of_the_graph: rows' count": "words of shapes, where 2.x speaks of dimensions",
    "misfits_of_the_graph: vector n": "refused by shape inference, as 1.15 does; 2.x by Python",
    "misfits_of_a_run: no rows": "refused when the plan of the fed shapes is made",
    "shuffled_keeps_some: waits": TIME_LIMIT,
    "time_limits: many": TIME_LIMIT,
    "time_limits: room": TIME_LIMIT,
    "time_limits: of the session": TIME_LIMIT,
    "batches_refused: a tensor": "the error of 1.15",
    "batches_refused: lengths": "TensorFlow drops components that another list has not",
    "priorities: no priority": PYTHON,
    "priorities: a float": PYTHON,
    "priorities: an int32": PYTHON,
    "runners: type": "TensorFlow's own text can't be formatted",
    "time_limits: given back": "TensorFlow loses what a run that gives up has taken; ours returns",
    "time_limits: value": "see: given back",
    "rest_of_priorities: rest": "see: one of three; the words name another number",
    "rest_of_priorities: one of three": "TensorFlow's PriorityQueue loses it in its last batch",
}


def program(function: Callable[[Any, Record], None]) -> Callable[[Any, Record], None]:
    """Adds a program, under its function's name."""
    PROGRAMS[function.__name__] = function
    return function


def in_thread(record: Record, key: str, action: Callable[[], Any]) -> threading.Thread:
    """A thread that records the error, or the result, of an action."""
    thread = threading.Thread(target=lambda: record.error(key, action))
    thread.start()
    time.sleep(0.3)
    return thread


def shapes(tensors: Any) -> list[str]:
    """The static shapes of tensors, as text."""
    tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
    return [str(tensor.get_shape()).replace("None", "?") for tensor in tensors]


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


def run_new(tf: Any, fetches: Any) -> Any:
    """What a session of its own gives."""
    with tf.Session() as session:
        return session.run(fetches)


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


# -- waits


@program
def time_limits(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    short = tf.RunOptions(timeout_in_ms=300)
    with tf.Session() as session:
        session.run(queue.enqueue(1))
        record.error("many", lambda: session.run(queue.dequeue_many(2), options=short))
        record("given back", session.run(queue.size()))
        record.error("room", lambda: session.run(queue.enqueue_many([[2, 3, 4]]), options=short))
        record("value", session.run(queue.dequeue()))
    config = tf.ConfigProto(operation_timeout_in_ms=300)
    with tf.Session(config=config) as session:
        record.error("of the session", lambda: session.run(queue.dequeue()))


@program
def a_session_that_is_closed(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    one, put = queue.dequeue(), queue.enqueue_many([[1, 2, 3]])
    session = tf.Session()
    thread = in_thread(record, "dequeue", lambda: session.run(one))
    session.close()
    thread.join(10)
    session = tf.Session()
    thread = in_thread(record, "enqueue", lambda: session.run(put))
    session.close()
    thread.join(10)
    record.error("later", lambda: session.run(one))


@program
def more_than_there_is_room_for(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    put, many = queue.enqueue_many([list(range(20))]), queue.dequeue_many(20)
    with tf.Session() as session:
        thread = in_thread(record, "put", lambda: session.run(put))
        record("rows", session.run(many))
        thread.join(10)
        record("size", session.run(queue.size()))


@program
def waits_of_one_step(tf: Any, record: Record) -> None:
    first, second = (tf.FIFOQueue(3, tf.int32, shapes=[[]]) for _ in range(2))
    both = [first.dequeue(), second.dequeue()]
    with tf.Session() as session:
        session.run(second.enqueue(2))
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(session.run(both)))
        thread.start()
        time.sleep(0.2)
        session.run(first.enqueue(1))
        thread.join(10)
        record("both", results)
        session.run([first.close(), second.close()])
        record.error("closed", lambda: session.run(both))


@program
def many_threads(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(7, tf.int32, shapes=[[]])
    number, one, taken = tf.placeholder(tf.int32, []), queue.dequeue(), []
    put, close = queue.enqueue(number), queue.close()
    with tf.Session() as session:

        def produce(start: int) -> None:
            for item in range(start, start + 50):
                session.run(put, {number: item})

        def consume() -> None:
            try:
                while True:
                    taken.append(int(session.run(one)))
            except tf.errors.OutOfRangeError:
                return

        producers = [threading.Thread(target=produce, args=[start]) for start in (0, 50, 100)]
        consumers = [threading.Thread(target=consume) for _ in range(3)]
        for thread in producers + consumers:
            thread.start()
        for thread in producers:
            thread.join(30)
        session.run(close)
        for thread in consumers:
            thread.join(30)
    record("each once", sorted(taken))


# -- producers and batches


def run_with_runners(tf: Any, action: Callable[[Any], Any], seconds: int = 10) -> Any:
    """What an action gives of a session whose queue runners run; all threads are joined."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            return action(session)
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=seconds)


def until_the_end(tf: Any, session: Any, fetches: Any) -> list[Any]:
    """What runs give until the input ends."""
    results = []
    try:
        while True:
            results.append(session.run(fetches))
    except tf.errors.OutOfRangeError:
        return results


@program
def strings_produced(tf: Any, record: Record) -> None:
    queue = tf.train.string_input_producer(["a", "b", "c"], num_epochs=2, shuffle=False)
    one = queue.dequeue()
    names = [variable.op.name for variable in tf.local_variables()]
    record("names", [queue.name, one.name, *names])
    record("summaries", [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)])
    record("runners", [r.name for r in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)])
    record("order", run_with_runners(tf, lambda s: until_the_end(tf, s, one)))
    record.error("ended", lambda: run_with_runners(tf, lambda s: s.run(queue.dequeue_many(7))))
    record.error("empty", lambda: tf.train.string_input_producer([]))
    strings = tf.placeholder_with_default(np.array([], object).astype(str), [None])
    empty = tf.train.string_input_producer(strings, shuffle=False)
    runner = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)[-1]
    record.error("empty tensor", lambda: run_new(tf, runner.enqueue_ops[0]))
    record("its queue", empty.name)


@program
def numbers_produced(tf: Any, record: Record) -> None:
    tf.set_random_seed(4)
    plain = tf.train.range_input_producer(4, num_epochs=2, shuffle=False).dequeue()
    mixed = tf.train.range_input_producer(6, num_epochs=2, shuffle=True, seed=9).dequeue()
    limit = tf.train.range_input_producer(tf.constant(3), shuffle=False, capacity=5)

    def all_of_them(session: Any) -> Any:
        endless = [session.run(limit.dequeue()) for _ in range(7)]
        return [until_the_end(tf, session, plain), until_the_end(tf, session, mixed), endless]

    record("orders", run_with_runners(tf, all_of_them))
    record("summaries", [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)])


@program
def slices_produced(tf: Any, record: Record) -> None:
    images, labels = np.arange(12).reshape(4, 3), np.array(["a", "b", "c", "d"])
    image, label = tf.train.slice_input_producer([images, labels], num_epochs=2, shuffle=False)
    record("shapes", shapes([image, label]))
    record("names", [image.name, label.name])
    record("rows", run_with_runners(tf, lambda s: until_the_end(tf, s, [image, label])))
    record.error("none", lambda: tf.train.slice_input_producer([]))


@program
def rows_produced(tf: Any, record: Record) -> None:
    rows = np.arange(6.0).reshape(3, 2)
    queue = tf.train.input_producer(
        rows, num_epochs=1, shuffle=False, capacity=4, summary_name="full", name="rows"
    )
    one = queue.dequeue()
    nameless = tf.train.input_producer(rows, shuffle=False)
    record("queue", [queue.name, nameless.name, *shapes(one), *map(str, queue.dtypes)])
    record("summaries", [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)])
    record("rows", run_with_runners(tf, lambda s: until_the_end(tf, s, one)))
    unknown = tf.placeholder_with_default(rows, None)
    record.error("unknown shape", lambda: tf.train.input_producer(unknown))
    given = tf.train.input_producer(unknown, element_shape=[2], shuffle=False)
    record("element_shape", shapes(given.dequeue()))
    record.error("other shape", lambda: tf.train.input_producer(rows, element_shape=[3]))


@program
def epochs(tf: Any, record: Record) -> None:
    limited = tf.train.limit_epochs(tf.constant(5), 2)
    record("same", tf.train.limit_epochs("x", None))
    record("names", [limited.name, *[v.name for v in tf.local_variables()]])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        record("values", [session.run(limited) for _ in range(2)])
        record.error("over", lambda: session.run(limited))
        record("counter", session.run(tf.local_variables()[0]))
    record.error("zero", lambda: tf.train.limit_epochs(tf.constant(5), 0))


@program
def files_matched_once(tf: Any, record: Record) -> None:
    for name in ("b.txt", "a.txt", "c.bin"):
        (record.folder / name).write_text(name)
    files = tf.train.match_filenames_once(f"{record.folder}/*.txt")
    none = tf.train.match_filenames_once(f"{record.folder}/*.png")
    record("variables", [variable.op.name for variable in tf.local_variables()])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        (record.folder / "d.txt").write_text("late")
        record("files", [path.decode().rpartition("/")[2] for path in session.run(files)])
        record("none", len(session.run(none)))
    queue = tf.train.string_input_producer(files, num_epochs=1, shuffle=False)
    one = queue.dequeue()
    found = run_with_runners(tf, lambda s: until_the_end(tf, s, one))
    record("produced", [path.decode().rpartition("/")[2] for path in found])


@program
def batches(tf: Any, record: Record) -> None:
    def numbers(count: int = 7) -> Any:
        return tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()

    cases = {
        "single": tf.train.batch([numbers()], 3),
        "list": tf.train.batch([numbers(), tf.constant("x")], 3),
        "dict": tf.train.batch({"b": numbers(), "a": tf.constant([1.0, 2.0])}, 2),
        "smaller": tf.train.batch((numbers(),), 3, allow_smaller_final_batch=True),
        "many": tf.train.batch([tf.range(3) + numbers()], 5, enqueue_many=True, capacity=9),
        "named": tf.train.batch([numbers()], 3, name="mine", shared_name="mine"),
        "padded": tf.train.batch([tf.range(numbers())], 3, dynamic_pad=True),
        "shapes": tf.train.batch(
            [tf.placeholder_with_default([1, 2], None)], 2, shapes=[[2]], enqueue_many=False
        ),
    }
    for key, batch in cases.items():
        tensors = list(batch.values()) if isinstance(batch, dict) else batch
        names = [t.name for t in (tensors if isinstance(tensors, list) else [tensors])]
        kind = [isinstance(batch, list), isinstance(batch, dict)]
        record(f"static {key}", [shapes(tensors), names, kind])

    def run(session: Any) -> dict[str, Any]:
        finite = {key: batch for key, batch in cases.items() if key != "shapes"}
        results = {key: until_the_end(tf, session, batch) for key, batch in finite.items()}
        return {**results, "shapes": session.run(cases["shapes"])}

    for key, value in run_with_runners(tf, run).items():
        record(f"values {key}", value)
    record("summaries", [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)])


@program
def batches_refused(tf: Any, record: Record) -> None:
    train, unknown = tf.train, tf.placeholder(tf.float32)
    record.error("unknown rank", lambda: train.batch([unknown], 2))
    open_size = tf.placeholder(tf.float32, [None])
    record.error("open size", lambda: train.batch([open_size], 2))
    record.error("scalar rows", lambda: train.batch([tf.constant(1)], 2, enqueue_many=True))
    record.error("capacity", lambda: train.shuffle_batch([tf.constant(1)], 2, 5, 5))
    types = [[tf.constant(1)], [tf.constant(1.0)]]
    record.error("types", lambda: train.batch_join(types, 2))
    keep = tf.constant([True])
    record.error("vector keep", lambda: train.maybe_batch([tf.constant(1)], keep, 2))
    matrix = tf.constant([[True]])
    rows = [tf.constant([1])]
    record.error("matrix keep", lambda: train.maybe_batch(rows, matrix, 2, enqueue_many=True))
    record.error("unknown keep", lambda: train.maybe_batch(rows, tf.placeholder(tf.bool), 2))
    record.error("no tensors", lambda: train.batch([], 2))
    record.error("empty dict", lambda: train.batch({}, 2))
    lists = [[tf.constant(1)], [tf.constant(1), tf.constant(2)]]
    record.error("lengths", lambda: train.batch_join(lists, 2))
    dicts = [{"a": tf.constant(1)}, {"b": tf.constant(1)}]
    record.error("keys", lambda: train.batch_join(dicts, 2))
    record.error("no lists", lambda: train.batch_join([], 2))
    record.error("a tensor", lambda: train.batch(tf.constant(1), 2))


@program
def some_are_kept(tf: Any, record: Record) -> None:
    number = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
    even = tf.train.maybe_batch([number], tf.equal(number % 2, 0), 2)
    later = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
    rows = later * 10 + tf.range(4)
    kept = tf.train.maybe_batch([rows], rows % 3 > 0, 2, enqueue_many=True)
    third = tf.train.range_input_producer(9, num_epochs=1, shuffle=False).dequeue()
    mixed = tf.train.maybe_shuffle_batch([third], 3, 20, 5, third > 2, seed=3)
    record("names", [even.name, kept.name])

    def run(session: Any) -> list[Any]:
        return [until_the_end(tf, session, fetches) for fetches in (even, kept, mixed)]

    first, second, third_values = run_with_runners(tf, run)
    record("even", first)
    record("kept", second)
    record("mixed", sorted(int(n) for batch in third_values for n in np.ravel(batch)))


@program
def joined_batches(tf: Any, record: Record) -> None:
    def source(start: int) -> Any:
        queue = tf.train.range_input_producer(5, num_epochs=1, shuffle=False)
        return queue.dequeue() + start

    lists = [[source(start), tf.constant(str(start))] for start in (0, 10, 20)]
    joined = tf.train.batch_join(lists, 4, allow_smaller_final_batch=True)
    dicts = [{"n": source(start)} for start in (0, 10)]
    mixed = tf.train.shuffle_batch_join(dicts, 5, 30, 3, allow_smaller_final_batch=True)
    fifth = source(5)
    maybe = tf.train.maybe_batch_join([[fifth]], fifth > 6, 1)
    record("static", [*shapes(joined), *shapes(list(mixed.values())), *shapes(maybe)])
    record("names", [joined[0].name, mixed["n"].name])

    def run(session: Any) -> list[Any]:
        return [until_the_end(tf, session, fetches) for fetches in (joined, mixed, maybe)]

    first, second, kept = run_with_runners(tf, run)
    record("pairs", sorted((int(n), t.decode()) for batch in first for n, t in zip(*batch)))
    record("mixed", sorted(int(n) for batch in second for n in batch["n"]))
    record("kept", kept)
    record("summaries", [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)])


@program
def shuffled_batches(tf: Any, record: Record) -> None:
    number = tf.train.range_input_producer(20, num_epochs=2, shuffle=False).dequeue()
    mixed = tf.train.shuffle_batch([number], 4, 50, 40, seed=2, allow_smaller_final_batch=True)
    record("static", [*shapes(mixed), mixed.name])
    # with as many elements kept as there are, none leaves before all are there
    values = run_with_runners(tf, lambda s: until_the_end(tf, s, mixed))
    record("values", values)
    record("summaries", [op.name for op in tf.get_collection(tf.GraphKeys.SUMMARIES)])


# -- coordinators and runners


@program
def coordinators(tf: Any, record: Record) -> None:
    coordinator = tf.train.Coordinator()
    record("first", [coordinator.should_stop(), coordinator.wait_for_stop(0.05)])
    coordinator.request_stop()
    record("stopped", [coordinator.should_stop(), coordinator.wait_for_stop(0.05)])
    coordinator.join()
    record("joined", coordinator.joined)
    coordinator.clear_stop()
    record("cleared", [coordinator.should_stop(), coordinator.joined])

    def stop_by(own: Any, error: Exception) -> None:
        try:
            raise error
        except type(error) as raised:
            own.request_stop(raised)

    def failing(error: Any, **settings: Any) -> Callable[[], Any]:
        def run() -> Any:
            own = tf.train.Coordinator(**settings)

            def body() -> None:
                with own.stop_on_exception():
                    raise error

            thread = threading.Thread(target=body)
            thread.start()
            return own.join([thread])

        return run

    record.error("ValueError", failing(ValueError("broken")))
    record.error("OutOfRange", failing(tf.errors.OutOfRangeError(None, None, "over")))
    record.error("others clean", failing(KeyError("k"), clean_stop_exception_types=(KeyError,)))
    own = tf.train.Coordinator()
    stop_by(own, ValueError("asked"))
    record.error("requested", own.raise_requested_exception)
    record.error("join", own.join)
    late = tf.train.Coordinator()
    late.join([])
    record.error("after the end", lambda: stop_by(late, ValueError("late")))


@program
def threads_that_go_on(tf: Any, record: Record) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="lasting", daemon=True)
    thread.start()
    coordinator = tf.train.Coordinator()
    coordinator.request_stop()
    record.error("grace", lambda: coordinator.join([thread], stop_grace_period_secs=0.2))
    quiet = tf.train.Coordinator()
    quiet.register_thread(thread)
    quiet.request_stop()
    with record.log("log"):
        record.error(
            "ignored", lambda: quiet.join(stop_grace_period_secs=0.2, ignore_live_threads=True)
        )
    end.set()
    thread.join()


@program
def loopers(tf: Any, record: Record) -> None:
    calls: list[int] = []
    coordinator = tf.train.Coordinator()

    def work(number: int) -> None:
        calls.append(number)
        if len(calls) == 3:
            coordinator.request_stop()

    thread = tf.train.LooperThread.loop(coordinator, 0.01, work, args=(7,))
    coordinator.join([thread])
    record("calls", calls)
    record("a thread", [thread.daemon, isinstance(thread, threading.Thread)])
    record.error("no coordinator", lambda: tf.train.LooperThread(3, 1))

    class Looper(tf.train.LooperThread):  # type: ignore[misc, name-defined]
        """Notes what is called."""

        def start_loop(self) -> None:
            calls.append(-1)

        def run_loop(self) -> None:
            raise ValueError("in a loop")

        def stop_loop(self) -> None:
            calls.append(-2)

    failing = tf.train.Coordinator()
    looper = Looper(failing, None)
    looper.start()
    record.error("error of a loop", lambda: failing.join([looper]))
    record("calls after", calls)


@program
def runners(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(50, tf.int32, shapes=[[]], name="numbers")
    counter = tf.Variable(0, name="counter")
    put = queue.enqueue(tf.count_up_to(counter, 5))
    runner = tf.train.QueueRunner(queue, [put])
    record("names", [runner.name, runner.close_op.name, runner.cancel_op.name, runner.queue.name])
    record("ends", [error.__name__ for error in runner.queue_closed_exception_types])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        threads = runner.create_threads(session, start=True)
        record("one thread", [len(threads), threads[0].daemon])
        for thread in threads:
            thread.join(10)
        record("raised", [type(e).__name__ for e in runner.exceptions_raised])
        record("elements", until_the_end(tf, session, queue.dequeue()))
        record("closed", session.run(queue.is_closed()))
    full = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    endless = tf.train.QueueRunner(full, [full.enqueue(1)])
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = endless.create_threads(session, coordinator, start=True)
        record("again", endless.create_threads(session, coordinator, start=True))
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)
    record.error("no queue", lambda: tf.train.QueueRunner(None, [put]))
    record.error("no ops", lambda: tf.train.QueueRunner(queue, None))
    record.error("neither", lambda: tf.train.QueueRunner())
    proto = runner.to_proto()
    record("proto", str(proto))
    again = tf.train.QueueRunner.from_proto(proto)
    record("from proto", [again.name, [op.name for op in again.enqueue_ops], again.close_op.name])
    record.error("both", lambda: tf.train.QueueRunner(queue, [put], queue_runner_def=proto))
    record.error(
        "types", lambda: tf.train.QueueRunner(queue, [put], queue_closed_exception_types=3)
    )
    record.error(
        "type", lambda: tf.train.QueueRunner(queue, [put], queue_closed_exception_types=(int, 3))
    )


@program
def runners_that_fail(tf: Any, record: Record) -> None:
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    value = tf.placeholder_with_default(1.0, [])
    checked = tf.check_numerics(value / 0.0, "bad number")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.cast(checked, tf.int32))])
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coord=coordinator, start=True)
        record.error("joined", lambda: coordinator.join(threads))
    with tf.Session() as session:
        for thread in runner.create_threads(session, start=True):
            thread.join(10)
        record("raised", [type(e).__name__ for e in runner.exceptions_raised])


@program
def runners_of_a_graph(tf: Any, record: Record) -> None:
    record("none", tf.train.start_queue_runners(tf.Session()))
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]], name="q")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(1)] * 2))
    tf.train.add_queue_runner(
        tf.train.QueueRunner(queue, [queue.enqueue(2)]), collection="elsewhere"
    )
    record.error("no session", tf.train.start_queue_runners)
    record.error("another thing", lambda: tf.train.start_queue_runners(3))
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        idle = tf.train.start_queue_runners(session, coordinator, start=False)
        record("not started", [len(idle), any(thread.is_alive() for thread in idle)])
        other = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, other, collection="elsewhere")
        record("value", session.run(queue.dequeue()))
        record("names", [thread.name for thread in threads])
        other.request_stop()
        other.join(threads, stop_grace_period_secs=10)
        record("closed", session.run(queue.is_closed()))
    with tf.Session():
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(coord=coordinator)
        record("of the default session", [len(threads), sorted(t.name for t in threads)])
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
