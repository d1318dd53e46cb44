"""Programs of sessions, hooks, summaries and averages of a training, by TensorFlow and gpugraph.

    python ci/against_tensorflow/training_life.py --tensorflow PYTHON [--only NAME] [--words]

A line for each program tells how many of its answers, errors and events differ. The script fails
where one does that `EXPLAINED` does not name.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, main

PROGRAMS: Programs = {}

PYTHON = "1.15's words, which 2.x has written anew"
OWN = "a line of the log in words of our own"
TYPES = "the same words, with the op's type among them"
EXPLAINED: dict[str, str] = {
    "scaffolds_of_ones_own: several": "TensorFlow's own text is not formatted",
    "monitored: unknown fetch": PYTHON,
    "monitored: closed": "TensorFlow fails on its own None",
    "step_functions: not callable": "Python's words in 2.x",
    "recovery: log of AbortedError": OWN,
    "recovery: log of UnavailableError": OWN,
    "steps_counted: stands still": OWN,
    "global_steps: two": "the line names them",
    "scalars: of bool": TYPES,
    "scalars: string": TYPES,
    "scalars: vector": PYTHON,
    "histograms: of inf": PYTHON,
    "histograms: string": TYPES,
    "histograms: bool": "1.15 refuses it as ours does",
    "file_writers: below a file": "the path that was asked for, where TensorFlow names its parent",
    "files_reopened: steps": "TensorFlow writes over a file of the same second",
    "files_reopened: broken": "the text says what is wrong",
}


def program(function: Callable[[Any, Record], None]) -> Callable[[Any, Record], None]:
    """Adds a program, under its function's name."""
    PROGRAMS[function.__name__] = function
    return function


def training_module(tf: Any, name: str) -> Any:
    """A module of tensorflow/python/training, which has no public name."""
    own = {"slot_creator": "optimizers.slot_creator"}.get(name, name)
    package = "gpugraph.train." if tf.__name__ == "gpugraph" else "tensorflow.python.training."
    return importlib.import_module(package + (own if tf.__name__ == "gpugraph" else name))


