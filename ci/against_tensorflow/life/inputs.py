"""Programs of producers and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, run_new, shapes, until_the_end

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


# -- producers and batches


def run_with_runners(tf: Any, action: Callable[[Any], Any], seconds: int = 10) -> Any:
    """Run an action on a session whose queue runners run; join all threads, and return the
    result.
    """
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            return action(session)
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=seconds)


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
def sparse_batches(tf: Any, record: Record) -> None:
    def number() -> Any:
        queue = tf.train.range_input_producer(5, num_epochs=1, shuffle=False)
        return tf.cast(queue.dequeue(), tf.int64)

    def sparse(place: Any) -> Any:
        values = tf.stack([tf.cast(place, tf.float32)])
        return tf.SparseTensor(tf.stack([[0 * place, place]]), values, [2, 6])

    one, kept = number(), number()
    cases = {
        "pairs": tf.train.batch([sparse(one), one], 2, allow_smaller_final_batch=True),
        "rows": tf.train.batch({"s": sparse(number())}, 2, enqueue_many=True),
        "mixed": tf.train.shuffle_batch([sparse(number())], 5, 10, 4, seed=1),
        "joined": tf.train.batch_join([[sparse(tf.constant(3, tf.int64))]] * 2, 2),
        "kept": tf.train.maybe_batch([sparse(kept)], kept > 2, 1),
    }
    record("shapes", shapes([cases["pairs"][0], cases["joined"]]))

    def run(session: Any) -> None:
        for key, batch in cases.items():
            finite = key != "joined"
            record(key, until_the_end(tf, session, batch) if finite else [session.run(batch)])

    run_with_runners(tf, run)
    record.error("mixture", lambda: tf.train.batch_join([[sparse(one)], [tf.constant(1.0)]], 2))


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
