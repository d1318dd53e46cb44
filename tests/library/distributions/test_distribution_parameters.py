"""Parameters: their checks in TensorFlow's words, and their shapes for a shape of samples."""

from __future__ import annotations

import pytest

import gpugraph as tf

ds = tf.distributions


@pytest.mark.parametrize(
    "create", [ds.Dirichlet, lambda c, **more: ds.DirichletMultinomial(3.0, c, **more)]
)
def test_a_concentration_is_over_two_classes_at_least(create):
    single = create([1.0], validate_args=True).mean()  # refused by the run, as in TensorFlow
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have event_size >= 2"):
            session.run(single)
    with pytest.raises(ValueError, match="must have >=1 dimensions"):
        create(1.0, validate_args=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="parameter must be positive"):
        create([1.0, 0.0], validate_args=True)
    create([1.0])
    create([1.0, 2.0], validate_args=True)


def test_a_size_that_the_run_knows_is_checked_there():
    concentration = tf.placeholder(tf.float32, [None])
    mean = ds.Dirichlet(concentration, validate_args=True).mean()
    with tf.Session() as session:
        assert list(session.run(mean, {concentration: [1, 1]})) == [0.5, 0.5]
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have event_size >= 2"):
            session.run(mean, {concentration: [1]})


@pytest.mark.parametrize(
    ("one", "zero", "name"), [(0.5, 2, "concentration1"), (2, 1, "concentration0")]
)
def test_mode_of_beta_names_the_concentration(one, zero, name):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Mode undefined for {name} <= 1"):
        with tf.Session() as session:
            session.run(ds.Beta(float(one), float(zero), allow_nan_stats=False).mode())


def test_shapes_of_parameters():
    names = {
        ds.Normal: ["loc", "scale"],
        ds.Uniform: ["low", "high"],
        ds.Gamma: ["concentration", "rate"],
        ds.StudentT: ["df", "loc", "scale"],
        ds.Laplace: ["loc", "scale"],
        ds.Exponential: ["rate"],
    }
    for cls, expected in names.items():
        static = cls.param_static_shapes([2, 3])
        assert list(static) == expected
        assert all(shape.as_list() == [2, 3] for shape in static.values())
    sizes = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
        shapes = session.run(ds.Normal.param_shapes(sizes), {sizes: [4, 5]})
    assert {name: list(shape) for name, shape in shapes.items()} == {"loc": [4, 5], "scale": [4, 5]}


def test_shapes_that_are_not_known_or_not_there():
    with pytest.raises(ValueError, match="TensorShape sample_shape must be fully defined"):
        ds.Normal.param_static_shapes(tf.TensorShape([None, 2]))
    with pytest.raises(ValueError, match="sample_shape must be a fully-defined TensorShape"):
        ds.Normal.param_static_shapes(tf.placeholder(tf.int32, [2]))
    with pytest.raises(NotImplementedError, match="_param_shapes not implemented"):
        ds.Dirichlet.param_shapes([2])
