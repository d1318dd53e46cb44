"""Programs for Python 2, which `gpugraph run --python2` translates."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.building.compatibility.classic_division import classic_division
from gpugraph.tensorflow_import.python_2.python_2_programs import translated

PROGRAM = """\
import tensorflow as tf
from helper import half
print 'halves:', half(7), 7.0 / 2
d = {'a': 1}
for key, value in d.iteritems():
    print key, value
try:
    raise ValueError, 'wrong'
except ValueError, error:
    print error
print tf.Session().run(tf.constant(7) / 2), map(half, xrange(4))
"""
HELPER = "def half(x):\n\tx /= 2\n\treturn x\n"


def test_the_quotient_of_integers_is_an_integer() -> None:
    assert classic_division(7, 2) == 3 and classic_division(-7, 2) == -4
    assert classic_division(7.0, 2) == 3.5
    assert classic_division(np.array([7, 8]), 2).tolist() == [3, 4]
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(classic_division(tf.constant(7), 2)) == 3
        assert session.run(classic_division(tf.constant(7.0), 2)) == 3.5


def test_a_program_and_its_modules_are_translated_without_files(tmp_path) -> None:
    pytest.importorskip("fissix")
    (tmp_path / "old.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text(HELPER)
    command = [sys.executable, "-m", "gpugraph", "run", "--python2", str(tmp_path / "old.py")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.stdout == "halves: 3 3.5\na 1\nwrong\n3 [0, 0, 1, 1]\n", result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["helper.py", "old.py"]


FUTURE = """\
from __future__ import division, print_function
import sys

def order(x, y):
    return cmp(x, y)

print(1 / 4, sorted([3, 1, 2], cmp=order), reduce(lambda x, y: x + y, [1, 2]))
print(sys._getframe().f_lineno)
class Meta(object):
    __metaclass__ = type
    line = sys._getframe().f_lineno
print(Meta.line, reload(sys) is sys, sys.setdefaultencoding("utf-8"))
"""


@pytest.mark.parametrize("command", ["run", "memory"])
def test_true_division_and_lines_are_kept(command: str, tmp_path, capsys) -> None:
    """The translation inserts an import and removes a line."""
    pytest.importorskip("fissix")
    (tmp_path / "future.py").write_text(FUTURE)
    run = [sys.executable, "-m", "gpugraph", command, "--python2", str(tmp_path / "future.py")]
    result = subprocess.run(run, capture_output=True, text=True)
    lines = result.stdout.splitlines()
    assert lines[:3] == ["0.25 [1, 2, 3] 3", "8", "11 True None"], result.stderr


def test_without_fissix_the_extra_is_named() -> None:
    try:
        import fissix  # noqa: F401, PLC0415
    except ImportError:
        with pytest.raises(ImportError, match=r"pip install 'gpugraph\[python2\]'"):
            translated(b"print 1", "old.py")
    else:
        with pytest.raises(SyntaxError, match=r"old.py is no program of Python 2 or 3"):
            translated(b"print 1 +", "old.py")


FILES = """\
import cPickle, csv, json, pickle
class Mine(Exception):
    def __init__(self, message, code):
        super(Mine, self).__init__(code, message)
        self.message = message
for error in (ValueError("one"), KeyError(2), IOError(2, "two"), Mine("m", 1)):
    try:
        raise error
    except Exception, caught:
        print repr(caught.message),
print
f = open("data", "w")
f.write("first\\n")
cPickle.dump({"a": u"b"}, f, 2)
pickle.Pickler(f).dump([1])
f.close()
f = open("data")
print f.readline().strip(), pickle.load(f), pickle.Unpickler(f).load(), repr(f.read())
with open("rows", "wb") as f:
    csv.writer(f).writerow(["a", 1])
print list(csv.reader(open("rows", "rb"))), list(csv.reader(file("rows", "rU"))),
print open("rows").read() == "a,1\\r\\n"
json.dump([1], open("rows", "wb"))
print open("rows").read(), pickle.loads(open("old", "rb").read()), pickle.load(open("old"))
log = open("rows", "w", 0)
log.write(b"\\x80")
print >>log, "text",
print repr(open("rows", "rb").read())
f = open("rows", "r+")
f.write(open("rows").read() + "x")
f.close()
print repr(open("rows", "rb").read()), f.mode
"""
OLD_PICKLE = b"S'\\xe9'\np0\n."


def test_files_and_exceptions_are_those_of_python_2(tmp_path) -> None:
    pytest.importorskip("fissix")
    (tmp_path / "files.py").write_text(FILES)
    (tmp_path / "old").write_bytes(OLD_PICKLE)
    command = [sys.executable, "-m", "gpugraph", "run", "--python2", "files.py"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.stdout.splitlines() == [
        "'one' 2 '' 'm' ",
        "first {'a': 'b'} [1] ''",
        "[['a', '1']] [['a', '1']] True",
        "[1] \xe9 \xe9",
        "b'\\x80text '",
        "b'\\x80text x' r+",
    ], result.stderr


def test_a_program_keeps_its_own_open() -> None:
    pytest.importorskip("fissix")
    for source in (b"def open(x): pass\nopen(1)", b"from codecs import open\nopen(1)"):
        assert "__gpugraph_open__" not in translated(source, "own.py").co_names
    assert "__gpugraph_open__" in translated(b"open(1)", "other.py").co_names
