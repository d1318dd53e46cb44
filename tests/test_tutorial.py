"""The programs and commands of the tutorial and the migration guide, as a reader types them.

Blocks ```python NAME``` are files. Each command of a block ```sh``` runs in the folder of these
files; their output is the block ```text``` below, where "..." stands for any text.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```(\w+)(?: (\S+))?\n(.*?)```", re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def output_of(line: str, folder: Path) -> str:
    words = shlex.split(line)
    if words[0] in ("python", "gpugraph"):
        module = ["-m", "gpugraph"] if words[0] == "gpugraph" else []
        words = [sys.executable, *module, *words[1:]]
    ended = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GPUGRAPH_NATIVE": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.stdout


@pytest.mark.parametrize("page", ["tutorial", "migration"])
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    said = None
    count = 0
    for kind, file, block in BLOCK.findall(text):
        if kind == "python" and file:
            (tmp_path / file).write_text(block)
        elif kind == "sh":
            said = "".join(output_of(line, tmp_path) for line in block.splitlines())
        elif kind == "text" and said is not None:
            assert doctest.OutputChecker().check_output(block, said, FLAGS), f"{block}\n--\n{said}"
            said = None
            count += 1
    assert count >= 2
