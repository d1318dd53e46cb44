"""Programs of hooks, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, counting

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


# -- hooks, one by one


def trained(tf: Any, hooks: Any, steps: int = 5, **settings: Any) -> list[int]:
    """Return the steps of a training that hooks end, at most `steps`."""
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
        """Records its calls."""

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
    """Return the results of a session's runs, with the calls of a hook around them, and its end."""
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
    # before the process ends: events that the hook has written, or that its writer holds back
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