def counting(tf: Any) -> tuple[Any, Any]:
    """A global step, and an operation that counts it."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1, name="count")


def recorder(tf: Any, log: list[str], name: str = "", **actions: Callable[..., Any]) -> Any:
    """A hook that notes its calls; `actions` are what its methods do besides."""

    class Recorder(tf.train.SessionRunHook):  # type: ignore[misc, name-defined]
        """Notes what is called."""

        def _note(self, method: str, *arguments: Any) -> Any:
            log.append(f"{name}{method}")
            return actions[method](*arguments) if method in actions else None

        def begin(self) -> Any:
            return self._note("begin")

        def after_create_session(self, session: Any, coord: Any) -> Any:
            return self._note("after_create_session", session, coord)

        def before_run(self, run_context: Any) -> Any:
            return self._note("before_run", run_context)

        def after_run(self, run_context: Any, run_values: Any) -> Any:
            return self._note("after_run", run_context, run_values)

        def end(self, session: Any) -> Any:
            return self._note("end", session)

    return Recorder()


def names_in(folder: Path) -> list[str]:
    """The files of a folder, without the part that a host and a time make."""
    kinds = {path.name.partition(".out.")[0] for path in Path(folder).iterdir()}
    return sorted(kinds)


# -- session managers, scaffolds and creators


@program
def sessions_prepared(tf: Any, record: Record) -> None:
    value = tf.Variable(3, name="v")
    fed = tf.placeholder(tf.int32, [], name="fed")
    given = tf.assign(value, fed)
    manager = tf.train.SessionManager()
    with manager.prepare_session("", init_op=tf.global_variables_initializer()) as session:
        record("init_op", session.run(value))
    with manager.prepare_session("", init_op=given, init_feed_dict={fed: 5}) as session:
        record("feeds", session.run(value))
    with manager.prepare_session(
        "", init_fn=lambda s: s.run(value.initializer), init_op=None
    ) as session:
        record("init_fn", session.run(value))
    record.error("nothing", lambda: manager.prepare_session(""))
    strict = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    record.error("not ready", lambda: strict.prepare_session("", init_op=tf.no_op()))
    local = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(),
        ready_for_local_init_op=tf.report_uninitialized_variables(),
        local_init_op=tf.local_variables_initializer(),
    )
    record.error("not ready for local", lambda: local.prepare_session("", init_op=tf.no_op()))
    record.error(
        "local without ready",
        lambda: tf.train.SessionManager(ready_for_local_init_op=tf.no_op(), local_init_op=None),
    )
    record.error("both", lambda: manager.prepare_session(
        "", init_op=given, saver=tf.train.Saver(), checkpoint_dir=str(record.folder),
        checkpoint_filename_with_path="x",
    ))  # fmt: skip


@program
def sessions_recovered(tf: Any, record: Record) -> None:
    value = tf.Variable(3, name="v")
    other = tf.Variable(4, name="other", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    saver = tf.train.Saver([value])
    path = str(record.folder / "model")
    with tf.Session() as session:
        session.run(value.initializer)
        session.run(tf.assign(value, 8))
        saver.save(session, path, global_step=7)
    ready = tf.report_uninitialized_variables([value])
    manager = tf.train.SessionManager(ready_op=ready)
    session, recovered = manager.recover_session("", saver, checkpoint_dir=str(record.folder))
    record("recovered", [recovered, session.run(value)])
    session, recovered = manager.recover_session("")
    record("without", [recovered])
    empty = record.folder / "empty"
    empty.mkdir()
    with record.log("log"):
        session, recovered = manager.recover_session("", saver, checkpoint_dir=str(empty))
    record("of an empty folder", recovered)
    session, recovered = manager.recover_session(
        "", saver, checkpoint_filename_with_path=f"{path}-7"
    )
    record("by name", [recovered, session.run(value)])
    with_local = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables([value, other]),
        ready_for_local_init_op=ready,
        local_init_op=other.initializer,
    )
    session, recovered = with_local.recover_session("", saver, checkpoint_dir=str(record.folder))
    record("local", [recovered, session.run([value, other])])
    unfit = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables([value, other]))
    with record.log("log of a model that is not ready"):
        session, recovered = unfit.recover_session("", saver, checkpoint_dir=str(record.folder))
    record("not ready", recovered)
    record.error("no checkpoint", lambda: manager.prepare_session(
        "", saver=saver, checkpoint_dir=str(empty)
    ))  # fmt: skip


@program
def sessions_waited_for(tf: Any, record: Record) -> None:
    value = tf.Variable(3, name="v")
    ready = tf.report_uninitialized_variables([value])
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.05)
    record.error("never ready", lambda: manager.wait_for_session("", max_wait_secs=0.3))
    free = tf.train.SessionManager(recovery_wait_secs=0.05)
    record("no ready_op", free.wait_for_session("").run(tf.constant(1)))


@program
def scaffolds(tf: Any, record: Record) -> None:
    tf.Variable(1.0, name="v")
    tf.Variable(2.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    tf.summary.scalar("s", 1.0)
    scaffold = tf.train.Scaffold()
    fields = ["init_op", "ready_op", "ready_for_local_init_op", "local_init_op"]
    fields += ["summary_op", "saver"]
    record("before", [getattr(scaffold, field) for field in fields])
    record("itself", scaffold.finalize() is scaffold)
    record("names", [getattr(getattr(scaffold, field), "name", "") for field in fields[:5]])
    keys = tf.GraphKeys
    for key in (keys.INIT_OP, keys.READY_OP, keys.READY_FOR_LOCAL_INIT_OP, keys.LOCAL_INIT_OP,
                keys.SUMMARY_OP):  # fmt: skip
        record(key, [item.name for item in tf.get_collection(key)])
    record("savers", len(tf.get_collection(keys.SAVERS)))
    record("finalized", tf.get_default_graph().finalized)
    record("init_feed_dict", [scaffold.init_feed_dict, scaffold.init_fn])


@program
def scaffolds_of_ones_own(tf: Any, record: Record) -> None:
    value = tf.Variable(1.0, name="v")
    calls = []

    def init_fn(scaffold: Any, session: Any) -> None:
        calls.append([type(scaffold).__name__, session.run(value)])

    scaffold = tf.train.Scaffold(
        init_op=tf.assign(value, 4.0, name="mine"), init_fn=init_fn, summary_op=None
    )
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as session:
        record("value", session.run(value))
    record("calls", calls)
    record("default local", tf.train.Scaffold.default_local_init_op is not None)
    tf.add_to_collection("mine", 5)
    record("found", tf.train.Scaffold.get_or_default("x", "mine", lambda: 6))
    record("default", tf.train.Scaffold.get_or_default("x", "none", lambda: 6))
    tf.add_to_collection("mine", 7)
    record.error("several", lambda: tf.train.Scaffold.get_or_default("x", "mine", lambda: 6))


@program
def creators(tf: Any, record: Record) -> None:
    value = tf.Variable(2.0, name="v")
    chief = tf.train.ChiefSessionCreator()
    session = chief.create_session()
    record("chief", session.run(value))
    record("finalized", tf.get_default_graph().finalized)
    with tf.Graph().as_default():
        tf.Variable(2.0, name="v")
        creator = tf.train.WorkerSessionCreator(max_wait_secs=0.2)
        with record.log("a worker's log"):
            record.error("worker alone", creator.create_session)


# -- monitored sessions


@program
def monitored(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    session = tf.train.MonitoredSession()
    record("run", [session.run(count), session.run(step), session.should_stop()])
    record("graph", [session.graph is tf.get_default_graph(), session.graph.finalized])
    record.error("graph is finalized", lambda: tf.constant(1))
    record.error("unknown fetch", lambda: session.run("none"))
    record("goes on", session.run(count))
    session.close()
    record.error("closed", lambda: session.run(step))
    record("stops", session.should_stop())
    record.error("closed twice", session.close)


@program
def singular(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    with tf.train.SingularMonitoredSession() as session:
        record("raw", [type(session.raw_session()).__name__, session.raw_session().run(step)])
        record("run", session.run(count))
    path = str(record.folder / "model")
    with tf.Graph().as_default():
        step, count = counting(tf)
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(tf.assign(step, 30))
            saver.save(session, path, global_step=30)
        session = tf.train.SingularMonitoredSession(checkpoint_filename_with_path=f"{path}-30")
        record("restored", session.run(count))
        session.close()
    with tf.Graph().as_default():
        step, count = counting(tf)
        with tf.train.SingularMonitoredSession(checkpoint_dir=str(record.folder)) as session:
            record("of a folder", session.run(count))


@program
def step_functions(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    fed = tf.placeholder(tf.int64, [])
    total = step + fed
    log: list[str] = []
    hook = recorder(tf, log)
    with tf.train.MonitoredSession(hooks=[hook]) as session:

        def function(step_context: Any) -> Any:
            raw = step_context.session.run(count)
            return raw, step_context.run_with_hooks(total, {fed: 10})

        record("values", session.run_step_fn(function))
        record("hooks", log)
        record.error("no argument", lambda: session.run_step_fn(lambda: 1))
        record.error("wrong name", lambda: session.run_step_fn(lambda context: 1))
        record.error("not callable", lambda: session.run_step_fn(3))

        class Own:
            """A step function that is a method."""

            def step(self, step_context: Any) -> Any:
                return step_context.session.run(step)

        record("method", session.run_step_fn(Own().step))
        record.error("stop", lambda: session.run_step_fn(lambda step_context: stop(step_context)))
        record("stopped", session.should_stop())


def stop(step_context: Any) -> None:
    """Ends the training."""
    step_context.request_stop()


@program
def order_of_hooks(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    log: list[str] = []
    hooks = [recorder(tf, log, name) for name in "ab"]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        session.run(count)
        session.run(step)
    record("two runs", list(log))
    for error in (
        ValueError("own"),
        tf.errors.OutOfRangeError(None, None, "over"),
        StopIteration(),
    ):
        log.clear()

        def run(error: Exception = error) -> None:
            with tf.Graph().as_default():
                _, own = counting(tf)
                with tf.train.MonitoredSession(hooks=[recorder(tf, log)]) as session:
                    session.run(own)
                    raise error

        record.error(f"{type(error).__name__} in the body", run)
        record(f"calls of {type(error).__name__}", list(log))


@program
def errors_of_hooks(tf: Any, record: Record) -> None:
    def raising(*_: Any) -> None:
        raise ValueError("of a hook")

    for method in ("begin", "after_create_session", "before_run", "after_run", "end"):
        log: list[str] = []

        def run(method: str = method, log: list[str] = log) -> None:
            with tf.Graph().as_default():
                _, count = counting(tf)
                hooks = [recorder(tf, log, "a "), recorder(tf, log, "b ", **{method: raising})]
                with tf.train.MonitoredSession(hooks=hooks) as session:
                    session.run(count)

        record.error(f"error in {method}", run)
        record(f"calls with {method}", log)


@program
def stops_of_hooks(tf: Any, record: Record) -> None:
    for method in ("before_run", "after_run"):
        with tf.Graph().as_default():
            _, count = counting(tf)
            hook = recorder(tf, [], **{method: lambda context, *_: context.request_stop()})
            with tf.train.MonitoredSession(hooks=[hook]) as session:
                runs = 0
                while not session.should_stop():
                    record(f"value of {method}", session.run(count))
                    runs += 1
                record(f"runs with {method}", runs)
                record.error(f"after {method}", lambda s=session, c=count: s.run(c))


@program
def what_hooks_add(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    a = tf.placeholder_with_default(1.0, [], name="a")
    b = tf.placeholder_with_default(2.0, [], name="b")
    seen: list[Any] = []
    arguments = tf.train.SessionRunArgs
    first = recorder(
        tf, [], before_run=lambda _: arguments({"x": a, "y": [b, step]}, {a: 5.0}),
        after_run=lambda context, values: seen.append(
            [values.results, context.original_args.fetches is count, context.stop_requested]
        ),
    )  # fmt: skip
    second = recorder(
        tf, [], before_run=lambda _: arguments(b),
        after_run=lambda _, values: seen.append(values.results),
    )  # fmt: skip
    with tf.train.MonitoredSession(hooks=[first, second]) as session:
        record("result", session.run(count, {b: 7.0}))
    record("seen", seen)
    clash = recorder(tf, [], before_run=lambda _: arguments(None, {a: 1.0}))
    with tf.Graph().as_default():
        a, _ = tf.placeholder_with_default(1.0, [], name="a"), counting(tf)
        with tf.train.MonitoredSession(hooks=[clash, clash]) as session:
            record.error("fed twice", lambda: session.run(a))
        with tf.Graph().as_default():
            a = tf.placeholder_with_default(1.0, [], name="a")
            with tf.train.MonitoredSession(hooks=[clash]) as session:
                record.error("of another graph", lambda: session.run(a))


@program
def options_of_hooks(tf: Any, record: Record) -> None:
    _, count = counting(tf)
    seen: list[Any] = []

    def with_options(**fields: Any) -> Any:
        options = tf.RunOptions(**fields)
        return recorder(
            tf, [], before_run=lambda _: tf.train.SessionRunArgs(None, options=options),
            after_run=lambda _, values: seen.append(
                [int(values.options.trace_level), int(values.options.timeout_in_ms),
                 values.options.output_partition_graphs]
            ),
        )  # fmt: skip

    hooks = [
        with_options(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=9000),
        with_options(timeout_in_ms=30000, output_partition_graphs=True),
    ]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        session.run(count)
    record("merged", seen)


@program
def recovery(tf: Any, record: Record) -> None:
    for kind in ("AbortedError", "UnavailableError", "InternalError"):
        errors = iter([getattr(tf.errors, kind)(None, None, "lost")])
        log: list[str] = []

        def lose(_: Any, errors: Any = errors) -> None:
            for error in errors:
                raise error

        def run(lose: Any = lose, log: list[str] = log, kind: str = kind) -> list[Any]:
            with tf.Graph().as_default():
                _, count = counting(tf)
                hook = recorder(tf, log, before_run=lose)
                with tf.train.MonitoredSession(hooks=[hook]) as session:
                    return [session.run(count), session.run(count)]

        with record.log(f"log of {kind}"):
            record.error(f"values after {kind}", run)
        record(f"calls of {kind}", log)


@program
def recovery_from_a_checkpoint(tf: Any, record: Record) -> None:
    _, count = counting(tf)
    log: list[str] = []
    errors = {5: tf.errors.AbortedError(None, None, "lost")}
    numbers = itertools.count()

    def lose(_: Any) -> None:
        if error := errors.pop(next(numbers), None):
            raise error

    hook = recorder(tf, log, before_run=lose)
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(record.folder), hooks=[hook], save_checkpoint_steps=3,
        save_summaries_steps=None, log_step_count_steps=None,
    ) as session:  # fmt: skip
        record("steps", [session.run(count) for _ in range(8)])
    record("calls", [call for call in log if "run" not in call])
    record.events("events", record.folder)


# -- hooks, one by one


def trained(tf: Any, hooks: Any, steps: int = 5, **settings: Any) -> list[int]:
    """The steps of a training that hooks end, at most so many."""
    _, count = counting(tf)
    values: list[int] = []
    with tf.train.MonitoredSession(hooks=hooks, **settings) as session:
        while not session.should_stop() and len(values) < steps:
            values.append(int(session.run(count)))
    return values


@program
def stop_at_step(tf: Any, record: Record) -> None:
    hook = tf.train.StopAtStepHook
    for key, settings in (("num", {"num_steps": 3}), ("last", {"last_step": 4})):
        with tf.Graph().as_default():
            record(key, trained(tf, [hook(**settings)], 9))
    record.error("neither", hook)
    record.error("both", lambda: hook(num_steps=1, last_step=1))
    with tf.Graph().as_default():
        record.error("no step", lambda: tf.train.MonitoredSession(hooks=[hook(last_step=1)]))


@program
def checkpoints_saved(tf: Any, record: Record) -> None:
    log: list[str] = []

    class Listener(tf.train.CheckpointSaverListener):  # type: ignore[misc, name-defined]
        """Notes what is called."""

        def begin(self) -> None:
            log.append("begin")

        def before_save(self, session: Any, global_step_value: Any) -> None:
            log.append(f"before {global_step_value}")

        def after_save(self, session: Any, global_step_value: Any) -> None:
            log.append(f"after {global_step_value}")

        def end(self, session: Any, global_step_value: Any) -> None:
            log.append(f"end {global_step_value}")

    tf.train.get_or_create_global_step()
    hook = tf.train.CheckpointSaverHook(
        str(record.folder), save_steps=2, scaffold=tf.train.Scaffold(), listeners=[Listener()]
    )
    with tf.Graph().as_default():
        scaffold = tf.train.Scaffold()
        hook = tf.train.CheckpointSaverHook(
            str(record.folder), save_steps=2, scaffold=scaffold, listeners=[Listener()]
        )
        creator = tf.train.ChiefSessionCreator(scaffold, checkpoint_dir=str(record.folder))
        with record.log("log"):
            record("steps", trained(tf, [hook], 5, session_creator=creator))
    record("listener", log)
    record("files", sorted(p.name for p in record.folder.iterdir() if "events" not in p.name))
    record.events("events", record.folder)
    new = tf.train.CheckpointSaverHook
    record.error("neither", lambda: new(str(record.folder)))
    record.error("both", lambda: new(str(record.folder), save_secs=1, save_steps=1))
    record.error(
        "two savers",
        lambda: new("x", save_steps=1, saver=tf.train.Saver, scaffold=tf.train.Scaffold()),
    )


@program
def summaries_saved(tf: Any, record: Record) -> None:
    step = tf.train.get_or_create_global_step()
    summary = tf.summary.scalar("twice", tf.cast(step, tf.float32) * 2)
    hook = tf.train.SummarySaverHook(
        save_steps=3, output_dir=str(record.folder), summary_op=summary
    )
    record("steps", trained(tf, [hook], 8))
    record.events("events", record.folder)
    new = tf.train.SummarySaverHook
    record.error("neither", lambda: new(save_steps=1))
    record.error(
        "both", lambda: new(save_steps=1, summary_op=summary, scaffold=tf.train.Scaffold())
    )
    record.error("no time", lambda: new(summary_op=summary))
    record.error("two times", lambda: new(summary_op=summary, save_steps=1, save_secs=1))


@program
def tensors_logged(tf: Any, record: Record) -> None:
    step = tf.train.get_or_create_global_step()
    value = tf.multiply(tf.cast(step, tf.float32), 0.5, name="half")
    hook = tf.train.LoggingTensorHook
    cases = {
        "names": hook(["half"], every_n_iter=2),
        "a dict": hook({"b": value, "a": "half:0"}, every_n_iter=3),
        "at the end": hook([value], at_end=True),
        "a formatter": hook({"h": value}, every_n_iter=2, formatter=lambda v: f"is {v['h']}"),
    }
    _, count = counting(tf)
    for key, own in cases.items():
        with record.log(key), tf.Session() as session:
            session.run(tf.global_variables_initializer())
            run_with_hook(tf, own, session, count, 5)
    record.error("neither", lambda: hook(["half"]))
    record.error("both", lambda: hook(["half"], every_n_iter=1, every_n_secs=1))
    record.error("zero", lambda: hook(["half"], every_n_iter=0))
    record.error("unknown", lambda: hook(["nothing"], every_n_iter=1).begin())
    tf.split([1, 2], 2, name="two")
    record.error("several outputs", lambda: hook(["two"], every_n_iter=1).begin())
    other = tf.Graph()
    with other.as_default():
        foreign = tf.constant(1)
    record.error("another graph", lambda: hook([foreign], every_n_iter=1).begin())


def run_with_hook(tf: Any, hook: Any, session: Any, fetches: Any, count: int) -> list[Any]:
    """What runs of a session give, with the calls of a hook around them, and its end."""
    hook.begin()
    hook.after_create_session(session, None)
    results = []
    for _ in range(count):
        context = tf.train.SessionRunContext(tf.train.SessionRunArgs(fetches), session)
        asked = hook.before_run(context)
        fetched = {"own": fetches, **({} if asked is None else {"asked": asked.fetches})}
        values = session.run(fetched, None if asked is None else asked.feed_dict)
        given = tf.train.SessionRunValues(values.get("asked"), None, None)
        hook.after_run(context, given)
        results.append(values["own"])
    hook.end(session)
    return results


@program
def steps_counted(tf: Any, record: Record) -> None:
    hook = tf.train.StepCounterHook(every_n_steps=2, output_dir=str(record.folder))
    with record.log("log"):
        record("steps", trained(tf, [hook], 7))
    # before the process ends: what the hook has written, or its writer holds back
    tf.summary.FileWriterCache.clear()
    record.events("events", record.folder)
    record.error("both", lambda: tf.train.StepCounterHook(every_n_secs=1))
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        with record.log("stands still"):
            own = tf.train.StepCounterHook(every_n_steps=100)
            with tf.train.MonitoredSession(hooks=[own]) as session:
                record("still", [session.run(step) for _ in range(4)])


@program
def numbers_that_are_none(tf: Any, record: Record) -> None:
    for stops in (True, False):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            loss = 1.0 / (2.0 - tf.cast(step, tf.float32)) * 0.0
            hook = tf.train.NanTensorHook(loss, fail_on_nan_loss=stops)
            with record.log(f"log {stops}"):
                record.error(f"fails {stops}", lambda h=hook: trained(tf, [h], 5))
    record("class", tf.train.NanLossDuringTrainingError().args)
    record("text", str(tf.train.NanLossDuringTrainingError()))


@program
def other_hooks(tf: Any, record: Record) -> None:
    step = tf.train.get_or_create_global_step()
    final = tf.train.FinalOpsHook({"last": step, "more": [step + 1]})
    fed = tf.placeholder_with_default(np.int64(0), [])
    with_feeds = tf.train.FinalOpsHook(step + fed, {fed: 100})
    record("before", final.final_ops_values)
    record("steps", trained(tf, [final, with_feeds], 3))
    record("final", [final.final_ops_values, with_feeds.final_ops_values])
    with tf.Graph().as_default():
        number = tf.placeholder(tf.int32, [])
        tf.train.get_or_create_global_step()
        numbers = iter(range(10, 20))
        hook = tf.train.FeedFnHook(lambda: {number: next(numbers)})
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            record("fed", [session.run(number) for _ in range(3)])
    with tf.Graph().as_default():
        with record.log("waiter"):
            record("waited", trained(tf, [tf.train.GlobalStepWaiterHook(0)], 2))


@program
def profiles(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    with tf.control_dependencies([count]):
        work = tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]), name="work")
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(record.folder), show_memory=True)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(6):
            session.run(work)
    tf.summary.FileWriterCache.clear()
    record("files", sorted(p.name for p in record.folder.iterdir() if "events" not in p.name))
    record.events("events", record.folder)
    record.error("both", lambda: tf.train.ProfilerHook(save_steps=1, save_secs=1))
    record.error("neither", tf.train.ProfilerHook)
    record("step", step.name)


# -- a whole training, supervisors, loops


@program
def training_sessions(tf: Any, record: Record) -> None:
    _, count = counting(tf)
    tf.summary.scalar("value", 2.5)
    tf.summary.histogram("many", tf.range(5))
    folder = str(record.folder)
    with record.log("log"), tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, save_checkpoint_steps=4, save_summaries_steps=3,
        log_step_count_steps=5, hooks=[tf.train.StopAtStepHook(last_step=10)],
    ) as session:  # fmt: skip
        while not session.should_stop():
            session.run(count)
    tf.summary.FileWriterCache.clear()
    record("files", sorted(p.name for p in record.folder.iterdir() if "events" not in p.name))
    record.events("events", record.folder)
    with tf.Graph().as_default():
        step, count = counting(tf)
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as session:
            record("goes on at", session.run(step))


@program
def training_sessions_of_workers(tf: Any, record: Record) -> None:
    _, count = counting(tf)
    record.error(
        "both times",
        lambda: tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(record.folder), save_checkpoint_steps=1, save_checkpoint_secs=1
        ),
    )
    with tf.train.MonitoredTrainingSession(
        chief_only_hooks=[tf.train.StopAtStepHook(last_step=2)]
    ) as session:
        values = []
        while not session.should_stop():
            values.append(session.run(count))
        record("values", values)
    record("files", names_in(record.folder))


@program
def supervisors(tf: Any, record: Record) -> None:
    step, count = counting(tf)
    tf.summary.scalar("value", tf.cast(step, tf.float32))
    supervisor = tf.train.Supervisor(
        logdir=str(record.folder), save_summaries_secs=0, save_model_secs=0, summary_op=None
    )
    record("paths", [Path(supervisor.save_path).name, supervisor.is_chief])
    record("tensors", [supervisor.global_step.name, supervisor.init_op.name])
    with supervisor.managed_session() as session:
        record("steps", [session.run(count) for _ in range(3)])
        record("stop", supervisor.should_stop())
        supervisor.summary_computed(session, session.run(tf.get_collection("summaries")[0]))
        supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
        supervisor.request_stop()
        record("stops", supervisor.should_stop())
    record.events("events", record.folder)
    names = (p.name for p in record.folder.iterdir() if "events" not in p.name)
    record("files", sorted(names))


@program
def supervisors_refuse(tf: Any, record: Record) -> None:
    counting(tf)
    supervisor = tf.train.Supervisor(logdir="", is_chief=True, summary_op=None)
    record.error("no logdir", lambda: supervisor.summary_computed(None, b""))
    with supervisor.managed_session() as session:
        record("runs", session.run(supervisor.global_step))
        calls: list[int] = []

        def call() -> None:
            calls.append(1)
            supervisor.request_stop()

        thread = supervisor.loop(0.01, call)
        thread.join(5)
        record("looped", calls)
    new = tf.train.Supervisor
    record.error("a worker without devices", lambda: new(logdir="x", is_chief=False))
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        counting(tf)
        worker = new(logdir=str(record.folder), is_chief=False, summary_op=None)
    record.error("a worker's summary", lambda: worker.summary_computed(None, b""))
    record.error("a worker's services", lambda: worker.start_standard_services(None))

    def failing() -> None:
        with tf.Graph().as_default():
            counting(tf)
            with tf.train.Supervisor(logdir="", summary_op=None).managed_session():
                raise ValueError("in the body")

    record.error("error in the body", failing)


@program
def train_loops(tf: Any, record: Record) -> None:
    _, count = counting(tf)
    values: list[Any] = []
    supervisor = tf.train.Supervisor(logdir="", summary_op=None)

    def train_step(session: Any, number: int, word: str = "") -> None:
        values.append([int(session.run(count)), number, word])
        if len(values) == 3:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train_step, args=(7,), kwargs={"word": "w"})
    record("values", values)


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
    """Records the values of a summary, which one run gives."""
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
    """What a session of its own gives."""
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


if __name__ == "__main__":
    sys.exit(main(PROGRAMS, EXPLAINED, __file__, __doc__))
