"""tf.gfile, and the ops that read, write and list files."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "x.txt").write_bytes("héllo\nworld\n".encode())
    return tmp_path


def run(fetch):
    with tf.Session() as session:
        return session.run(fetch)


def test_text_is_read_by_bytes_and_lines(folder):
    with tf.gfile.GFile(folder / "x.txt") as file:
        assert (file.size(), file.mode, file.name) == (13, "r", folder / "x.txt")
        assert [file.read(3), file.readline(), file.tell()] == ["hé", "llo\n", 7]
        assert [file.readlines(), file.read(), file.readline()] == [["world\n"], "", ""]
        file.seek(0)
        assert list(file) == ["héllo\n", "world\n"]
        file.seek(position=1)
        assert file.tell() == 1
        assert file.seekable()
    with tf.gfile.FastGFile(str(folder / "x.txt"), "rb") as file:
        assert next(file) == "héllo\n".encode()
        file.seek(-1, whence=2)
        assert file.read() == b"\n"
        with pytest.raises(StopIteration):
            next(file)


def test_text_and_bytes_are_written_and_appended(folder):
    with tf.gfile.Open(folder / "y", "w") as file:
        file.write("é")
        file.flush()
        assert (folder / "y").read_bytes() == "é".encode()
    with tf.gfile.GFile(folder / "y", "ab") as file:
        file.write(b"\xff")
    with tf.gfile.GFile(folder / "y", "rb+") as file:
        file.write(b"e")
    assert (folder / "y").read_bytes() == b"e\xa9\xff"


@pytest.mark.parametrize(
    ("error", "use"),
    [
        (tf.errors.NotFoundError, lambda at: tf.gfile.GFile(at / "no").read()),
        (tf.errors.NotFoundError, lambda at: tf.gfile.GFile(at / "no" / "y", "w").write("")),
        (tf.errors.FailedPreconditionError, lambda at: tf.gfile.GFile(at / "a").read()),
        (tf.errors.InvalidArgumentError, lambda at: tf.gfile.GFile(at / "x.txt", "z").read()),
        (tf.errors.InvalidArgumentError, lambda at: tf.gfile.GFile(at / "x.txt").seek(1, 7)),
        (TypeError, lambda at: tf.gfile.GFile(at / "x.txt").seek()),
        (tf.errors.PermissionDeniedError, lambda at: tf.gfile.GFile(at / "x.txt").write("")),
        (tf.errors.PermissionDeniedError, lambda at: tf.gfile.GFile(at / "x.txt", "w").read()),
        (tf.errors.NotFoundError, lambda at: tf.gfile.MkDir(at / "no" / "c")),
        (tf.errors.FailedPreconditionError, lambda at: tf.gfile.MakeDirs(at / "x.txt")),
        (tf.errors.FailedPreconditionError, lambda at: tf.gfile.MakeDirs(at / "x.txt" / "c")),
        (tf.errors.NotFoundError, lambda at: tf.gfile.ListDirectory(at / "no")),
        (tf.errors.NotFoundError, lambda at: tf.gfile.ListDirectory(at / "x.txt")),
        (tf.errors.NotFoundError, lambda at: tf.gfile.Remove(at / "no")),
        (tf.errors.FailedPreconditionError, lambda at: tf.gfile.Remove(at / "a")),
        (tf.errors.NotFoundError, lambda at: tf.gfile.Stat(at / "no")),
        (tf.errors.NotFoundError, lambda at: tf.gfile.DeleteRecursively(at / "no")),
        (tf.errors.NotFoundError, lambda at: tf.gfile.Copy(at / "no", at / "y")),
        (tf.errors.NotFoundError, lambda at: tf.gfile.Rename(at / "no", at / "y")),
        (tf.errors.AlreadyExistsError, lambda at: tf.gfile.Copy(at / "a", at / "x.txt")),
        (tf.errors.AlreadyExistsError, lambda at: tf.gfile.Rename(at / "a", at / "x.txt")),
    ],
)
def test_what_cannot_be_done_is_an_error_of_its_class(folder, error, use):
    with pytest.raises(error):
        use(folder)
    assert (folder / "x.txt").read_bytes() == "héllo\nworld\n".encode()


def test_folders_are_made_listed_walked_and_deleted(folder):
    tf.gfile.MakeDirs(folder / "c" / "d")
    tf.gfile.MakeDirs(folder / "c" / "d")
    tf.gfile.MkDir(folder / "c")
    assert sorted(tf.gfile.ListDirectory(folder)) == ["a", "c", "x.txt"]
    found = [(path[len(str(folder)) :], files) for path, _, files in tf.gfile.Walk(folder / "a")]
    assert found == [("/a", []), ("/a/b", [])]
    last_first = [path for path, *_ in tf.gfile.Walk(folder / "a", in_order=False)]
    assert last_first == [str(folder / "a" / "b"), str(folder / "a")]
    assert list(tf.gfile.Walk(folder / "no")) == []
    tf.gfile.DeleteRecursively(folder / "c")
    tf.gfile.DeleteRecursively(folder / "x.txt")
    assert sorted(tf.gfile.ListDirectory(folder)) == ["a"]
    assert [tf.gfile.Exists(folder / each) for each in ("a", "c")] == [True, False]


def test_files_are_copied_renamed_and_told_of(folder):
    tf.gfile.Copy(folder / "x.txt", folder / "y.txt")
    tf.gfile.Copy(folder / "x.txt", folder / "y.txt", overwrite=True)
    tf.gfile.Rename(folder / "y.txt", folder / "z.txt")
    tf.gfile.Rename(folder / "z.txt", folder / "x.txt", overwrite=True)
    found = tf.gfile.Stat(folder / "x.txt")
    assert (found.length, found.is_directory) == (13, False)
    assert found.mtime_nsec == (folder / "x.txt").stat().st_mtime_ns
    assert tf.gfile.Stat(folder).is_directory
    assert [tf.gfile.IsDirectory(folder / each) for each in ("a", "x.txt")] == [True, False]
    tf.gfile.Remove(folder / "x.txt")
    assert not tf.gfile.Exists(folder / "x.txt")


def test_patterns_match_in_each_part_of_a_path(folder):
    (folder / ".hidden").write_text("")
    found = tf.gfile.Glob(str(folder / "*"))
    assert found == [str(folder / each) for each in (".hidden", "a", "x.txt")]
    assert tf.gfile.Glob(str(folder / "?" / "[ab]")) == [str(folder / "a" / "b")]
    listed = tf.gfile.Glob([str(folder / "x*"), str(folder / "a"), str(folder / "no")])
    assert listed == [str(folder / "x.txt"), str(folder / "a")]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a[^2-9]", ["a!", "a1", "a\\", "a]", "a^"]),
        ("a[!2-9]", ["a!", "a1", "a\\", "a]", "a^"]),
        ("a[1^]", ["a1", "a^"]),
        ("a[^]3]", ["a!", "a1", "a\\", "a^"]),
        ("a\\^", ["a^"]),
        ("a[]]", ["a]"]),
        ("\\a?", ["a!", "a1", "a3", "a\\", "a]", "a^"]),
        ("a\\?", []),
    ],
)
def test_patterns_name_signs_and_other_signs(tmp_path, pattern, found):
    for name in ("a!", "a1", "a3", "a\\", "a]", "a^"):
        (tmp_path / name).write_text("")
    assert tf.gfile.Glob(f"{tmp_path}/{pattern}") == [f"{tmp_path}/{name}" for name in found]


def test_newer_names_do_the_same(folder):
    at, gfile = str(folder), tf.io.gfile
    gfile.makedirs(f"{at}/c/d")
    gfile.mkdir(f"{at}/c")
    gfile.copy(f"{at}/x.txt", f"{at}/c/y")
    with pytest.raises(tf.errors.AlreadyExistsError):
        gfile.copy(f"{at}/x.txt", f"{at}/c/y")
    gfile.rename(src=f"{at}/c/y", dst=f"{at}/c/z", overwrite=True)
    assert sorted(gfile.listdir(f"{at}/c")) == ["d", "z"]
    assert gfile.glob(f"{at}/c/[^d]") == [f"{at}/c/z"]
    assert [gfile.exists(f"{at}/c/y"), gfile.isdir(f"{at}/c")] == [False, True]
    assert gfile.stat(f"{at}/c/z").length == 13
    assert [path for path, *_ in gfile.walk(f"{at}/c", topdown=False)] == [f"{at}/c/d", f"{at}/c"]
    gfile.remove(f"{at}/c/z")
    gfile.rmtree(f"{at}/c")
    assert not gfile.exists(f"{at}/c")


def test_a_walk_tells_of_what_it_cannot_list(folder):
    told = []
    assert list(tf.io.gfile.walk(str(folder / "no"))) == []
    assert list(tf.io.gfile.walk(str(folder / "no"), onerror=told.append)) == []
    assert [type(error) for error in told] == [tf.errors.NotFoundError]


def test_ops_read_and_write_at_each_run(folder):
    name = tf.placeholder(tf.string, [])
    read, write = tf.read_file(name), tf.write_file(name, tf.constant("abc"))
    with tf.Session() as session:
        path = str(folder / "new" / "file")
        with pytest.raises(tf.errors.NotFoundError, match="new/file"):
            session.run(read, {name: path})
        session.run(write, {name: path})
        assert session.run(read, {name: path}) == b"abc"
        (folder / "new" / "file").write_bytes(b"other")
        assert session.run(read, {name: path}) == b"other"
    assert [read.op.name, write.name] == ["ReadFile", "WriteFile"]
    assert read.shape == []


def test_an_op_lists_what_matches(folder):
    patterns = [str(folder / "x*"), str(folder / "a" / "*")]
    found = run(tf.matching_files(patterns))
    assert found.tolist() == [str(folder / "a" / "b").encode(), str(folder / "x.txt").encode()]
    assert run(tf.matching_files(str(folder / "no*"))).tolist() == []
    with pytest.raises(ValueError, match="scalar or a vector"):
        tf.matching_files([patterns])


def test_lines_come_one_by_one_by_an_older_name_too(tmp_path: Any) -> None:
    path = tmp_path / "lines"
    path.write_text("a\nb\n")
    with tf.gfile.GFile(str(path)) as file:
        assert [file.next(), file.next()] == ["a\n", "b\n"]
        with pytest.raises(StopIteration):
            file.next()
