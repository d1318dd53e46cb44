"""Programs of iterators: one-shot, initializable, reinitializable, feedable, their positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


@program
def one_shot(tf: Any, record: Record) -> None:
    iterator = tf.data.Dataset.range(3).make_one_shot_iterator()
    following = iterator.get_next()
    record("types", [following.op.type, str(following.dtype)])
    with tf.Session() as session:
        record("values", [session.run(following) for _ in range(3)])
        record.error("end", lambda: session.run(following))
        record.error("end again", lambda: session.run(following))
    record.error("no initializer", lambda: iterator.initializer)


@program
def one_shot_in_two_sessions(tf: Any, record: Record) -> None:
    following = tf.data.Dataset.range(3).make_one_shot_iterator().get_next()
    with tf.Session() as first, tf.Session() as second:
        record("values", [first.run(following), first.run(following), second.run(following)])


@program
def one_shot_refuses_state(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    v = tf.Variable(np.int64(3), use_resource=True)
    dataset = d.range(3).map(lambda x: x + v)
    record.error("variable", dataset.make_one_shot_iterator)
    fed = tf.placeholder(tf.int64, [])
    record.error("placeholder", lambda: d.range(fed).make_one_shot_iterator())


@program
def initializable(tf: Any, record: Record) -> None:
    count = tf.placeholder(tf.int64, [])
    iterator = tf.data.Dataset.range(count).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        record.error("before", lambda: session.run(following))
        session.run(iterator.initializer, {count: 2})
        record("first", [session.run(following) for _ in range(2)])
        record.error("end", lambda: session.run(following))
        session.run(iterator.initializer, {count: 3})
        record("second", [session.run(following) for _ in range(3)])


@program
def reinitializable(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    first, second = d.range(3), d.range(10, 12)
    iterator = tf.data.Iterator.from_structure(first.output_types, first.output_shapes)
    following = iterator.get_next()
    begin, other = iterator.make_initializer(first), iterator.make_initializer(second)
    with tf.Session() as session:
        record.error("before", lambda: session.run(following))
        session.run(begin)
        record("first", session.run(following))
        session.run(other)
        record("second", [session.run(following) for _ in range(2)])
        record.error("end", lambda: session.run(following))
    record.error("no initializer", lambda: iterator.initializer)
    record.error("types", lambda: iterator.make_initializer(d.from_tensors(1.0)))
    record.error("shapes", lambda: iterator.make_initializer(d.range(4).batch(2)))
    record.error("structure", lambda: iterator.make_initializer(d.zip((first, first))))


@program
def feedable(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    handle = tf.placeholder(tf.string, [])
    first, second = d.range(5).repeat(), d.range(10, 13)
    iterator = tf.data.Iterator.from_string_handle(handle, first.output_types, first.output_shapes)
    following = iterator.get_next()
    train, valid = first.make_one_shot_iterator(), second.make_initializable_iterator()
    with tf.Session() as session:
        one, other = session.run([train.string_handle(), valid.string_handle()])
        found = [session.run(following, {handle: one}) for _ in range(3)]
        session.run(valid.initializer)
        found += [session.run(following, {handle: other}) for _ in range(2)]
        found += [session.run(following, {handle: one}) for _ in range(3)]
        record("values", found)
        record.error("no handle", lambda: session.run(following, {handle: b"nothing"}))


@program
def feedable_wrong_types(tf: Any, record: Record) -> None:
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, tf.float32, [])
    following = iterator.get_next()
    other = tf.data.Dataset.range(3).make_one_shot_iterator()
    with tf.Session() as session:
        text = session.run(other.string_handle())
        record.error("types", lambda: session.run(following, {handle: text}))


@program
def several_in_one_run(tf: Any, record: Record) -> None:
    iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
    one, other = iterator.get_next(), iterator.get_next()
    pair = tf.data.Dataset.range(4).map(lambda x: (x, x * x)).make_one_shot_iterator().get_next()
    with tf.Session() as session:
        record("two", sorted(session.run([one, other])))
        record("next", session.run(one))
        record("pair", session.run(pair))
        record("half of a pair", session.run(pair[1]))
        record("the next pair", session.run(pair))


@program
def in_conditions(tf: Any, record: Record) -> None:
    iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
    flag = tf.placeholder(tf.bool, [])
    value = tf.cond(flag, lambda: iterator.get_next(), lambda: tf.constant(-1, tf.int64))
    with tf.Session() as session:
        flags = [True, False, True, False, True]
        record("values", [session.run(value, {flag: one}) for one in flags])


@program
def in_loops(tf: Any, record: Record) -> None:
    iterator = tf.data.Dataset.range(10).make_one_shot_iterator()
    total = tf.while_loop(
        lambda i, s: i < 4, lambda i, s: (i + 1, s * 10 + iterator.get_next()), [0, np.int64(0)]
    )[1]
    with tf.Session() as session:
        record("first", session.run(total))
        record("second", session.run(total))
        record.error("end", lambda: session.run(total))


@program
def optionals(tf: Any, record: Record) -> None:
    iterator = tf.data.Dataset.range(2).make_one_shot_iterator()
    optional = tf.data.experimental.get_next_as_optional(iterator)
    has, value = optional.has_value(), optional.get_value()
    with tf.Session() as session:
        record("first", session.run([has, value]))
        record("second", session.run(value))
        record("end", session.run(has))
        record.error("no value", lambda: session.run(value))
        made = tf.data.experimental.Optional.from_value((1, [2.0]))
        record("made", session.run([made.has_value(), made.get_value()]))
    record("spec", str(made.value_structure if hasattr(made, "value_structure") else ""))


@program
def functions_with_variables(tf: Any, record: Record) -> None:
    v = tf.Variable(np.int64(2), use_resource=True)
    iterator = tf.data.Dataset.range(6).map(lambda x: x * v).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(iterator.initializer)
        found = [session.run(following)]
        session.run(v.assign(100))
        found += [session.run(following) for _ in range(2)]
        record("values", found)


@program
def functions_with_uninitialized_variables(tf: Any, record: Record) -> None:
    v = tf.Variable(np.int64(2), use_resource=True)
    iterator = tf.data.Dataset.range(6).map(lambda x: x * v).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        record.error("value", lambda: session.run(following))


@program
def functions_that_assign(tf: Any, record: Record) -> None:
    v = tf.Variable(np.int64(0), use_resource=True)

    def count(x: Any) -> Any:
        with tf.control_dependencies([v.assign_add(1)]):
            return tf.identity(x)

    iterator = tf.data.Dataset.range(6).map(count).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(iterator.initializer)
        record("values", [session.run(following) for _ in range(4)])
        record("count", int(session.run(v)))


@program
def functions_with_tables(tf: Any, record: Record) -> None:
    keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([1, 2], np.int64))
    table = tf.lookup.StaticHashTable(keys, -1)
    dataset = tf.data.Dataset.from_tensor_slices(["b", "a", "c"]).map(table.lookup)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        record.error("uninitialized", lambda: session.run(following))
        session.run([tf.tables_initializer(), iterator.initializer])
        record("values", [session.run(following) for _ in range(3)])


@program
def python_functions(tf: Any, record: Record) -> None:
    seen: list[int] = []

    def note(value: Any) -> Any:
        seen.append(int(value))
        return np.float32(value) / 2

    dataset = tf.data.Dataset.range(4).map(lambda x: tf.py_func(note, [x], tf.float32))
    following = dataset.make_one_shot_iterator().get_next()
    record("shape", str(following.shape))
    with tf.Session() as session:
        record("values", [session.run(following) for _ in range(2)])


@program
def positions(tf: Any, record: Record) -> None:
    d = tf.data.Dataset
    dataset = d.range(30).shuffle(5, seed=3).map(lambda x: x + 1).batch(2).prefetch(2).repeat(2)
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
    saver = tf.train.Saver()
    path = str(record.folder / "model")
    with tf.Session() as session:
        session.run(iterator.initializer)
        found = [session.run(following).tolist() for _ in range(4)]
        saver.save(session, path)
        found += [session.run(following).tolist() for _ in range(4)]
        record("before", found)
    with tf.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        record("after", [session.run(following).tolist() for _ in range(4)])


@program
def structures(tf: Any, record: Record) -> None:
    dataset = tf.data.Dataset.from_tensor_slices({"b": [1, 2], "a": ([1.0, 2.0], ["x", "y"])})
    iterator = dataset.make_one_shot_iterator()
    following = iterator.get_next()
    record("keys", sorted(following))
    record("types", [str(iterator.output_types["b"]), len(iterator.output_types["a"])])
    record("classes", [part.__name__ for part in iterator.output_classes["a"]])
    with tf.Session() as session:
        record("value", session.run(following))


@program
def of_another_graph(tf: Any, record: Record) -> None:
    dataset = tf.data.Dataset.range(3)
    with tf.Graph().as_default():
        record.error("iterator", dataset.make_initializable_iterator)
        record.error("one shot", dataset.make_one_shot_iterator)


@program
def resets(tf: Any, record: Record) -> None:
    iterator = tf.data.Dataset.range(5).make_initializable_iterator()
    following = iterator.get_next()
    session = tf.Session()
    session.run(iterator.initializer)
    record("first", session.run(following))
    session.close()
    record.error("closed", lambda: session.run(following))


@program
def training(tf: Any, record: Record) -> None:
    xs = np.linspace(0, 1, 20, dtype=np.float32)
    data = tf.data.Dataset.from_tensor_slices((xs, xs * 3 + 1)).shuffle(20, seed=1).repeat(5)
    x, y = data.batch(4).make_one_shot_iterator().get_next()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(x * w + b - y))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = []
        try:
            while True:
                losses.append(session.run([loss, train])[0])
        except tf.errors.OutOfRangeError:
            pass
        record("losses", losses)


@program
def monitored(tf: Any, record: Record) -> None:
    dataset = tf.data.Dataset.range(5)
    iterator = dataset.make_initializable_iterator()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    following = iterator.get_next()
    tf.train.get_or_create_global_step()
    found = []
    with tf.train.MonitoredTrainingSession() as session:
        while not session.should_stop():
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                break
    record("values", found)


@program
def graph_defs(tf: Any, record: Record) -> None:
    with tf.Graph().as_default() as graph:
        d = tf.data.Dataset
        offset = tf.constant(5, tf.int64)
        dataset = d.range(6).map(lambda x: x * 2 + offset).filter(lambda x: x > 6).batch(2)
        iterator = dataset.make_initializable_iterator()
        following = iterator.get_next(name="next")
        names = following.name, iterator.initializer.name
        graph_def = graph.as_graph_def()
    with tf.Graph().as_default():
        value, begin = tf.import_graph_def(graph_def, return_elements=names, name="")
        with tf.Session() as session:
            session.run(begin)
            record("values", [session.run(value).tolist() for _ in range(2)])
