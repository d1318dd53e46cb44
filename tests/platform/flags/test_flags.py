"""tf.flags and tf.app: definitions, command lines, rules, and programs that use them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gpugraph as tf

flags = tf.flags
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def values() -> Any:
    """Flags of their own, one of each kind."""
    found = flags.FlagValues()
    flags.DEFINE_string("name", "net", "A name.", flag_values=found)
    flags.DEFINE_integer("steps", 100, "How long.", lower_bound=0, flag_values=found)
    flags.DEFINE_float("rate", 0.5, "How fast.", upper_bound=1.0, flag_values=found)
    flags.DEFINE_boolean("verbose", False, "Whether to talk.", flag_values=found)
    flags.DEFINE_enum("mode", "train", ["train", "eval"], "What to do.", flag_values=found)
    flags.DEFINE_list("layers", "1,2", "Sizes.", flag_values=found)
    flags.DEFINE_spaceseplist("words", [], "Words.", flag_values=found)
    flags.DEFINE_multi_integer("gpu", [0], "Devices.", flag_values=found)
    flags.DEFINE_multi_string("tag", None, "Tags.", flag_values=found)
    flags.DEFINE_multi_float("weight", 1.0, "Weights.", flag_values=found)
    return found


def test_defaults(values: Any) -> None:
    assert values(["program"]) == ["program"]
    assert values.flag_values_dict() == {
        "name": "net",
        "steps": 100,
        "rate": 0.5,
        "verbose": False,
        "mode": "train",
        "layers": ["1", "2"],
        "words": [],
        "gpu": [0],
        "tag": None,
        "weight": [1.0],
    }


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("--name=a=b", "name", "a=b"),
        ("--name=", "name", ""),
        ("-name x", "name", "x"),
        ("--steps 5", "steps", 5),
        ("--steps=0x10", "steps", 16),
        ("--rate=1e-3", "rate", 1e-3),
        ("--rate -2", "rate", -2.0),
        ("--verbose", "verbose", True),
        ("--noverbose", "verbose", False),
        ("--verbose=T", "verbose", True),
        ("--verbose=0", "verbose", False),
        ("--mode eval", "mode", "eval"),
        ("--layers=8,16", "layers", ["8", "16"]),
        ("--layers=", "layers", []),
        ("--words=a", "words", ["a"]),
        ("--gpu=1 --gpu=2", "gpu", [1, 2]),
        ("--tag=x", "tag", ["x"]),
        ("--name=a --name=b", "name", "b"),
    ],
)
def test_what_a_command_line_says(line: str, name: str, value: Any, values: Any) -> None:
    assert values(["program", *line.split(" "), "rest"]) == ["program", "rest"]
    assert getattr(values, name) == value
    assert values[name].value == value
    assert values[name].present == line.count(name)


def test_what_is_no_flag_is_left(values: Any) -> None:
    line = ["program", "a", "--verbose", "true", "-", "--", "--steps=3"]
    assert values(line) == ["program", "a", "true", "-", "--steps=3"]
    assert values.verbose is True
    assert values.steps == 100


def test_unknown_flags(values: Any) -> None:
    with pytest.raises(flags.UnrecognizedFlagError, match="Unknown command line flag 'steep'"):
        values(["program", "--steep=3"])
    assert values(["program", "--steep=3", "--steps=4"], known_only=True) == [
        "program",
        "--steep=3",
    ]
    assert values.steps == 4
    with pytest.raises(flags.UnrecognizedFlagError):
        values(["program", "--noname"])


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("--steps=1.5", "flag --steps=1.5: invalid literal"),
        ("--steps=-1", "not an integer of at least 0"),
        ("--rate=2", "not a number of at most 1.0"),
        ("--rate=fast", "flag --rate=fast: could not convert"),
        ("--verbose=maybe", "expected true or false"),
        ("--mode=run", "value should be one of <train|eval>"),
    ],
)
def test_values_that_a_flag_does_not_take(argument: str, said: str, values: Any) -> None:
    with pytest.raises(flags.IllegalFlagValueError) as caught:
        values(["program", argument])
    assert said in str(caught.value)


def test_a_value_must_follow(values: Any) -> None:
    with pytest.raises(flags.Error, match="Missing value for flag --steps"):
        values(["program", "--steps"])
    with pytest.raises(ValueError, match="argv cannot be an empty list"):
        values([])


def test_bad_definitions(values: Any) -> None:
    with pytest.raises(flags.DuplicateFlagError, match="The flag 'steps' is defined twice"):
        flags.DEFINE_string("steps", "", "Again.", flag_values=values)
    with pytest.raises(flags.IllegalFlagValueError):
        flags.DEFINE_integer("other", "many", "Not a number.", flag_values=values)
    with pytest.raises(flags.IllegalFlagValueError, match="must be a string"):
        flags.DEFINE_string("other", 5, "No text.", flag_values=values)


def test_older_names_of_the_arguments(values: Any) -> None:
    flags.DEFINE_integer(flag_name="older", default_value=3, docstring="Older.", flag_values=values)
    flags.DEFINE_bool("brief", False, "Short.", flag_values=values, short_name="b")
    values(["program", "-b"])
    assert (values.older, values.brief) == (3, True)


def test_flags_can_be_set(values: Any) -> None:
    values.mark_as_parsed()
    values.steps = 7
    assert values.steps == 7
    values.set_default("name", "other")
    assert values.name == "other"
    values.unparse_flags()
    values(["program", "--name=given"])
    values.set_default("name", "third")
    assert (values.steps, values.name) == (100, "given")
    for act in (lambda: values.step, lambda: setattr(values, "step", 1), lambda: values["step"]):
        with pytest.raises((AttributeError, KeyError), match="step"):
            act()
    del values.steps
    assert "steps" not in values
    assert "name" in values
    assert getattr(values, "__flags")["name"].value == "given"
    assert sorted(values) == sorted(values.flag_values_dict())
    assert len(values) == 9


def test_flags_of_ones_own_are_read_first(values: Any) -> None:
    with pytest.raises(flags.UnparsedFlagAccessError, match="flag --steps before flags were parse"):
        assert values.steps


def test_rules(values: Any) -> None:
    flags.mark_flag_as_required("tag", values)
    flags.register_validator("steps", lambda steps: steps % 2 == 0, "must be even", values)

    @flags.validator("name", flag_values=values)
    def check(name: str) -> bool:
        if name == "bad":
            raise flags.ValidationError("a bad name")
        return True

    values(["program", "--tag=x"])
    with pytest.raises(flags.IllegalFlagValueError, match="flag --steps=3: must be even"):
        values.steps = 3
    with pytest.raises(flags.IllegalFlagValueError, match="flag --name=bad: a bad name"):
        values.name = "bad"
    values.unparse_flags()
    with pytest.raises(flags.IllegalFlagValueError, match="--tag must have a value other than No"):
        values(["program"])
    with pytest.raises(AttributeError, match="no flag is named 'none'"):
        flags.mark_flags_as_required(["none"], values)


# -- programs

PROGRAM = '''"""What the program is for."""
import sys
import gpugraph as tf
tf.app.flags.DEFINE_integer("steps", 10, "How long.")
tf.app.flags.DEFINE_boolean("fast", True, "Whether to hurry.")
FLAGS = tf.app.flags.FLAGS
if "early" in sys.argv:
    print("early", FLAGS.steps)

def main(argv):
    print(FLAGS.steps, FLAGS.fast, argv[1:])
    return 3

if __name__ == "__main__":
    tf.app.run()
'''


def program(folder: Path, *arguments: str) -> Any:
    path = folder / "program.py"
    path.write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_runs_with_its_flags(tmp_path: Path) -> None:
    done = program(tmp_path, "--steps=4", "--nofast", "more", "--other=1")
    assert done.stdout == "4 False ['more', '--other=1']\n"
    assert done.returncode == 3


def test_flags_are_read_at_the_first_look(tmp_path: Path) -> None:
    done = program(tmp_path, "early", "--steps=4")
    assert done.stdout == "early 4\n4 True ['early']\n"


def test_help_shows_the_flags(tmp_path: Path) -> None:
    done = program(tmp_path, "--help")
    assert "What the program is for." in done.stdout
    assert "--steps: How long.\n    (default: 10)" in done.stdout
    assert "--[no]fast: Whether to hurry." in done.stdout
    assert done.returncode == 1


def test_a_flag_that_cannot_be_read_ends_the_program(tmp_path: Path) -> None:
    done = program(tmp_path, "--steps=many")
    assert done.stderr.startswith("FATAL Flags parsing error: flag --steps=many: ")
    assert (done.stdout, done.returncode) == ("", 1)


def test_run_takes_a_main_and_arguments() -> None:
    seen = []
    with pytest.raises(SystemExit) as caught:
        tf.app.run(seen.append, ["program", "a"])
    assert seen == [["program", "a"]]
    assert caught.value.code is None
