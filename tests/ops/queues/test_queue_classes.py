"""Queues: against a model in Python, with threads, closed, cancelled and shared."""

from __future__ import annotations

import re
import threading
from collections import Counter

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import gpugraph as tf

CAPACITY, LEAST = 4, 1


class Queues(RuleBasedStateMachine):
    """One queue, and a list of its contents; no rule would have to wait."""

    kind = "FIFOQueue"

    def __init__(self) -> None:
        super().__init__()
        with tf.Graph().as_default() as graph:
            shape, types = [(), (2,)], [tf.int64, tf.float32]
            if self.kind == "RandomShuffleQueue":
                queue = tf.RandomShuffleQueue(CAPACITY, LEAST, types, shape)
            elif self.kind == "PriorityQueue":
                queue = tf.PriorityQueue(CAPACITY, tf.float32, (2,))
            else:
                queue = getattr(tf, self.kind)(CAPACITY, types, shape)
            self.keys = tf.placeholder(tf.int64, [None])
            self.rows = tf.placeholder(tf.float32, [None, 2])
            self.enqueue = queue.enqueue([self.keys[0], self.rows[0]])
            self.enqueue_many = queue.enqueue_many([self.keys, self.rows])
            self.dequeue = queue.dequeue()
            self.number = tf.placeholder(tf.int32, [])
            self.dequeue_many = queue.dequeue_many(self.number)
            self.dequeue_up_to = queue.dequeue_up_to(self.number)
            self.asked = queue.size(), queue.is_closed()
            self.close = queue.close()
        self.session = tf.Session(graph=graph)
        self.held: list[int] = []
        self.is_closed = False

    @property
    def ready(self) -> int:
        """How many elements may be taken without a wait."""
        least = LEAST if self.kind == "RandomShuffleQueue" and not self.is_closed else 0
        return max(len(self.held) - least, 0)

    def feed(self, keys):
        return {self.keys: keys, self.rows: [[key, -key] for key in keys]}

    def expect(self, keys, rows):
        """Elements that left: they were held, and are the next ones."""
        keys = np.ravel(keys).tolist()
        expected = np.array([[key, -key] for key in keys]).reshape(-1, 2)
        np.testing.assert_array_equal(np.reshape(rows, (-1, 2)), expected)
        if self.kind == "RandomShuffleQueue":
            assert not Counter(keys) - Counter(self.held)
        elif self.kind == "PriorityQueue":
            assert keys == sorted(self.held)[: len(keys)]
        else:
            assert keys == self.held[: len(keys)]
        for key in keys:
            self.held.remove(key)

    @rule(keys=st.lists(st.integers(-9, 9), max_size=CAPACITY), single=st.booleans())
    def enqueues(self, keys, single):
        keys = keys[: CAPACITY - len(self.held)][: 1 if single else None]
        if single and not keys:
            return
        operation = self.enqueue if single else self.enqueue_many
        if self.is_closed and keys:
            with pytest.raises(tf.errors.CancelledError, match="is closed"):
                self.session.run(operation, self.feed(keys))
        elif keys:
            self.session.run(operation, self.feed(keys))
            self.held += keys

    @precondition(lambda self: self.ready)
    @rule()
    def dequeues(self):
        self.expect(*self.session.run(self.dequeue))

    @rule(number=st.integers(0, CAPACITY), up_to=st.booleans())
    def dequeues_many(self, number, up_to):
        number = number if self.is_closed else min(number, self.ready)
        fetch = self.dequeue_up_to if up_to else self.dequeue_many
        is_enough = number <= len(self.held) or (up_to and self.held)
        if is_enough:
            keys, rows = self.session.run(fetch, {self.number: number})
            assert len(keys) == min(number, len(self.held))
            self.expect(keys, rows)
        else:
            with pytest.raises(tf.errors.OutOfRangeError, match="insufficient elements"):
                self.session.run(fetch, {self.number: number})

    @rule()
    def closes(self):
        if self.is_closed:
            with pytest.raises(tf.errors.CancelledError, match="already closed"):
                self.session.run(self.close)
        else:
            self.session.run(self.close)
        self.is_closed = True

    @invariant()
    def says_what_it_holds(self):
        assert self.session.run(self.asked) == (len(self.held), self.is_closed)

    def teardown(self):
        self.session.close()


