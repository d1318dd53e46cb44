"""Programs of global steps, slots, averages, summaries and event files."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, counting

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def training_module(tf: Any, name: str) -> Any:
    """Return a module of tensorflow/python/training, which has no public name."""
    own = {"slot_creator": "optimizers.slot_creator"}.get(name, name)
    package = (
        "gpugraph.library.train." if tf.__name__ == "gpugraph" else "tensorflow.python.training."
    )
    return importlib.import_module(package + (own if tf.__name__ == "gpugraph" else name))


# -- global step, slots, averages


@program
def global_steps(tf: Any, record: Record) -> None:
    train = tf.train
    record("none", train.get_global_step())
    step = train.create_global_step()
    record("made", [step.name, str(step.dtype.base_dtype), step.trainable, step.get_shape().rank])
    record("found", [train.get_global_step() is step, train.get_or_create_global_step() is step])
    keys = [key for key in ("global_step", "variables", "trainable_variables")
            if step in tf.get_collection(key)]  # fmt: skip
    record("collections", keys)
    record.error("again", train.create_global_step)
    with tf.Session() as session:
        session.run(step.initializer)
        record("value", train.global_step(session, step))
    train.assert_global_step(step)
    record.error("a float", lambda: train.assert_global_step(tf.Variable(1.0)))
    record.error("a vector", lambda: train.assert_global_step(tf.Variable([1])))
    record.error("no tensor", lambda: train.assert_global_step(None))
    with tf.Graph().as_default():
        tf.Variable(1.5, name="global_step")
        record.error("another type", train.get_global_step)
    with tf.Graph().as_default():
        tf.add_to_collection("global_step", tf.Variable(1))
        tf.add_to_collection("global_step", tf.Variable(1))
        with record.log("two"):
            record.error("several", train.get_global_step)
    with tf.Graph().as_default():
        named = tf.Variable(np.int32(4), name="global_step", trainable=False)
        record("by name", train.get_global_step().op.name == named.op.name)
    with tf.Graph().as_default():
        tf.placeholder(tf.int64, [], name="global_step")
        record.error("placeholder", train.get_global_step)


@program
def global_steps_read(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    hook = tf.train.StopAtStepHook(last_step=9)
    hook.begin()
    hook.begin()
    read = hook.before_run(None).fetches
    record("read", [read.op.name, str(read.dtype.base_dtype)])
    with tf.control_dependencies([count]):
        later = tf.identity(step)
    with tf.Session() as session:
        session.run(step.initializer)
        record("before the count", session.run([read, later]))


@program
def slots(tf: Any, record: Record) -> None:
    creator = training_module(tf, "slot_creator")
    value = tf.Variable([1.0, 2.0], name="v")
    scoped = tf.get_variable("g", [2, 3], initializer=tf.ones_initializer())
    cases = {
        "slot": creator.create_slot(value, tf.constant([3.0, 4.0]), "s"),
        "again": creator.create_slot(value, tf.constant([3.0, 4.0]), "s"),
        "zeros": creator.create_zeros_slot(value, "z"),
        "zeros of a dtype": creator.create_zeros_slot(scoped, "z", dtype=tf.float64),
        "initializer": creator.create_slot_with_initializer(
            scoped, tf.ones_initializer(), tf.TensorShape([4]), tf.float32, "i"
        ),
        "apart": creator.create_slot(value, tf.constant(1.0), "a", colocate_with_primary=False),
        "of a tensor": creator.create_zeros_slot(tf.constant([1.0, 2.0], name="t"), "z"),
    }
    with tf.variable_scope("scope"):
        cases["in a scope"] = creator.create_zeros_slot(value, "z")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for key, slot in cases.items():
            info = [slot.op.name, slot.trainable, str(slot.dtype.base_dtype), str(slot.shape)]
            record(key, [*info, session.run(slot)])
    record("global", sorted(v.op.name for v in tf.global_variables()))


@program
def averages(tf: Any, record: Record) -> None:
    value = tf.Variable(2.0, name="v")
    scaled = tf.multiply(value, 3.0, name="scaled")
    count = tf.Variable(0, name="updates", trainable=False)
    for key, settings in (
        ("plain", {"decay": 0.9}),
        ("updates", {"decay": 0.99, "num_updates": count}),
        ("debiased", {"decay": 0.9, "zero_debias": True, "name": "EMA2"}),
    ):
        average = tf.train.ExponentialMovingAverage(**settings)
        with tf.name_scope(key):
            update = average.apply([value, scaled])
        record(f"names {key}", [update.name, average.average(value).op.name,
                                average.average(scaled).op.name, average.average_name(value),
                                average.average_name(scaled), average.name])  # fmt: skip
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            results = []
            for number in (5.0, -1.0, 4.0):
                session.run(tf.assign(value, number))
                session.run(tf.assign_add(count, 1))
                session.run(update)
                results.append(session.run([average.average(value), average.average(scaled)]))
        record(f"values {key}", results)
    record("variables", sorted(v.op.name for v in tf.global_variables()))
    record("moving", sorted(v.op.name for v in tf.moving_average_variables()))
    plain = tf.train.ExponentialMovingAverage(0.9)
    record("restore", sorted(plain.variables_to_restore()))
    record("restore none", sorted(plain.variables_to_restore([])))
    record("unknown", plain.average(value))
    record("default names", plain.average_name(value))
    record.error("ints", lambda: plain.apply([count]))
    record.error("twice", lambda: [plain.apply([value]), plain.apply([value])][0].name)
    record.error("no variables", lambda: tf.train.ExponentialMovingAverage(0.9).apply([]).name)


@program
def averages_assigned(tf: Any, record: Record) -> None:
    averages = training_module(tf, "moving_averages")
    for debias in (True, False):
        with tf.Graph().as_default(), tf.variable_scope("outer"):
            value = tf.get_variable("v", [2], initializer=tf.zeros_initializer(), trainable=False)
            fed = tf.placeholder(tf.float32, [2])
            update = averages.assign_moving_average(value, fed, 0.9, zero_debias=debias)
            again = averages.assign_moving_average(value, fed, 0.5, debias, name="mine")
            record(f"names {debias}", [update.op.name, again.op.name])
            record(f"variables {debias}", sorted(v.op.name for v in tf.global_variables()))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                results = [session.run(update, {fed: [n, -n]}) for n in (1.0, 2.0, 5.0)]
                record(f"values {debias}", [*results, session.run(again, {fed: [1.0, 1.0]})])
                record(f"after {debias}", session.run(tf.global_variables()))
    with tf.Graph().as_default():
        value, weight = tf.Variable(0.0), tf.placeholder(tf.float32, [])
        mean = averages.weighted_moving_average(value, 0.9, weight, name="w")
        record("weighted name", mean.op.name)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            weighted = []
            for number, share in ((1.0, 0.5), (3.0, 2.0)):
                session.run(tf.assign(value, number))
                weighted.append(session.run(mean, {weight: share}))
            record("weighted", weighted)


# -- summaries and event files


def written(tf: Any, record: Record, key: str, fetches: Any, feeds: Any = None) -> None:
    """Record the values of a summary, which one run gives."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        folder = record.folder / key.replace(" ", "_")
        writer = tf.summary.FileWriter(str(folder))
        writer.add_summary(session.run(fetches, feeds), 3)
        writer.close()
    record.events(key, folder)


