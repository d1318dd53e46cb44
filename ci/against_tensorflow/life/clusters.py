"""Programs of clusters: servers, sessions on them, graphs over several tasks, training."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from recorded_programs import Programs, Record, adding_to, in_thread

PROGRAMS: Programs = {}
program = adding_to(PROGRAMS)

PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
_servers: list[Any] = []  # of all programs: TensorFlow's can't be stopped


def targets(tf: Any) -> list[str]:
    """Return the targets of two workers and a parameter server, whose variables are cleared."""
    if not _servers:
        listeners = [socket.socket() for _ in range(3)]
        for listener in listeners:
            listener.bind(("localhost", 0))
        addresses = [f"localhost:{listener.getsockname()[1]}" for listener in listeners]
        for listener in listeners:
            listener.close()
        cluster = {"worker": addresses[:2], "ps": addresses[2:]}
        tasks = [("worker", 0), ("worker", 1), ("ps", 0)]
        _servers.extend(tf.train.Server(cluster, job, task) for job, task in tasks)
        for server in _servers:  # connects all, which is no program's affair
            with tf.Graph().as_default():
                values = []
                for task in (PS, FIRST, SECOND):
                    with tf.device(task):
                        values = [tf.add_n([tf.constant(1.0), *values])]
                with tf.Session(server.target) as session:
                    session.run(values)
    tf.Session.reset(_servers[0].target)
    return [server.target for server in _servers]


def names(devices: Any) -> list[str]:
    """Return the names of CPUs."""
    return sorted(device.name for device in devices if device.device_type == "CPU")


# -- specs and servers


@program
def specs(tf: Any, record: Record) -> None:
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": {1: "c:3"}})
    record("dict", spec.as_dict())
    record("jobs", sorted(spec.jobs))
    record("tasks", [spec.job_tasks("worker"), spec.task_indices("worker"), spec.num_tasks("ps")])
    record("text", str(spec))
    record("equal", [spec == tf.train.ClusterSpec(spec), bool(tf.train.ClusterSpec({}))])
    record("of a message", tf.train.ClusterSpec(spec.as_cluster_def()) == spec)
    record("message", str(spec.as_cluster_def()))


@program
def misfits_of_specs(tf: Any, record: Record) -> None:
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": {1: "c:3"}})
    record.error("number", lambda: tf.train.ClusterSpec(3))
    record.error("tasks", lambda: tf.train.ClusterSpec({"a": 3}))
    record.error("address", lambda: tf.train.ClusterSpec({"a": [3]}))
    record.error("index", lambda: tf.train.ClusterSpec({"a": {"x": "b"}}))
    record.error("no job", lambda: spec.num_tasks("x"))
    record.error("no task", lambda: spec.task_address("worker", 0))


@program
def misfits_of_servers(tf: Any, record: Record) -> None:
    server = tf.train.Server
    record.error("two jobs", lambda: server({"a": ["localhost:0"], "b": ["localhost:0"]}))
    record.error("two tasks", lambda: server({"a": ["localhost:0", "localhost:1"]}))
    record.error("no job", lambda: server({"a": ["localhost:0"]}, "b"))
    record.error("no job of that name", lambda: server({"a": ["localhost:0"]}, "b", 0))
    record.error("no task", lambda: server({"a": ["localhost:0"]}, "a", 4))
    record.error("number", lambda: server(5))


@program
def a_local_server(tf: Any, record: Record) -> None:
    server = tf.train.Server.create_local_server()
    record("target", server.target.startswith("grpc://localhost:"))
    record("job", [server.server_def.job_name, server.server_def.protocol])
    with tf.Session(server.target) as session:
        record("devices", names(session.list_devices()))
        record("run", session.run(tf.constant(1.0) + 2))


# -- sessions


@program
def values(tf: Any, record: Record) -> None:
    x = tf.placeholder(tf.float32)
    with tf.Session(targets(tf)[0]) as session:
        record("numbers", session.run([x * 2, x], {x: [1.0, 2.0]}))
        record("texts", session.run([tf.constant("a"), tf.constant(["b", "c"])]))
        record("nothing", session.run(tf.no_op()))
        record("empty", session.run(tf.zeros([0, 3])).shape)
        record("dict", session.run({"a": tf.constant(1), "b": [tf.constant(True)]}))


@program
def variables_outlive_sessions(tf: Any, record: Record) -> None:
    one, other, _ = targets(tf)
    with tf.device(PS):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
    with tf.Session(one) as session:
        record("reports", session.run(tf.report_uninitialized_variables()))
        session.run(v.initializer)
        session.run(tf.assign_add(v, [1.0, 1.0]))
    with tf.Session(other) as session:
        record("reports after", session.run(tf.report_uninitialized_variables()))
        record("value", session.run(v))
    tf.Session.reset(one)
    with tf.Session(one) as session:
        record.error("after reset", lambda: session.run(v))


@program
def containers(tf: Any, record: Record) -> None:
    target = targets(tf)[0]
    with tf.container("mine"):
        v = tf.get_variable("v", initializer=1.0)
    w = tf.get_variable("w", initializer=2.0)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
    tf.Session.reset(target, ["mine"])
    with tf.Session(target) as session:
        record.error("cleared", lambda: session.run(v))
        record("kept", session.run(w))


@program
def isolated_sessions(tf: Any, record: Record) -> None:
    target = targets(tf)[0]
    v = tf.get_variable("v", initializer=1.0)
    config = tf.ConfigProto(isolate_session_state=True)
    with tf.Session(target, config=config) as one, tf.Session(target) as other:
        one.run(v.initializer)
        record.error("of the other", lambda: other.run(v))
        one.run(tf.assign_add(v, 1.0))
        other.run(v.initializer)
        record("values", [one.run(v), other.run(v)])


@program
def devices_and_filters(tf: Any, record: Record) -> None:
    one, other, _ = targets(tf)
    with tf.Session(one) as session:
        record("all", names(session.list_devices()))
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:1"])
    with tf.Session(other, config=config) as session:
        record("filtered", names(session.list_devices()))
        with tf.device(FIRST):
            x = tf.constant(1.0)
        record.error("left out", lambda: session.run(x))


@program
def a_graph_that_grows(tf: Any, record: Record) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.Session(targets(tf)[0]) as session:
        record("first", session.run(x + 1, {x: 1.0}))
        y = tf.cond(x > 0, lambda: x * 3, lambda: -x)
        record("cond", [session.run(y, {x: 2.0}), session.run(y, {x: -2.0})])
        z = tf.while_loop(lambda v: v < 10, lambda v: v + y, [x])
        record("loop", session.run(z, {x: 2.0}))


@program
def errors_of_runs(tf: Any, record: Record) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.check_numerics(x, "bad", name="y")
    v = tf.get_variable("v", [2])
    with tf.Session(targets(tf)[0]) as session:
        record.error("numerics", lambda: session.run(y, {x: float("nan")}))
        record.error("shapes", lambda: session.run(tf.matmul(x, x), {x: [[1.0, 2.0]]}))
        record.error("uninitialized", lambda: session.run(v))
        record.error("type", lambda: session.run(y, {x: "text"}))
        record("goes on", session.run(y, {x: 1.0}))
    record.error("closed", lambda: session.run(y, {x: 1.0}))
    with tf.Session(targets(tf)[0]) as session:
        record.error("not fed", lambda: session.run(y))


@program
def a_device_that_is_not_there(tf: Any, record: Record) -> None:
    with tf.device("/job:nosuch/task:0"):
        x = tf.constant(1.0) + 1.0
    with tf.Session(targets(tf)[0]) as session:
        try:
            session.run(x)
        except tf.errors.InvalidArgumentError as error:
            record("names", ["/job:nosuch/task:0" in error.message, PS[:7] in error.message])


@program
def no_factory(tf: Any, record: Record) -> None:
    record.error("scheme", lambda: tf.Session("nonsense://x").run(tf.constant(1)))


@program
def time_limits(tf: Any, record: Record) -> None:
    with tf.device(PS):
        queue = tf.FIFOQueue(3, tf.int32, shared_name="limits")
    taken = queue.dequeue()
    options = tf.RunOptions(timeout_in_ms=300)
    with tf.Session(targets(tf)[0]) as session:
        try:
            session.run(taken, options=options)
        except tf.errors.DeadlineExceededError as error:
            record("error", type(error).__name__)
    with tf.Session(targets(tf)[1]) as session:
        session.run(queue.enqueue(5))
        record("value", session.run(taken))


@program
def random_numbers_of_sessions(tf: Any, record: Record) -> None:
    x = tf.random_uniform([2], seed=3)
    draws = []
    for _ in range(2):
        with tf.Session(targets(tf)[0]) as session:
            draws.append([session.run(x) for _ in range(2)])
    record("draws", draws)


# -- graphs over several tasks


@program
def there_and_back(tf: Any, record: Record) -> None:
    x = y = tf.placeholder(tf.float32, [])
    for task in (FIRST, SECOND, PS) * 3:
        with tf.device(task):
            y = y * 2 + 1
    for number, target in enumerate(targets(tf)):
        with tf.Session(target) as session:
            record(f"by task {number}", session.run([y, x], {x: 1.0}))


@program
def writes_and_reads(tf: Any, record: Record) -> None:
    with tf.device(PS):
        v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    with tf.device(SECOND):
        before = v.read_value()
        with tf.control_dependencies([before]):
            three = tf.identity([3.0, 3.0])
    write = v.assign_add(three)
    with tf.control_dependencies([write]):
        after = v.read_value()
        with tf.device(SECOND):
            far = after * 2.0
    with tf.Session(targets(tf)[0]) as session:
        session.run(v.initializer)
        record("values", session.run([before, after, far]))
        record("variable", session.run(v))


@program
def branches(tf: Any, record: Record) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device(PS):
        v = tf.get_variable("v", initializer=2.0)
        far = v * x
    with tf.device(SECOND):
        y = tf.cond(far > 3, lambda: far * 10, lambda: far - 1)
    with tf.device(PS):
        z = y + 1
    with tf.Session(targets(tf)[0]) as session:
        session.run(v.initializer)
        record("taken", session.run([y, z], {x: 2.0}))
        record("not taken", session.run([y, z], {x: 1.0}))


@program
def loops(tf: Any, record: Record) -> None:
    x = tf.placeholder(tf.float32, [])
    with tf.device(SECOND):
        z = tf.while_loop(lambda n, s: n < 5, lambda n, s: (n + 1, s * 2), (0, x))[1]
        (grad,) = tf.gradients(z, x)
    with tf.device(PS):
        total = z + grad
    with tf.Session(targets(tf)[0]) as session:
        record("values", session.run([z, grad, total], {x: 3.0}))


@program
def an_error_ends_the_step(tf: Any, record: Record) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device(PS):
        v = tf.get_variable("v", initializer=1.0)
    with tf.device(SECOND):
        bad = tf.check_numerics(x, "bad", name="bad")
    with tf.device(PS):
        write = tf.assign(v, bad)
    with tf.Session(targets(tf)[0]) as session:
        session.run(v.initializer)
        record.error("error", lambda: session.run(write, {x: float("nan")}))
        record("variable", session.run(v))
        record("goes on", session.run(write, {x: 2.0}))


@program
def what_is_fed(tf: Any, record: Record) -> None:
    with tf.device(PS):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        c = tf.constant([7.0, 8.0])
    with tf.device(SECOND):
        y = c + v
        z = y * 2
    with tf.Session(targets(tf)[0]) as session:
        session.run(v.initializer)
        record("computed", session.run([y, z]))
        record("between", session.run(z, {y: [1.0, 1.0]}))
        record("constant", session.run(z, {c: [0.0, 0.0]}))


# -- shared queues and training


@program
def shared_queues(tf: Any, record: Record) -> None:
    one, other, _ = targets(tf)
    with tf.device(PS):
        queue = tf.FIFOQueue(2, tf.int32, shapes=[[]], shared_name="queue")
    x = tf.placeholder(tf.int32, [])
    put, taken = queue.enqueue(x), queue.dequeue()
    with tf.Session(one) as first, tf.Session(other) as second:
        thread = in_thread(record, "waited", lambda: second.run(taken))
        first.run(put, {x: 21})
        thread.join()
        first.run(put, {x: 1})
        record("size", second.run(queue.size()))
        second.run(queue.close())
        record.error("closed", lambda: first.run(put, {x: 2}))
        record("rest", first.run(taken))
        record.error("empty", lambda: first.run(taken))


@program
def closed_while_it_runs(tf: Any, record: Record) -> None:
    one, other, _ = targets(tf)
    for name, target in (("here", one), ("there", other)):
        with tf.Graph().as_default(), tf.device(FIRST):
            taken = tf.FIFOQueue(2, tf.int32, shapes=[[]], shared_name="empty").dequeue()
            session = tf.Session(target)
            thread = in_thread(record, name, lambda run=session.run, taken=taken: run(taken))
            session.close()
            thread.join()


def _regression(tf: Any, optimizer: Any) -> tuple[Any, ...]:
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None])
    w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.squeeze(tf.matmul(x, w) + b, 1) - y))
    step = tf.train.get_or_create_global_step()
    return x, y, loss, optimizer.minimize(loss, global_step=step), step


def _batches(count: int = 10) -> list[tuple[Any, Any]]:
    draw = np.random.RandomState(0)
    inputs = [draw.standard_normal((8, 3)).astype(np.float32) for _ in range(count)]
    return [(x, x @ np.array([1, 2, 3], np.float32) + 1) for x in inputs]


def _training(optimizer_of: Callable[[Any], Any]) -> Callable[[Any, Record], None]:
    def run(tf: Any, record: Record) -> None:
        setter = tf.train.replica_device_setter(1, worker_device=SECOND)
        with tf.device(setter):
            x, y, loss, train, step = _regression(tf, optimizer_of(tf))
        record("devices", [variable.device for variable in tf.global_variables()])
        with tf.Session(targets(tf)[1]) as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train], {x: a, y: b})[0] for a, b in _batches()]
            record("losses", [float(value) for value in losses])
            record("step", session.run(step))

    return run


PROGRAMS["gradient_descent"] = _training(lambda tf: tf.train.GradientDescentOptimizer(0.1))
PROGRAMS["momentum"] = _training(lambda tf: tf.train.MomentumOptimizer(0.05, 0.9))
PROGRAMS["adam"] = _training(lambda tf: tf.train.AdamOptimizer(0.1))


@program
def monitored_chief_and_worker(tf: Any, record: Record) -> None:
    one, other, _ = targets(tf)

    def work(target: str, task: int, steps: int) -> None:
        setter = tf.train.replica_device_setter(1, worker_device=f"/job:worker/task:{task}")
        with tf.Graph().as_default(), tf.device(setter):
            x, y, _, train, _ = _regression(tf, tf.train.GradientDescentOptimizer(0.05))
            with tf.train.MonitoredTrainingSession(
                target, is_chief=task == 0, max_wait_secs=60
            ) as session:
                for a, b in _batches(steps):
                    session.run(train, {x: a, y: b})

    threads = [
        threading.Thread(target=work, args=(target, task, 5 + task))
        for task, target in enumerate((one, other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with tf.device(PS):
        step = tf.train.get_or_create_global_step()
    with tf.Session(one) as session:
        record("steps", session.run(step))


@program
def synchronous_replicas(tf: Any, record: Record) -> None:
    one, other, _ = targets(tf)
    losses: dict[int, list[float]] = {0: [], 1: []}
    together = threading.Barrier(2)

    def work(target: str, task: int) -> None:
        setter = tf.train.replica_device_setter(1, worker_device=f"/job:worker/task:{task}")
        with tf.Graph().as_default(), tf.device(setter):
            optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.05), 2)
            x, y, loss, train, _ = _regression(tf, optimizer)
            hook = optimizer.make_session_run_hook(task == 0, num_tokens=0)
            with tf.train.MonitoredTrainingSession(
                target,
                is_chief=task == 0,
                hooks=[hook],
                stop_grace_period_secs=1,  # TensorFlow's runner waits for gradients meanwhile
                max_wait_secs=60,
            ) as session:
                for a, b in _batches(6):
                    half = slice(task * 4, task * 4 + 4)
                    together.wait()
                    value = session.run([loss, train], {x: a[half], y: b[half]})[0]
                    losses[task].append(float(value))
                together.wait()

    threads = [
        threading.Thread(target=work, args=(target, task))
        for task, target in enumerate((one, other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record("losses", losses)