@pytest.mark.parametrize(
    "kind", ["FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue"]
)
def test_a_queue_is_its_model(kind):
    machine = type(kind, (Queues,), {"kind": kind})
    machine.TestCase.settings = settings(max_examples=6, stateful_step_count=12, deadline=None)
    machine.TestCase("runTest").runTest()


def pass_through(elements: int, threads: int) -> None:
    """Feed a queue from `threads` threads and drain it by as many: each element comes out once."""
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(50, tf.int64, ())
        value = tf.placeholder(tf.int64, [])
        enqueue = session.make_callable(queue.enqueue(value), [value])
        dequeue = session.make_callable(queue.dequeue())
        session.run(queue.size())
        got: list[list[int]] = [[] for _ in range(threads)]
        parts = [range(start, elements, threads) for start in range(threads)]

        def feed(part):
            for number in part:
                enqueue(number)

        def drain(part, out):
            for _ in part:
                out.append(int(dequeue()))

        workers = [threading.Thread(target=feed, args=(part,)) for part in parts]
        workers += [threading.Thread(target=drain, args=pair) for pair in zip(parts, got)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sorted(number for out in got for number in out) == list(range(elements))


def test_every_element_passes_once():
    pass_through(2000, 4)


@pytest.mark.exhaustive
def test_a_hundred_thousand_elements_pass_once():
    pass_through(100_000, 4)


class Waiting:
    """A run in a thread, which has to wait."""

    def __init__(self, session, fetch, **options) -> None:
        self.error = self.result = None
        self._arguments = session, fetch, options
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        session, fetch, options = self._arguments
        try:
            self.result = session.run(fetch, **options)
        except tf.errors.OpError as error:
            self.error = error

    def end(self):
        self.thread.join()
        if self.error is not None:
            raise self.error
        return self.result


def test_a_run_that_waits_lets_others_go_on():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1, tf.int32, ())
        steps = tf.get_variable("steps", [], tf.int32, tf.zeros_initializer(), use_resource=True)
        add = steps.assign_add(1)
        with tf.control_dependencies([add]):
            train = queue.dequeue() + steps
        session.run(steps.initializer)
        waiting = [Waiting(session, train) for _ in range(2)]  # of the same fetches
        while session.run(steps) < 2:
            pass
        session.run(add)  # the variable is free
        session.run(queue.enqueue(10))
        session.run(queue.enqueue(20))
        results = sorted(run.end() for run in waiting)
        assert 11 <= results[0] <= 13 and 21 <= results[1] <= 23
        assert session.run(steps) == 3


def test_other_work_of_a_step_goes_on():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1, tf.int32, ())
        steps = tf.get_variable("steps", [], tf.int32, tf.zeros_initializer())
        session.run(steps.initializer)
        work = steps.assign(tf.identity(tf.identity(tf.constant(1))) + steps)  # deeper in the graph
        waiting = Waiting(session, [queue.dequeue(), work])
        while session.run(steps) < 1:
            pass
        session.run(queue.enqueue(7))
        assert waiting.end()[0] == 7
        element, done = session.run([queue.dequeue(), queue.enqueue(8)])  # each other's, in a run
        assert element == 8 and done is None


def test_waits_end_with_a_time_limit_and_with_the_session():
    with tf.Graph().as_default():
        session = tf.Session()
        queue = tf.FIFOQueue(1, tf.int32, ())
        limit = tf.RunOptions(timeout_in_ms=20)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(queue.dequeue(), options=limit)
        session.run(queue.enqueue(1))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(queue.enqueue(2), options=limit)
        assert session.run([queue.dequeue(), queue.size()])[0] == 1  # nothing was left behind
        waiting = Waiting(session, queue.dequeue_many(2))
        session.run(queue.enqueue(3))
        while session.run(queue.size()):
            pass
        session.close()
        with pytest.raises(tf.errors.CancelledError, match="Dequeue operation was cancelled"):
            waiting.end()


