"""The verse writer learns, writes the requested length, and does the same on every device."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[2] / "examples" / "char_rnn.py"
BRIEF = "--steps 80 --units 32 --length 16 --sample 70"


@pytest.fixture(scope="module")
def char_rnn():
    """Yield the example as a module."""
    spec = importlib.util.spec_from_file_location("char_rnn_example", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def runs(char_rnn, tmp_path_factory):
    """Return a mapping: number of virtual GPUs -> losses, text, and output; run once each."""
    done = {}

    def run(capsys, gpus):
        if gpus not in done:
            file = tmp_path_factory.mktemp("char_rnn") / "losses"
            options = f"{BRIEF} --virtual-gpus {gpus} --losses {file}"
            losses, written = char_rnn.main(options.split())
            assert [float.fromhex(line) for line in file.read_text("utf-8").split()] == losses
            done[gpus] = losses, written, capsys.readouterr().out
        return done[gpus]

    return run


def test_it_learns(char_rnn, runs, capsys):
    losses, _, printed = runs(capsys, 0)
    characters = len(set(char_rnn.VERSE.read_text("utf-8")))
    assert len(losses) == 80
    assert losses[0] == pytest.approx(math.log(characters), abs=0.1)  # it is untrained
    assert max(losses[-10:]) < 3.0  # knowing how often each character comes gives 3.19
    assert re.search(r"step +50  loss 3\.\d+ nats a character", printed)


def test_it_writes_as_much_as_it_is_asked_to(char_rnn, runs, capsys):
    _, written, printed = runs(capsys, 0)
    assert len(written) == 70
    assert set(written) <= set(char_rnn.VERSE.read_text("utf-8"))
    assert len(set(written)) > 5
    assert f"\nThe Walrus {written}\n" in printed


def test_it_does_the_same_on_every_device(runs, capsys):
    losses, written, _ = runs(capsys, 0)
    for gpus in (1, 2):
        assert runs(capsys, gpus)[:2] == (losses, written)


def test_rows_are_read_side_by_side(char_rnn):
    text = char_rnn.Text("abcdefghijklmnopqrstu")  # two rows of ten, and one to follow
    batches = text.batches(2, 4)
    read = [next(batches) for _ in range(3)]
    shown = [[text.decode(row) for row in inputs] for inputs, _, _ in read]
    assert shown == [["abcd", "klmn"], ["efgh", "opqr"], ["abcd", "klmn"]]
    following = [[text.decode(row) for row in targets] for _, targets, _ in read]
    assert following[:2] == [["bcde", "lmno"], ["fghi", "pqrs"]]
    assert [anew for _, _, anew in read] == [True, False, True]


def test_characters_that_the_text_has_not(char_rnn):
    with pytest.raises(SystemExit, match="'%é'"):
        char_rnn.Text("abc").encode("a%é")
    with pytest.raises(SystemExit, match="too short"):
        next(char_rnn.Text("abc").batches(1, 4))


def test_the_state_is_carried_over(char_rnn, tmp_path):
    """With a rate of 0, cutting the text into other lengths changes no loss of the whole."""
    text = tmp_path / "text"
    text.write_text("the quick brown fox jumps over the lazy dog " * 3, "utf-8")
    means = []
    for length, steps in ((8, 8), (16, 4), (64, 1)):
        options = f"--rate 0 --batch 2 --units 8 --sample 1 --start q --text {text}"
        cut = f"--length {length} --steps {steps}"
        losses, _ = char_rnn.main(f"{options} {cut}".split())
        means.append(np.mean(losses))
    np.testing.assert_allclose(means, means[0], rtol=1e-5)


def test_it_goes_on_from_what_it_is_given(char_rnn, tmp_path):
    """The text repeats one phrase only; at low temperature nothing else is written."""
    text = tmp_path / "text"
    text.write_text("abcdefgh" * 40, "utf-8")
    options = f"--text {text} --steps 60 --units 16 --sample 12 --temperature 0.01 --start cdef"
    _, written = char_rnn.main(options.split())
    assert written == "ghabcdefghab"


def test_it_may_train_not_at_all_and_write_nothing(char_rnn, capsys):
    for start in ("a", "ab"):
        assert char_rnn.main(["--steps", "0", "--sample", "0", "--start", start]) == ([], "")


@pytest.mark.parametrize("wrong", [["--start", ""], ["--sample", "-1"]])
def test_samples_that_can_not_be(char_rnn, capsys, wrong):
    with pytest.raises(SystemExit):
        char_rnn.main(wrong)
    assert "goes on from one character" in capsys.readouterr().err