@program
def scalars(tf: Any, record: Record) -> None:
    with tf.name_scope("scope"):
        one = tf.summary.scalar("a b/c", 1.5)
        two = tf.summary.scalar("a b/c", tf.constant(3), family="fam")
    record("names", [one.name, two.name, one.op.type])
    record("collections", [t.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)])
    apart = tf.summary.scalar("apart", 1.0, collections=["mine"])
    record("of mine", [t.name for t in tf.get_collection("mine")])
    for key, summary in (("one", one), ("two", two), ("apart", apart)):
        written(tf, record, key, summary)
    for dtype in ("float64", "int64", "uint8", "bool", "float16"):
        value = np.ones([], dtype)
        record.error(f"of {dtype}", lambda v=value: tf.summary.scalar("x", v).op.type)
    record.error("string", lambda: tf.summary.scalar("x", "text"))
    record.error("vector", lambda: run_one(tf, tf.summary.scalar("x", [1.0, 2.0])))
    written(tf, record, "not a number", tf.summary.scalar("nan", float("nan")))


def run_one(tf: Any, fetches: Any) -> Any:
    """Return the fetched values of a separate session."""
    with tf.Session() as session:
        return session.run(fetches)


@program
def histograms(tf: Any, record: Record) -> None:
    cases = {
        "floats": np.array([-1.5, 0, 0, 2e-7, 3.25, 1e9], np.float32),
        "ints": np.arange(-5, 6),
        "empty": np.zeros([0], np.float32),
        "one": np.array(4.0),
        "large": np.array([1e300, -1e300, 1e-300]),
        "many": np.random.RandomState(1).randn(200),
    }
    for key, values in cases.items():
        written(tf, record, key, tf.summary.histogram(key, values))
    for value in (np.nan, np.inf):
        summary = tf.summary.histogram("x", [1.0, value])
        record.error(f"of {value}", lambda s=summary: run_one(tf, s))
    record.error("string", lambda: tf.summary.histogram("x", "text"))
    record.error("bool", lambda: tf.summary.histogram("x", [True]))
    with tf.name_scope("s"):
        record("name", tf.summary.histogram("h", [1.0], family="f").name)