def test_an_error_ends_the_waits_of_its_step():
    with tf.Graph().as_default(), tf.Session() as session:
        full, empty = tf.FIFOQueue(1, tf.int32, ()), tf.FIFOQueue(1, tf.int32, ())
        session.run(full.close())
        with pytest.raises(tf.errors.CancelledError, match=r"'_[0-9]*_fifo_queue' is closed"):
            session.run([empty.dequeue(), full.enqueue(1)])


def test_close_waits_for_enqueues_or_cancels_them():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1, tf.int32, ())
        session.run(queue.enqueue(1))
        enqueue, take = queue.enqueue(2), queue.dequeue()
        closed, size = queue.is_closed(), queue.size()
        waiting = Waiting(session, enqueue)
        limit = tf.RunOptions(timeout_in_ms=50)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(queue.enqueue(3), options=limit)  # the other one waits by now
        closing = Waiting(session, queue.close())
        assert [session.run(take), session.run(take)] == [1, 2]
        assert waiting.end() is None and closing.end() is None
        with pytest.raises(tf.errors.OutOfRangeError, match=r"\(requested 1, current size 0\)"):
            session.run(take)
        assert session.run(closed)

        queue = tf.FIFOQueue(1, tf.int32, ())
        session.run(queue.enqueue(1))
        waiting = Waiting(session, queue.enqueue_many([[2, 3]]))
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(queue.enqueue(3), options=limit)
        session.run(queue.close(cancel_pending_enqueues=True))
        session.run(queue.close(cancel_pending_enqueues=True))
        with pytest.raises(tf.errors.CancelledError, match="Enqueue operation was cancelled"):
            waiting.end()
        assert session.run(size) == 0 and session.run(queue.dequeue()) == 1


def test_queues_share_a_name():
    with tf.Graph().as_default(), tf.Session() as session:
        first = tf.FIFOQueue(3, tf.int32, (), shared_name="numbers")
        second = tf.FIFOQueue(3, tf.int32, (), shared_name="numbers")
        session.run(first.enqueue(5))
        assert session.run(second.dequeue()) == 5
        for other, message in (
            (tf.FIFOQueue(2, tf.int32, (), shared_name="numbers"), "has capacity 3 but requested"),
            (tf.FIFOQueue(3, tf.float32, (), shared_name="numbers"), "component types int32"),
            (tf.FIFOQueue(3, tf.int32, (2,), shared_name="numbers"), "has component shapes"),
            (
                tf.RandomShuffleQueue(3, 1, tf.int32, (), shared_name="numbers"),
                "Expected FIFOQueue, found RandomShuffleQueueV2",
            ),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(other.size())
        mixed = [tf.RandomShuffleQueue(3, 1, tf.int32, (), seed=n, shared_name="r") for n in (1, 2)]
        session.run(mixed[0].size())
        with pytest.raises(tf.errors.InvalidArgumentError, match="has random seeds"):
            session.run(mixed[1].size())


def test_queues_that_have_no_elements_are_refused():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="passed list of length 0 less than minimum 1"):
            tf.FIFOQueue(3, [])
        with pytest.raises(ValueError, match="When providing partial shapes, a list"):
            tf.PaddingFIFOQueue(3, tf.int32, None)
        with pytest.raises(TypeError, match="Expected list for 'shapes' argument"):
            tf.PriorityQueue(3, tf.int32)


def test_padding_fills_up_the_elements_of_a_batch():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.PaddingFIFOQueue(5, [tf.int32, tf.string], [[None], [None, 1]])
        row = tf.placeholder(tf.int32, [None])
        words = tf.placeholder(tf.string, [None, 1])
        enqueue = queue.enqueue([row, words])
        for number in (1, 3, 0):
            session.run(enqueue, {row: range(number), words: np.full((number, 1), b"a", object)})
        rows, texts = session.run(queue.dequeue_many(3))
        np.testing.assert_array_equal(rows, [[0, 0, 0], [0, 1, 2], [0, 0, 0]])
        assert texts[..., 0].tolist() == [[b"a", b"", b""], [b"a"] * 3, [b""] * 3]


