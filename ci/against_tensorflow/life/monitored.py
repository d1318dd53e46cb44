"""Programs of monitored sessions and their hooks."""

from __future__ import annotations

import itertools
from typing import Any

from recorded_programs import Programs, Record, adding_to, counting, recorder

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


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
    """End the training."""
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
