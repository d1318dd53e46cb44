"""Folders that are used, refused and made; the possible attacks by another user."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpugraph.devices.codegen import trusted_folders
from gpugraph.devices.codegen.object_cache import ObjectCache, key_of
from gpugraph.devices.codegen.trusted_folders import open_folder, read_file, write_file

KEY = key_of("one")


@pytest.fixture
def no_mask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(path: Path, end: Path) -> list[str]:
    """Return the modes of a folder and of those above it, below `end`."""
    return [
        f"{part.stat().st_mode & 0o7777:o}" for part in (path, *path.parents) if end in part.parents
    ]


@pytest.mark.parametrize("mask", [0, 0o077, 0o777])
def test_folders_are_made_for_this_user_alone(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with open_folder(tmp_path / "a" / "b" / "c") as folder:
            write_file(folder, "file", b"content")
    finally:
        os.umask(before)
    assert modes(tmp_path / "a" / "b" / "c", tmp_path) == ["700"] * 3
    assert (tmp_path / "a" / "b" / "c" / "file").stat().st_mode & 0o777 == 0o600


def test_a_folder_above_that_others_may_write_is_refused(tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "folder").mkdir(mode=0o700, parents=True)
    for mode, is_safe in ((0o755, True), (0o775, False), (0o757, False), (0o1777, True)):
        above.chmod(mode)
        if is_safe:
            with open_folder(above / "folder"):
                continue
        with pytest.raises(
            PermissionError, match=rf"above can be written by others \(mode {mode:o}"
        ):
            with open_folder(above / "folder"):
                pass


def test_the_folder_itself_is_no_sticky_one(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(PermissionError, match="can be written by others"), open_folder(tmp_path):
        pass


def test_a_link_counts_as_what_it_leads_to(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (tmp_path / "link").symlink_to(open_to_all)
    with pytest.raises(PermissionError, match="open can be written by others"):
        with open_folder(tmp_path / "link" / "folder"):
            pass
    open_to_all.chmod(0o700)
    with open_folder(tmp_path / "link" / "folder") as folder:
        write_file(folder, "file", b"content")
    assert (open_to_all / "folder" / "file").read_bytes() == b"content"


def test_what_was_opened_stays_when_the_path_changes(tmp_path: Path) -> None:
    with open_folder(tmp_path / "folder") as folder:
        write_file(folder, "file", b"content")
        (tmp_path / "folder").rename(tmp_path / "away")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "file").write_bytes(b"of another")
        assert read_file(folder, "file", 100) == b"content"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with open_folder(tmp_path / "folder") as folder, pytest.raises(KeyboardInterrupt):
        write_file(folder, "file", b"content")
    assert list((tmp_path / "folder").iterdir()) == []


# -- another user

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")

AS_NOBODY = """
import sys
sys.path.insert(0, {root!r})
import os
from pathlib import Path
from gpugraph.devices.codegen.trusted_folders import open_folder
try:
    os.setgroups([])
    os.setgid({user})
    os.setuid({user})
except OSError as error:
    print("no other user:", error)
    sys.exit()
{body}
"""


def as_nobody(body: str) -> str:
    """The output of a program that runs as another user; skips where none can be."""
    root = str(Path(trusted_folders.__file__).resolve().parents[3])
    child = subprocess.run(
        [sys.executable, "-c", AS_NOBODY.format(root=root, user=NOBODY, body=body)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if child.stdout.startswith("no other user"):
        pytest.skip(child.stdout)
    assert child.stderr == ""
    return child.stdout.strip()


@pytest.fixture
def of_two_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a folder of root's that another user reaches, as far as its mode allows."""
    path = Path("/tmp", f"gpugraph-test-{os.getpid()}")
    path.mkdir(mode=0o755)
    yield path
    subprocess.run(["rm", "-rf", str(path)], check=True)


@needs_root
def test_another_user_can_not_put_code_into_a_cache(of_two_users: Path, no_mask: None) -> None:
    cache = ObjectCache(of_two_users / "a" / "native")
    assert cache.store(KEY, b"content")
    said = as_nobody(
        f"for path in ({str(cache.folder)!r}, {str(cache.folder.parent)!r}):\n"
        "    try:\n        os.rename(path, path + '-away')\n        print('renamed')\n"
        "    except PermissionError:\n        print('refused')"
    )
    assert said.split() == ["refused", "refused"]
    assert cache.load(KEY) == b"content"


@needs_root
def test_a_folder_that_another_user_has_replaced_is_not_used(of_two_users: Path) -> None:
    above = of_two_users / "above"
    cache = ObjectCache(above / "native")
    assert cache.store(KEY, b"content")
    entry = (above / "native" / f"{KEY}.so").read_bytes()
    above.chmod(0o777)
    said = as_nobody(
        f"os.rename({str(above / 'native')!r}, {str(above / 'away')!r})\n"
        f"os.mkdir({str(above / 'native')!r}, 0o755)\n"
        f"open({str(above / 'native' / f'{KEY}.so')!r}, 'wb').write({entry!r})\n"
        "print('replaced')"
    )
    assert said == "replaced"
    above.chmod(0o755)  # as if nothing had been
    assert cache.load(KEY) is None
    assert f"native belongs to another user (id {NOBODY})" in cache.reason
    assert not cache.store(key_of("new"), b"more")


@needs_root
def test_an_entry_of_another_user_is_not_used(of_two_users: Path) -> None:
    cache = ObjectCache(of_two_users / "native")
    assert cache.store(KEY, b"content")
    os.chown(of_two_users / "native" / f"{KEY}.so", NOBODY, NOBODY)
    assert cache.load(KEY) is None
    assert list((of_two_users / "native").iterdir()) == []


@needs_root
def test_a_program_of_another_user_uses_a_cache_of_its_own_alone(of_two_users: Path) -> None:
    (of_two_users / "open").mkdir()
    (of_two_users / "open").chmod(0o1777)
    said = as_nobody(
        f"for path in ({str(of_two_users / 'open' / 'its')!r}, {str(of_two_users)!r}):\n"
        "    try:\n"
        "        with open_folder(Path(path)):\n"
        "            print('used')\n"
        "    except PermissionError as error:\n"
        "        print(error)"
    )
    assert said.splitlines() == ["used", f"{of_two_users} belongs to another user (id 0)"]