@program
def images(tf: Any, record: Record) -> None:
    random = np.random.RandomState(2)
    cases = {
        "gray": random.randint(0, 255, (2, 3, 4, 1)).astype(np.uint8),
        "colors": random.randint(0, 255, (1, 3, 4, 3)).astype(np.uint8),
        "alpha": random.randint(0, 255, (1, 2, 2, 4)).astype(np.uint8),
        "floats": random.rand(2, 3, 4, 1).astype(np.float32),
        "negative": random.randn(2, 3, 4, 3).astype(np.float32) * 40,
        "constant": np.zeros((1, 2, 2, 1), np.float32),
        "not numbers": np.array([[0.5, np.nan], [np.inf, 1]], np.float32).reshape(1, 2, 2, 1),
        "halves": random.rand(1, 2, 2, 1).astype(np.float16),
    }
    for key, values in cases.items():
        written(tf, record, key, tf.summary.image(key, values))
    written(tf, record, "five of them", tf.summary.image("five", np.ones((5, 1, 1, 1)), 4))
    written(tf, record, "in a family", tf.summary.image("i", cases["gray"], 1, family="fam"))
    record.error("rank", lambda: tf.summary.image("x", np.ones([2, 2], np.float32)))
    record.error("channels", lambda: run_one(tf, tf.summary.image("x", np.ones([1, 2, 2, 2]))))
    record.error("none", lambda: tf.summary.image("x", cases["gray"], max_outputs=0))
    record.error("ints", lambda: tf.summary.image("x", np.ones([1, 2, 2, 1], np.int32)))


@program
def sounds(tf: Any, record: Record) -> None:
    wave = np.sin(np.arange(20) / 3).astype(np.float32).reshape(1, 20, 1)
    stereo = np.concatenate([wave, -wave, wave * 3], 0).reshape(3, 20, 1)
    pair = np.concatenate([wave, -wave], 2)
    written(tf, record, "mono", tf.summary.audio("mono", wave, 8000))
    written(tf, record, "three", tf.summary.audio("three", stereo, 8000.0, max_outputs=2))
    written(tf, record, "pair", tf.summary.audio("pair", pair, 16000, family="fam"))
    written(tf, record, "rank 2", tf.summary.audio("flat", wave[..., 0], 8000))
    record.error("rank", lambda: tf.summary.audio("x", wave[0, :, 0], 8000))
    record.error("rate", lambda: run_one(tf, tf.summary.audio("x", wave, 0)))


@program
def texts_and_tensors(tf: Any, record: Record) -> None:
    written(tf, record, "text", tf.summary.text("words", tf.constant("*hello*")))
    written(tf, record, "table", tf.summary.text("table", [["a", "b"], ["c", "d"]]))
    written(tf, record, "tensor", tf.summary.tensor_summary("t", np.arange(6.0).reshape(2, 3)))
    titled = tf.summary.tensor_summary(
        "t", [1, 2], summary_description="about", display_name="shown", family="fam"
    )
    written(tf, record, "titled", titled)
    record("names", [titled.name, titled.op.type])
    record.error("not text", lambda: tf.summary.text("x", tf.constant(1)))


