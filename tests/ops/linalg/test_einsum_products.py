"""Equations of two inputs as matrix products of views."""

from __future__ import annotations

import numpy as np
import pytest

from gpugraph.ops.linalg.einsum_products import matrices_of

PRODUCTS = {
    "ij,jk->ik": [(5, 3), (3, 2)],
    "BTNH,BSNH->BNTS": [(2, 5, 3, 4), (2, 6, 3, 4)],
    "BNTS,BSNH->BTNH": [(2, 3, 5, 6), (2, 6, 3, 4)],
    "BTD,DNH->BTNH": [(2, 5, 8), (8, 3, 4)],
    "BTNH,NHD->BTD": [(2, 5, 3, 4), (3, 4, 7)],
    "...ij,...jk->...ik": [(2, 3, 4, 5), (2, 3, 5, 6)],
    "...ij,jk->...ik": [(2, 3, 4, 5), (5, 6)],
    "ij,j->i": [(3, 4), (4,)],
    "i,j->ij": [(3,), (4,)],
    "ij,ki->jk": [(3, 4), (5, 3)],
    "ij,jk->ki": [(3, 4), (4, 5)],
    "ab,cdb->dac": [(3, 4), (2, 5, 4)],
}
OTHERS = {
    "ab,ab->": [(3, 4), (3, 4)],
    "bij,bij->bi": [(2, 3, 4), (2, 3, 4)],
    "ii,ij->ij": [(3, 3), (3, 4)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "ij,k->i": [(2, 3), (4,)],
    "ajb,bkj->ak": [(2, 3, 4), (4, 5, 3)],
    "...i,...i->...i": [(2, 3), (1, 3)],
}


def views(equation, shapes):
    random = np.random.default_rng(0)
    inputs, output = equation.replace("...", ".").split("->")
    arrays = [random.random(shape) for shape in shapes]
    try:
        expected = np.einsum(equation, *arrays)
    except ValueError:
        expected = np.zeros([2] * len(output))
    out = np.zeros(expected.shape)
    return matrices_of(inputs.split(","), output, *arrays, out), out, expected


@pytest.mark.parametrize("equation", PRODUCTS)
def test_views_of_products(equation):
    ((a, b, product),), out, expected = views(equation, PRODUCTS[equation])
    np.matmul(a, b, out=product)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("equation", OTHERS)
def test_equations_that_are_no_products(equation):
    with pytest.raises(NotImplementedError):
        views(equation, OTHERS[equation])
