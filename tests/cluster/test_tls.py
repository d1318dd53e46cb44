"""Certificates that are not those of the cluster: neither side goes on."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.cluster.access import access_of_environment
from gpugraph.cluster.calls.answers import message_of
from gpugraph.cluster.transport import Peer

from .local_cluster import over_grpc

grpc = pytest.importorskip("grpc", reason="the extra `cluster` is not installed")
pytest.importorskip("google.protobuf", reason="the extra `cluster` is not installed")
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")

WAIT_S = 1.5


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def new_authority(folder: Path) -> Path:
    """Return a folder with the certificate of an authority."""
    folder.mkdir()
    new = ("req", "-newkey", "rsa:2048", "-nodes", "-x509", "-days", "2", "-subj", "/CN=ca")
    openssl(folder, *new, "-keyout", "ca.key", "-out", "ca.pem")
    return folder


def new_member(
    authority: Path, folder: Path, days: str = "2", name: str = "localhost", ca: Path | None = None
) -> Path:
    """Create a folder as GPUGRAPH_CLUSTER_TLS names it.

    The authority signs its certificate for the given number of days. ca: another authority, which
    the member trusts.
    """
    folder.mkdir()
    new = ("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}")
    openssl(folder, *new, "-keyout", "key.pem", "-out", "request")
    (folder / "names").write_text(f"subjectAltName=DNS:{name}\n")
    signer = ("-CA", str(authority / "ca.pem"), "-CAkey", str(authority / "ca.key"))
    signed = (*signer, "-CAcreateserial", "-extfile", "names", "-out", "cert.pem")
    openssl(folder, "x509", "-req", "-days", days, "-in", "request", *signed)
    shutil.copy((ca or authority) / "ca.pem", folder / "ca.pem")
    return folder


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("certificates")
    ours, theirs = new_authority(root / "ours"), new_authority(root / "theirs")
    return {
        "right": new_member(ours, root / "right"),
        "expired": new_member(ours, root / "expired", days="-1"),
        "of another name": new_member(ours, root / "name", name="elsewhere"),
        "of another authority": new_member(theirs, root / "authority", ca=ours),
        "that believes another": new_member(ours, root / "believes", ca=theirs),
        "of another cluster": new_member(theirs, root / "cluster"),
    }


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("GPUGRAPH_CLUSTER_WAIT", str(WAIT_S))
    yield monkeypatch


def started(setting: pytest.MonkeyPatch, folder: Path) -> Any:
    setting.setenv("GPUGRAPH_CLUSTER_TLS", str(folder))
    return tf.train.Server.create_local_server()


SERVERS = ("expired", "of another name", "of another authority", "that believes another",
           "of another cluster")  # fmt: skip
CLIENTS = ("expired", "of another authority", "that believes another", "of another cluster")


def check(setting: pytest.MonkeyPatch, server: Any, client: Path, is_believed: bool) -> None:
    with tf.Graph().as_default(), over_grpc(server) as target:
        x = tf.constant(1)
        setting.setenv("GPUGRAPH_CLUSTER_TLS", str(client))
        if is_believed:
            assert tf.Session(target).run(x) == 1
        else:
            with pytest.raises(tf.errors.UnavailableError, match=target.removeprefix("grpc://")):
                tf.Session(target).run(x)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_with_a_certificate(
    quick: pytest.MonkeyPatch, members: dict[str, Path], kind: str
) -> None:
    server = started(quick, members["right"])
    check(quick, server, members[kind], is_believed=False)
    check(quick, server, members["right"], is_believed=True)
    server.stop()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_with_a_certificate(
    quick: pytest.MonkeyPatch, members: dict[str, Path], kind: str
) -> None:
    server = started(quick, members[kind])
    check(quick, server, members["right"], is_believed=False)
    server.stop()


@pytest.mark.parametrize("shows", ["no certificate", "plain text", "a key in plain text"])
def test_a_client_without_a_certificate(
    quick: pytest.MonkeyPatch, members: dict[str, Path], shows: str
) -> None:
    quick.setenv("GPUGRAPH_CLUSTER_KEY", "a key of the cluster")
    server = started(quick, members["right"])
    with over_grpc(server) as target:
        address = target.removeprefix("grpc://")
        if shows == "no certificate":
            credentials = grpc.ssl_channel_credentials((members["right"] / "ca.pem").read_bytes())
            with grpc.secure_channel(address, credentials) as channel:
                call = channel.unary_unary("/gpugraph.cluster.Cluster/GetStatus")
                with pytest.raises(grpc.RpcError) as info:
                    call(b"", timeout=WAIT_S * 4)
            assert info.value.code() is grpc.StatusCode.UNAVAILABLE
        else:
            quick.delenv("GPUGRAPH_CLUSTER_TLS")
            if shows == "plain text":
                quick.delenv("GPUGRAPH_CLUSTER_KEY")
            peer = Peer(address, access_of_environment())
            with pytest.raises(tf.errors.UnavailableError):
                peer.call("GetStatus", message_of("Nothing"), wait_s=WAIT_S)
            peer.close()
    quick.setenv("GPUGRAPH_CLUSTER_KEY", "a key of the cluster")
    check(quick, server, members["right"], is_believed=True)
    server.stop()


def test_a_certificate_without_the_key(quick: pytest.MonkeyPatch, members: dict[str, Path]) -> None:
    """A cluster with both a certificate and a key requires both."""
    quick.setenv("GPUGRAPH_CLUSTER_KEY", "a key of the cluster")
    server = started(quick, members["right"])
    with tf.Graph().as_default(), over_grpc(server) as target:
        for key in ("another key of 16 bytes", ""):
            quick.setenv("GPUGRAPH_CLUSTER_KEY", key)
            with pytest.raises(tf.errors.UnauthenticatedError, match="The caller's key"):
                tf.Session(target).run(tf.constant(1))
    server.stop()