@program
def merged(tf: Any, record: Record) -> None:
    record("nothing", tf.summary.merge_all())
    one, two = tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)
    both = tf.summary.merge([one, two], name="both")
    everything = tf.summary.merge_all()
    record("names", [both.name, everything.name])
    written(tf, record, "both", both)
    written(tf, record, "all", everything)
    tf.summary.scalar("scoped/c", 3.0)
    record("by scope", tf.summary.merge_all(scope="scoped").op.inputs[0].name)
    record("by key", tf.summary.merge_all(key="none"))
    again = tf.summary.merge([one, one])
    record.error("the same tag twice", lambda: run_one(tf, again))
    record.error("no summary", lambda: run_one(tf, tf.summary.merge([tf.constant(b"\xff\xff")])))
    merged_in = tf.summary.merge([one], collections=["mine"])
    record("of mine", tf.get_collection("mine") == [merged_in])
    record.error("nothing to merge", lambda: tf.summary.merge([]))


@program
def file_writers(tf: Any, record: Record) -> None:
    value = tf.Variable(1.0, name="v")
    folder = record.folder / "log"
    writer = tf.summary.FileWriter(str(folder), tf.get_default_graph(), filename_suffix=".mine")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(value.initializer)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(value + 1.0, options=options, run_metadata=metadata)
    writer.add_run_metadata(metadata, "step1", 1)
    record.error("tag again", lambda: writer.add_run_metadata(metadata, "step1"))
    log = tf.SessionLog
    writer.add_session_log(log(status=log.START), 2)
    writer.add_session_log(log(status=log.CHECKPOINT, checkpoint_path="a/b"), 3)
    writer.add_session_log(log(status=log.STOP), 4)
    summary = tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=2.5)])
    writer.add_summary(summary, 5)
    writer.add_summary(summary.SerializeToString(), np.int64(6))
    writer.add_event(tf.Event(step=7, file_version="own"))
    writer.add_graph(tf.get_default_graph(), 8)
    writer.add_meta_graph(tf.train.export_meta_graph(), 9)
    record("folder", Path(writer.get_logdir()).name)
    writer.flush()
    record("suffix", [path.name.endswith(".mine") for path in folder.iterdir()])
    writer.close()
    record("closed twice", writer.close())
    record.events("events", folder)
    record.error("both graphs", lambda: writer.add_graph(
        tf.get_default_graph(), graph_def=tf.GraphDef()
    ))  # fmt: skip
    record.error("no graph", lambda: writer.add_graph("text"))
    record.error("no meta graph", lambda: writer.add_meta_graph(tf.GraphDef()))
    (record.folder / "file").write_text("")
    record.error("a file", lambda: tf.summary.FileWriter(str(record.folder / "file")))
    record.error("below a file", lambda: tf.summary.FileWriter(str(record.folder / "file" / "x")))


@program
def files_reopened(tf: Any, record: Record) -> None:
    folder = str(record.folder)
    summary = tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=2.5)])
    with tf.summary.FileWriter(folder, filename_suffix=".a") as writer:
        writer.add_summary(summary, 1)
    writer.reopen()
    writer.add_summary(summary, 2)
    writer.close()
    record("steps", sorted(
        event.step
        for path in record.folder.iterdir()
        for event in tf.train.summary_iterator(str(path))
        if event.WhichOneof("what") == "summary"
    ))  # fmt: skip
    cache = tf.summary.FileWriterCache
    first = cache.get(folder + "/cached")
    record("cached", first is cache.get(folder + "/cached"))
    cache.clear()
    record("cleared", first is cache.get(folder + "/cached"))
    record.error("no file", lambda: list(tf.train.summary_iterator(folder + "/none")))
    (record.folder / "broken").write_bytes(b"no records, but longer than a header")
    record.error("broken", lambda: list(tf.train.summary_iterator(folder + "/broken")))
    record("description", str(tf.summary.get_summary_description(
        tf.summary.tensor_summary("t", 1.0, summary_description="").op.node_def
    )))  # fmt: skip
