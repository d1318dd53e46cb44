"""`gpugraph run`: a program runs as with `python PROGRAM`, with the same output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from gpugraph.cli import main

ROOT = Path(__file__).resolve().parents[2]
GPUGRAPH_RUN = ("-m", "gpugraph", "run")

LOOKS = """\
import sys, os, threading
print(__name__, __file__, __spec__ and __spec__.name, __package__, __doc__, type(__loader__))
print(sys.argv, sys.path[0], len(sys.path), "gpugraph" in globals(), sorted(globals()))
print(sys.modules["__main__"].__dict__ is globals(), os.getcwd())
class Thing: pass
import pickle
print(pickle.loads(pickle.dumps(Thing())).__class__ is Thing)
x: int = 3
print(__annotations__)
"""

PROGRAMS = {
    "looks": LOOKS,
    "raises": "def f():\n    return 1 / 0\nprint('out')\nf()\n",
    "syntax": "print('never')\nx = = 1\n",
    "chain": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('b') from e\n",
    "context": "try:\n    {}['a']\nexcept KeyError:\n    import nothing_here\n",
    "exits": "import sys\nsys.exit(7)\n",
    "exits_with_text": "import sys\nprint('out')\nsys.exit('a word of farewell')\n",
    "exits_at_once": "import os\nprint('lost', flush=True)\nos._exit(5)\n",
    "interrupted": "raise KeyboardInterrupt\n",
    "annotated": "def f(x: no_such_name): pass\n",
    "hook": (
        "import sys\ndef hook(kind, value, trace):\n"
        "    print('hook', kind, value, trace.tb_frame.f_code.co_name, trace.tb_lineno)\n"
        "sys.excepthook = hook\n1 / 0\n"
    ),
    "bad_hook": (
        "import sys\ndef hook(kind, value, trace):\n    raise RuntimeError('hook')\n"
        "sys.excepthook = hook\n1 / 0\n"
    ),
    "last": (
        "import atexit, sys\n"
        "def show():\n    print(sys.last_type, sys.last_value, sys.last_traceback.tb_lineno)\n"
        "atexit.register(show)\n"
        "1 / 0\n"
    ),
    "thread": (
        "import threading, time, atexit, sys\natexit.register(print, 'exit')\n"
        "def late():\n    time.sleep(0.3)\n"
        "    print('late', sys.modules['__main__'].late is late)\n"
        "    import tensorflow_of_another\n"
        "threading.Thread(target=late, name='t').start()\nprint('main ends')\n"
    ),
    "warns": "import warnings\nwarnings.warn('look', stacklevel=1)\n",
}


def run(*command: str, cwd: Path, **more: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, env=environment, capture_output=True, text=True, **more
    )


def run_both(cwd: Path, *command: str) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
    """Return the status, output and errors of plain Python, and those of `gpugraph run`."""
    plain, ours = run(*command, cwd=cwd), run(*GPUGRAPH_RUN, *command, cwd=cwd)
    return (
        (plain.returncode, plain.stdout, plain.stderr),
        (ours.returncode, ours.stdout, ours.stderr),
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_shows_what_it_shows_in_plain_python(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(PROGRAMS[name])
    plain, ours = run_both(tmp_path, f"{name}.py", "a", "--missing", "-m", "--", "-x")
    assert ours == plain


@pytest.mark.parametrize("name", ["looks", "raises", "syntax", "exits", "interrupted"])
def test_so_does_a_module(name: str, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / f"{name}.py").write_text(PROGRAMS[name])
    plain, ours = run_both(tmp_path, "-m", f"package.{name}", "a", "--b")
    assert ours == plain


def test_so_do_a_folder_a_zip_file_and_compiled_code(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text(LOOKS)
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        archive.writestr("__main__.py", LOOKS)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link.py").symlink_to(tmp_path / "folder" / "__main__.py")
    run("-m", "compileall", "-b", "-q", "folder", cwd=tmp_path)
    for program in ("folder", "program.zip", "empty", "link.py", "folder/__main__.pyc"):
        plain, ours = run_both(tmp_path, program, "a")
        assert ours == plain


@pytest.mark.parametrize("command", [["none.py"], ["-m", "no_module"], ["-m", "os.no_module"]])
def test_so_does_a_program_that_is_not_there(command: list[str], tmp_path: Path) -> None:
    plain, ours = run_both(tmp_path, *command)
    assert ours == plain and plain[0] != 0


def test_ctrl_c_ends_it_as_it_ends_python(tmp_path: Path, interruptible: None) -> None:
    (tmp_path / "waits.py").write_text("import time\nprint('waits', flush=True)\ntime.sleep(60)\n")
    results = []
    for command in ([], GPUGRAPH_RUN):
        process = subprocess.Popen(
            [sys.executable, *command, "waits.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "waits\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        results.append((process.returncode, errors))
    assert results[0] == results[1] and results[0][0] == -signal.SIGINT


CHILDREN = """\
import multiprocessing, subprocess, sys
import tensorflow as tf