def test_shuffling_is_as_tensorflow_shuffles():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.RandomShuffleQueue(10, 2, tf.int32, (), seed=3)
        session.run(queue.enqueue_many([range(8)]))
        taken = [session.run(queue.dequeue()) for _ in range(6)]
        assert taken == [7, 3, 4, 0, 6, 2]  # TensorFlow 2.21 gives these
        with pytest.raises(tf.errors.InvalidArgumentError, match="min_after_dequeue 3 must be <"):
            session.run(tf.RandomShuffleQueue(2, 3, tf.int32).size())


def test_a_queue_of_a_list_and_elements_by_names():
    with tf.Graph().as_default(), tf.Session() as session:
        queues = [tf.FIFOQueue(3, tf.int32, ()) for _ in range(2)]
        index = tf.placeholder(tf.int32, [])
        chosen = tf.QueueBase.from_list(index, queues)
        session.run([queues[0].enqueue(10), queues[1].enqueue(11)])
        take = chosen.dequeue()
        assert [session.run(take, {index: number}) for number in (1, 0)] == [11, 10]
        with pytest.raises(TypeError, match="A list of queues expected"):
            tf.QueueBase.from_list(0, [])
        named = tf.FIFOQueue(3, [tf.int32, tf.float32], names=["a", "b"])
        session.run(named.enqueue({"b": 0.5, "a": 1}))
        assert session.run(named.dequeue()) == {"a": 1, "b": 0.5}


def test_wrong_elements_are_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(3, tf.int32, [2])
        with pytest.raises(TypeError, match="Expected int32"):
            queue.enqueue([0.5, 1.5])
        with pytest.raises(ValueError, match=r"Shapes .* are incompatible"):
            queue.enqueue([[1, 2, 3]])
        with pytest.raises(ValueError, match="Queue must have names to enqueue a dictionary"):
            queue.enqueue({"a": [1, 2]})
        pairs = tf.FIFOQueue(3, [tf.int32, tf.int32], [[], []])
        with pytest.raises(ValueError, match=r"^Dimensions 2 and 3 are not compatible"):
            pairs.enqueue_many([[1, 2], [1, 2, 3]])
        assert pairs.enqueue_many([tf.placeholder(tf.int32), [1, 2]]).type == "QueueEnqueueManyV2"
        fed = tf.placeholder(tf.int32)
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"Shape mismatch in tuple component 0. Expected \[2\], got \[3\]",
        ):
            session.run(queue.enqueue([fed]), {fed: [1, 2, 3]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="requested -1 < 0 elements"):
            session.run(queue.dequeue_many(fed), {fed: -1})
        with pytest.raises(tf.errors.InvalidArgumentError, match="to have specified shapes"):
            session.run(tf.FIFOQueue(3, tf.int32).dequeue_many(1))
        with pytest.raises(ValueError, match="All shapes must be fully defined"):
            tf.FIFOQueue(3, tf.int32, [None])
        session.run(queue.enqueue([[1, 2]]))
        assert session.run(queue.dequeue()).tolist() == [1, 2]


def test_what_follows_a_dequeue_has_planned_memory():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.PaddingFIFOQueue(9, [tf.float32, tf.float32], [(3,), (None,)])
        session.run(queue.enqueue_many([[[1.0, 2.0, 3.0]] * 7, [[4.0]] * 7]))
        many, some = queue.dequeue_many(2), queue.dequeue_up_to(2)
        chosen = tf.cond(tf.constant(True), lambda: queue.dequeue()[0], lambda: tf.ones([3]))
        for dequeued, values in (
            (many[0], [3, 5, 7]),
            (chosen, [3, 5, 7]),
            (some[0], [3, 5, 7]),
            (many[1], [9]),
        ):
            result = dequeued * 2.0 + 1.0
            np.testing.assert_array_equal(np.unique(session.run(result)), values)
            (sized,) = re.findall(r"(\d+) are sized at run time", str(session.explain(result)))
            assert int(sized) <= 1  # component 1 of the dequeue is
