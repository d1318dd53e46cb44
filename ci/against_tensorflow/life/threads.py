"""Programs of waits, coordinators and runners."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from recorded_programs import Programs, Record, adding_to, in_thread, until_the_end

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


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
        """Records its calls."""

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
