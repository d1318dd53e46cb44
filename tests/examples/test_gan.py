"""The GAN's towers share one discriminator, and the generator's points come near the circle."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import gpugraph as tf

PATH = Path(__file__).resolve().parents[2] / "examples" / "gan.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("gan_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_learns(example, capsys):
    before, after = example.main(["--steps", "800"])
    assert before > 0.8 and after < 0.4
    assert "discriminator/  18 variables" in capsys.readouterr().out


def test_both_towers_are_of_the_same_variables(example):
    with tf.Graph().as_default():
        gan = example.Gan()
        report = tf.explain_variables()
        ways = {
            variable.name: [(site.created, site.lines[-1][2]) for site in variable.sites]
            for variable in report.root.all_variables()
            if variable.trainable
        }
        towers = {name: sites for name, sites in ways.items() if name.startswith("discriminator/")}
        assert len(towers) == 6 and len(ways) == 10
        assert set(map(str, towers.values())) == {"[(True, '__init__'), (False, '__init__')]"}
        moves = tf.gradients(gan.discriminator_loss, tf.trainable_variables("generator/"))
        assert len(moves) == 4


def test_each_player_changes_only_its_own_variables(example):
    with tf.Graph().as_default(), tf.Session() as session:
        gan = example.Gan()
        session.run(tf.global_variables_initializer())
        feeds = {gan.points: [[2.0, 0.0]], gan.noise: [[0.5, -1.0, 2.0, 0.1]]}
        for step, scope in ((gan.train_generator, "gen"), (gan.train_discriminator, "disc")):
            before = session.run(tf.trainable_variables())
            session.run(step, feeds)
            after = session.run(tf.trainable_variables())
            for variable, old, new in zip(tf.trainable_variables(), before, after):
                assert (old.tolist() == new.tolist()) or variable.name.startswith(scope)
            assert any(old.tolist() != new.tolist() for old, new in zip(before, after))
