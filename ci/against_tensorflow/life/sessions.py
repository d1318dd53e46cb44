"""Programs of session managers, scaffolds, creators, supervisors and whole trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recorded_programs import Programs, Record, adding_to, counting

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)


def names_in(folder: Path) -> list[str]:
    """Return the files of a folder, without the part that a host and a time make."""
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
