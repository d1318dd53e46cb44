"""The common parts of all distributions: names, shapes, checks, and classes that programs
derive.
"""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

ds = tf.distributions


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor)


def test_operations_are_named_after_distribution_and_method():
    normal = ds.Normal(0.0, 1.0)
    assert normal.name == "Normal/"
    assert normal.log_prob(1.0).name.startswith("Normal/log_prob/")
    assert ds.Normal(0.0, 1.0, name="prior").name == "prior/"
    assert ds.Normal(0.0, 1.0, name="prior").name == "prior_1/"
    assert (
        repr(normal)
        == "<tfp.distributions.Normal 'Normal/' batch_shape=() event_shape=() dtype=float32>"
    )


def test_parameters_broadcast_to_the_batch():
    normal = ds.Normal(tf.zeros([3, 1]), tf.ones([4]))
    assert normal.batch_shape == [3, 4] and normal.event_shape == []
    assert normal.sample([2, 5]).shape == [2, 5, 3, 4]
    assert value(normal.batch_shape_tensor()).tolist() == [3, 4]
    assert not value(normal.is_scalar_batch()) and value(normal.is_scalar_event())


def test_shapes_that_are_fed():
    loc = tf.placeholder(tf.float32)
    normal = ds.Normal(loc, 1.0)
    with tf.Session() as session:
        samples, batch = session.run([normal.sample(3), normal.batch_shape_tensor()], {loc: [1, 2]})
    assert samples.shape == (3, 2) and batch.tolist() == [2]


def test_gradients_flow_through_samples_to_the_parameters():
    loc, scale = tf.constant(1.0), tf.constant(2.0)
    normal = ds.Normal(loc, scale)
    assert normal.reparameterization_type is ds.FULLY_REPARAMETERIZED
    sample = normal.sample(seed=1)
    drawn, by_loc, by_scale = value([sample, *tf.gradients(sample, [loc, scale])])
    assert by_loc == 1.0
    np.testing.assert_allclose(by_scale, (drawn - 1) / 2, rtol=1e-5)


def test_copy_changes_some_parameters():
    normal = ds.Normal(0.0, 1.0).copy(scale=3.0)
    assert value(normal.stddev()) == 3.0 and normal.parameters["loc"] == 0.0


@pytest.mark.parametrize(
    "create, names",
    [
        (lambda: ds.Uniform(1.0, 3.0), ["low", "high"]),
        (lambda: ds.Beta(2.0, 3.0), ["concentration1", "concentration0"]),
        (lambda: ds.Categorical(probs=[0.5, 0.5]), ["logits", "probs", "dtype"]),
        (
            lambda: tf.contrib.distributions.MultivariateNormalDiag([1.0, 2.0], [2.0, 3.0], 1.0),
            ["loc", "scale_diag", "scale_identity_multiplier"],
        ),
        (
            lambda: tf.contrib.distributions.MultivariateNormalTriL([1.0, 2.0]),
            ["loc", "scale_tril"],
        ),
    ],
)
def test_copy_has_the_arguments_of_the_constructor(create, names):
    first = create()
    copied = first.copy()
    assert [*first.parameters] == [*names, "validate_args", "allow_nan_stats", "name"]
    assert value(copied.entropy()) == value(first.entropy())


@pytest.mark.parametrize(
    "create, event, message",
    [
        (ds.Bernoulli, [0.5], "Elements must be bool-equivalent"),
        (ds.Bernoulli, [2], "Elements cannot exceed 1"),
        (ds.Bernoulli, [-1], "Elements must be non-negative"),
        (ds.Categorical, [0.5], "Elements must be int32-equivalent"),
        (ds.Categorical, [-1.0], "Elements must be non-negative"),
    ],
)
def test_counts_are_checked_if_asked(create, event, message):
    checked = create(logits=[0.0, 1.0], validate_args=True)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        value(checked.log_prob(event))
    plain = create(logits=[0.0, 1.0])
    np.testing.assert_array_equal(value(checked.prob([1.0])), value(plain.prob([1])))


def test_arguments_are_checked_if_asked():
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="Condition x > 0"):
        value(ds.Normal(0.0, -1.0, validate_args=True).mean() + 0)
    scale = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        checked = ds.Normal(0.0, scale, validate_args=True).sample()
        with pytest.raises(tf.errors.InvalidArgumentError, match="x > 0"):
            session.run(checked, {scale: -1.0})
        assert np.isfinite(session.run(checked, {scale: 1.0}))


@pytest.mark.parametrize(
    "create, statistic, event",
    [
        (lambda **o: ds.Gamma([0.5, 2.0], 1.0, **o), "mode", [np.nan, 1.0]),
        (lambda **o: ds.Beta([0.5, 3.0], 2.0, **o), "mode", [np.nan, 2 / 3]),
        (lambda **o: ds.StudentT([0.5, 3.0], 1.0, 1.0, **o), "mean", [np.nan, 1.0]),
        (lambda **o: ds.StudentT([1.0, 1.5, 4.0], 0.0, 1.0, **o), "variance", [np.nan, np.inf, 2]),
    ],
)
def test_statistics_that_are_not_defined(create, statistic, event):
    np.testing.assert_allclose(value(getattr(create(), statistic)()), event, rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Uu]ndefined|not defined"):
        value(getattr(create(allow_nan_stats=False), statistic)())


def test_logits_or_probs():
    for options in ({}, {"logits": [0.0], "probs": [0.5]}):
        with pytest.raises(ValueError, match="Must pass probs or logits, but not both"):
            ds.Bernoulli(**options)
    with pytest.raises(TypeError, match="must having floating type"):
        ds.Categorical(logits=[1, 2])


def test_what_a_class_does_not_compute():
    with pytest.raises(NotImplementedError, match="mean is not implemented: Categorical"):
        ds.Categorical(logits=[0.0, 1.0]).mean()
    with pytest.raises(NotImplementedError, match=r"No KL.*Normal.*Gamma"):
        ds.kl_divergence(ds.Normal(0.0, 1.0), ds.Gamma(1.0, 1.0))
    with pytest.raises(ValueError, match="Input is neither scalar nor vector"):
        ds.Normal(0.0, 1.0).sample([[1]])


class Half(ds.Distribution):
    """One half of the numbers, from 0 to 1."""

    def __init__(self, name="Half"):
        kind = ds.NOT_REPARAMETERIZED
        super().__init__(tf.float32, kind, False, True, parameters={"name": name}, name=name)

    def _prob(self, x):
        return tf.where(x < 0.5, 2 * tf.ones_like(x), tf.zeros_like(x))


def test_a_program_derives_a_class():
    assert value(Half().log_prob([0.1])).tolist() == pytest.approx([np.log(2)])
    assert Half().copy(name="other").name == "other/"


def test_divergences_are_registered_once_and_inherited():
    class Mine(Half):
        pass

    @ds.RegisterKL(Half, Half)
    def divergence(a, b, name=None):
        return tf.constant(np.nan, name=name)

    assert np.isnan(value(ds.kl_divergence(Mine(), Half())))
    with pytest.raises(tf.errors.InvalidArgumentError, match="KL calculation between Mine"):
        value(ds.kl_divergence(Mine("Mine"), Half(), allow_nan_stats=False))
    with pytest.raises(ValueError, match=r"KL\(Half \|\| Half\) has already been registered"):
        ds.RegisterKL(Half, Half)(divergence)
    with pytest.raises(TypeError, match="kl_fn must be callable"):
        ds.RegisterKL(Mine, Mine)(1)
