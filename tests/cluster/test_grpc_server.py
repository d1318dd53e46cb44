"""Servers: their task, their address, their callers, and how they end."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gpugraph as tf

from .local_cluster import free_ports, local_cluster, over_grpc

pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

KEY = "0123456789abcdef0123"


def test_a_local_server() -> None:
    server = tf.train.Server.create_local_server()
    assert server.target.startswith("grpc://localhost:")
    assert server.server_def.job_name == "local"
    assert server.server_def.protocol == "grpc"
    with tf.Session(server.target, graph=tf.Graph()) as session:
        assert session.graph.version == 0
        names = [device.name for device in session.list_devices()]
    assert names == ["/job:local/replica:0/task:0/device:CPU:0"]
    server.stop()


def test_a_server_of_a_message() -> None:
    server_def = tf.train.ServerDef(job_name="w", task_index=1)
    job = server_def.cluster.job.add(name="w")
    job.tasks[1] = "localhost:0"
    server_def.default_session_config.device_count["CPU"] = 2
    server = tf.train.Server(server_def)
    with tf.Session(server.target, graph=tf.Graph()) as session:
        names = [device.name for device in session.list_devices()]
    assert names == [f"/job:w/replica:0/task:1/device:CPU:{index}" for index in (0, 1)]
    server.stop()


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ((5,), TypeError, "Could not convert `server_or_cluster_def`"),
        (({"a": 3},), TypeError, "The tasks for job 'a'"),
        (({"a": ["localhost:0"], "b": ["localhost:0"]},), ValueError, "explicit `job_name`"),
        (({"a": ["localhost:0", "localhost:0"]},), ValueError, "explicit `task_index`"),
        (({"a": ["localhost:0"]}, "b"), ValueError, "No such job in cluster: 'b'"),
        (({"a": ["localhost:0"]}, "b", 0), tf.errors.InternalError, 'Job "b" was not defined'),
        (({"a": ["localhost:0"]}, "a", 4), tf.errors.InternalError, "Task 4 was not defined"),
        (({"a": ["localhost"]},), tf.errors.InvalidArgumentError, 'parse "localhost"'),
        (({"a": ["localhost:99999"]},), tf.errors.InvalidArgumentError, "at most 65535"),
        (({"a": ["localhost:0"]}, "a", 0, "mpi"), tf.errors.InvalidArgumentError, "'mpi'"),
    ],
)
def test_what_is_no_server(given: tuple[object, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        tf.train.Server(*given)


def test_an_address_that_is_taken() -> None:
    server = tf.train.Server.create_local_server()
    with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
        tf.train.Server({"a": [server.target.removeprefix("grpc://")]})
    server.stop()


def test_it_answers_once_it_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_WAIT", "0.2")
    server = tf.train.Server.create_local_server(start=False)
    with tf.Graph().as_default():
        x = tf.constant(3)
        with pytest.raises(tf.errors.UnavailableError, match=r"server at localhost:\d+"):
            tf.Session(server.target).run(x)
        server.start()
        server.start()
        assert tf.Session(server.target).run(x) == 3
    server.stop()
    with pytest.raises(tf.errors.AbortedError, match="has been stopped"):
        server.start()


def test_join_ends_with_the_server() -> None:
    server = tf.train.Server.create_local_server()
    waiting = threading.Thread(target=server.join, daemon=True)
    waiting.start()
    server.stop()
    waiting.join(10)
    assert not waiting.is_alive()


def test_others_may_call_only_with_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tf.errors.FailedPreconditionError, match="GPUGRAPH_CLUSTER_KEY"):
        tf.train.Server({"a": ["0.0.0.0:0"]})
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", "short")
    with pytest.raises(tf.errors.InvalidArgumentError, match="5 bytes"):
        tf.train.Server({"a": ["0.0.0.0:0"]})
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", KEY)
    server = tf.train.Server({"a": ["0.0.0.0:0"]})
    server.stop()


def test_a_wrong_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", f"@{file}")
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), over_grpc(server) as target:
        x = tf.constant(1)
        assert tf.Session(target).run(x) == 1
        for key in ("another key of 16 bytes", ""):
            monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", key)
            with pytest.raises(tf.errors.UnauthenticatedError, match="The caller's key"):
                tf.Session(target).run(x)
        monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", KEY)
        assert tf.Session(target).run(x) == 1
    server.stop()


def test_a_key_where_the_server_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), over_grpc(server) as target:
        x = tf.constant(1)
        monkeypatch.setenv("GPUGRAPH_CLUSTER_KEY", KEY)
        with pytest.raises(tf.errors.UnauthenticatedError, match="The caller's key is not that"):
            tf.Session(target).run(x)
        monkeypatch.delenv("GPUGRAPH_CLUSTER_KEY")
        assert tf.Session(target).run(x) == 1
    server.stop()


def test_clusters_that_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_WAIT", "5")
    ports = free_ports(2)
    other = tf.train.Server({"b": [f"localhost:{ports[1]}"]})
    server = tf.train.Server({"a": [f"localhost:{port}" for port in ports]}, "a", 0)
    with tf.Graph().as_default(), pytest.raises(tf.errors.UnavailableError, match="is /job:b/"):
        tf.Session(server.target).run(tf.constant(1))
    server.stop()
    other.stop()


def test_a_worker_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_WAIT", "0.3")
    ports = free_ports(2)
    server = tf.train.Server({"a": [f"localhost:{port}" for port in ports]}, "a", 0)
    with tf.Graph().as_default():
        x = tf.constant(1)
        with pytest.raises(tf.errors.UnavailableError, match=f"localhost:{ports[1]}"):
            tf.Session(server.target).run(x)
        config = tf.ConfigProto(device_filters=["/job:a/task:0"])
        assert tf.Session(server.target, config=config).run(x) == 1
    server.stop()


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_port_that_another_has_at_one_address_of_the_name(address: str) -> None:
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, 0), family=family)
    except OSError:
        pytest.skip(f"nobody can listen at {address} here")
    with listener:
        port = listener.getsockname()[1]
        with pytest.raises(tf.errors.UnknownError, match=f"another listener has .*:{port}"):
            tf.train.Server({"a": [f"localhost:{port}"]})


def test_servers_keep_no_process_alive() -> None:
    code = "import gpugraph as tf; tf.train.Server.create_local_server(); print('over')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("over\n", 0), done.stderr


def test_grpc_is_imported_with_the_first_server() -> None:
    code = (
        "import sys, gpugraph as tf; tf.train.ClusterSpec({'a': ['b:1']})\n"
        "print('grpc' in sys.modules)\n"
        "sys.modules['grpc'] = None\n"
        "try: tf.train.Server.create_local_server()\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    first, second = done.stdout.splitlines()
    assert first == "False"
    assert "pip install 'gpugraph[cluster]'" in second


def test_two_clusters_in_one_process() -> None:
    with local_cluster(a=1) as one, local_cluster(a=1) as other, tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0)
        with tf.Session(one["a", 0].target) as session:
            session.run(v.initializer)
        with tf.Session(other["a", 0].target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
                session.run(v)


def certificates(folder: Path) -> None:
    """An authority's certificate, and one for localhost that it has signed."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(*new, "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "request")
    (folder / "names").write_text("subjectAltName=DNS:localhost\n")
    signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names")
    openssl("x509", "-req", "-days", "2", "-in", "request", *signer, "-out", "cert.pem")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_WAIT", "2")
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
        certificates(folder)
    monkeypatch.setenv("GPUGRAPH_CLUSTER_TLS", str(ours))
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), over_grpc(server) as target:
        x = tf.constant(1)
        assert tf.Session(target).run(x) == 1
        monkeypatch.setenv("GPUGRAPH_CLUSTER_TLS", str(theirs))
        with pytest.raises(tf.errors.UnavailableError):
            tf.Session(target).run(x)
        monkeypatch.delenv("GPUGRAPH_CLUSTER_TLS")
        with pytest.raises(tf.errors.UnavailableError):
            tf.Session(target).run(x)
    server.stop()
    monkeypatch.setenv("GPUGRAPH_CLUSTER_TLS", str(tmp_path))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ca\.pem, cert\.pem, key\.pem"):
        tf.train.Server.create_local_server()