def product(x):
    with tf.Graph().as_default(), tf.Session() as session:
        return float(session.run(tf.constant(x) * 2.0))

if __name__ == "__main__":
    for method in sys.argv[1:]:
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(product, [1.0, 2.0]))
    code = "import sys, tensorflow; print(tensorflow.__version__, 'for_child' in str(sys.path))"
    print(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout)
    code = "import sys; print('gpugraph' in sys.modules, 'CUSTOM' in dir(sys))"
    print(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout)
"""


def test_child_processes_answer_too(tmp_path: Path) -> None:
    """By each start method, and as another Python; a `sitecustomize` that is there runs too."""
    (tmp_path / "children.py").write_text(CHILDREN)
    (tmp_path / "custom").mkdir()
    (tmp_path / "custom" / "sitecustomize.py").write_text("import sys\nsys.CUSTOM = True\n")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path / 'custom'}"}
    done = subprocess.run(
        [sys.executable, *GPUGRAPH_RUN, "children.py", "spawn", "forkserver"],
        cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout.split("\n") == [
        "spawn [2.0, 4.0]", "forkserver [2.0, 4.0]", "1.15.5 False", "", "False True", "", "",
    ]  # fmt: skip


ASKS = """\
import sys
import tensorflow as tf
tf.logging.info("hello")
if not hasattr(tf.nn, "rlu"):
    print("no rlu")
if len(sys.argv) > 1:
    tf.train.AdamOptimiser(0.1)
"""


def test_missing_names_are_listed_at_the_end_of_a_failed_run(tmp_path: Path) -> None:
    (tmp_path / "asks.py").write_text(ASKS)
    done = run(*GPUGRAPH_RUN, "asks.py", "fail", cwd=tmp_path)
    file = tmp_path / "asks.py"
    errors = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "no rlu\n")
    assert errors[:4] == [
        "Traceback (most recent call last):",
        f'  File "{file}", line 7, in <module>',
        "    tf.train.AdamOptimiser(0.1)",
        *errors[3:4],
    ]
    error = next(line for line in errors if line.startswith("AttributeError"))
    assert error.startswith(
        "AttributeError: module 'tensorflow.train' has no attribute 'AdamOptimiser': gpugraph has "
        f"no tf.train.AdamOptimiser (used by {file}:7); nearest: tf.train.AdamOptimizer"
    )
    assert not any("answering_modules" in line for line in errors)
    assert [line.partition(", ")[0] for line in errors[errors.index(error) + 1 :]] == [
        "",
        "gpugraph lacks names that the program used:",
        f"  tf.nn.rlu  {file}:4; nearest: tf.nn.relu",
        f"  tf.train.AdamOptimiser  {file}:7; nearest: tf.train.AdamOptimizer",
    ]


def test_they_are_listed_after_a_good_run_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "asks.py").write_text(ASKS)
    assert main(["run", str(tmp_path / "asks.py")]) == 0
    assert capsys.readouterr() == ("no rlu\n", "")
    assert main(["run", "--missing", str(tmp_path / "asks.py")]) == 0
    assert "  tf.nn.rlu  " in capsys.readouterr().err


def test_a_program_that_gives_up_has_its_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gives_up.py").write_text(
        "try:\n    import tensorflow.contrib.nothing\n"
        "except ImportError:\n    raise SystemExit(3)\n"
    )
    with pytest.raises(SystemExit) as caught:
        main(["run", str(tmp_path / "gives_up.py")])
    assert caught.value.code == 3
    assert "tf.contrib.nothing  " in capsys.readouterr().err


def test_run_in_this_process_leaves_all_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.py").write_text("import tensorflow as tf\nprint(tf.__version__)\n")
    before = sys.argv, list(sys.path), sys.modules["__main__"], list(sys.meta_path), sys.excepthook
    assert main(["run", str(tmp_path / "good.py")]) == 0
    assert capsys.readouterr().out == "1.15.5\n"
    after = sys.argv, list(sys.path), sys.modules["__main__"], list(sys.meta_path), sys.excepthook
    assert after == before and "tensorflow" not in sys.modules


def test_errors_that_are_each_others_cause_are_printed(tmp_path):
    file = tmp_path / "causes.py"
    file.write_text(
        "a, b = ValueError('first'), TypeError('second')\n"
        "a.__cause__, b.__cause__ = b, a\n"
        "raise a\n"
    )
    command = [sys.executable, "-m", "gpugraph", "run", str(file)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.rstrip().endswith("ValueError: first")
