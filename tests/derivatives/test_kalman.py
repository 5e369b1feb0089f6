"""The compiled filter, its gradient and the smoother against dense linear algebra."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from fepysr_dyn.derivatives.base import make_series
from fepysr_dyn.derivatives.chains import WienerModel, evaluate, make_chain, smooth
from fepysr_dyn.derivatives.gaussian_process import left_out_score

UNINFORMED = 30.0


def _chain(seed=0, breakpoints=(1.3,), n=25):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 3, n))
    x = rng.normal(size=n)
    x[[4, 11]] = np.nan
    return make_chain(make_series(t, x, breakpoints)), rng


def _model(chain, q, rng):
    return WienerModel(q, 0.7, 0.3, np.exp(rng.normal(size=len(chain.steps))), UNINFORMED)


def _dense(chain, model):
    """Return the covariance of all states along the chain, written down step by step."""
    d, n = model.q + 1, len(chain.steps)
    i = np.arange(d)
    fact = np.array([factorial(model.q - k) for k in i])
    joint = np.zeros((n * d, n * d))
    for k in range(n):
        rows = slice(k * d, (k + 1) * d)
        if chain.jumps[k] == 2:
            joint[rows, rows] = UNINFORMED**2 * np.eye(d)
            continue
        u = chain.steps[k] / model.scale
        A = np.array([[u ** (b - a) / factorial(b - a) if b >= a else 0 for b in i] for a in i])
        power = 2 * model.q + 1 - i[:, None] - i[None, :]
        Q = model.diffusions[k] * u**power / power / fact[:, None] / fact[None, :]
        if chain.jumps[k] == 1:
            Q = Q + UNINFORMED**2 * np.diag([0.0] + [1.0] * model.q)
        before = slice((k - 1) * d, k * d)
        joint[rows, : k * d] = A @ joint[before, : k * d]
        joint[: k * d, rows] = joint[rows, : k * d].T
        joint[rows, rows] = A @ joint[before, before] @ A.T + Q
    return joint


@pytest.mark.parametrize("q", [1, 2, 3, 4])
@pytest.mark.parametrize("breakpoints", [(), (1.3,), (1.3, 1.300001)])
def test_against_dense_gaussian_conditioning(q, breakpoints):
    chain, rng = _chain(breakpoints=breakpoints)
    model = _model(chain, q, rng)
    joint = _dense(chain, model)
    d = q + 1
    seen = np.flatnonzero(chain.seen) * d
    F = joint[np.ix_(seen, seen)] + model.noise * np.eye(len(seen))
    y = chain.observed[chain.seen]
    gain = np.linalg.solve(F, joint[seen]).T
    mean = gain @ y
    variance = np.diag(joint - gain @ joint[seen])
    values, values_se, rates, rates_se = smooth(chain, model)
    np.testing.assert_allclose((values - chain.offset) / chain.unit, mean[::d], atol=1e-8)
    np.testing.assert_allclose(rates * model.scale / chain.unit, mean[1::d], atol=1e-7)
    np.testing.assert_allclose(values_se / chain.unit, np.sqrt(variance[::d]), rtol=1e-5)
    np.testing.assert_allclose(rates_se * model.scale / chain.unit, np.sqrt(variance[1::d]), rtol=1e-5)
    walk = evaluate(chain, model)
    likelihood = -0.5 * (np.linalg.slogdet(F)[1] + y @ np.linalg.solve(F, y))
    fresh, bent = np.sum(chain.jumps == 2), np.sum(chain.jumps == 1)
    unknown = fresh * d + bent * q
    powers = (fresh + bent) * q * d / 2
    expected = likelihood + unknown * np.log(UNINFORMED) - powers * np.log(model.scale)
    assert walk.restricted == pytest.approx(expected, abs=1e-7)
    precision = np.linalg.inv(F)
    np.testing.assert_allclose(walk.misses[chain.seen], precision @ y, atol=1e-7)
    np.testing.assert_allclose(walk.precisions[chain.seen], np.diag(precision), rtol=1e-6)
    left = 1 / np.diag(precision)
    miss = (precision @ y) * left
    score = np.sum(-0.5 * np.log(left) - 0.5 * miss**2 / left)
    assert left_out_score(chain, model, values, values_se) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("q", [1, 2, 3, 4])
def test_gradient_of_the_likelihood(q):
    chain, rng = _chain(seed=1)
    model = _model(chain, q, rng)
    walk = evaluate(chain, model)
    step = 1e-5

    def likelihood(noise=0.0, node=None):
        diffusions = model.diffusions.copy()
        if node is not None:
            diffusions[node] *= np.exp(noise)
            noise = 0.0
        changed = WienerModel(q, model.scale, model.noise * np.exp(noise), diffusions, UNINFORMED)
        return evaluate(chain, changed, backward=False).restricted

    by_noise = (likelihood(step) - likelihood(-step)) / (2 * step)
    assert walk.by_noise == pytest.approx(by_noise, abs=1e-6)
    for node in (1, 7, int(np.flatnonzero(chain.jumps == 1)[0]), len(chain.steps) - 1):
        found = (likelihood(step, node) - likelihood(-step, node)) / (2 * step)
        assert walk.by_diffusion[node] == pytest.approx(found, abs=1e-6)


def test_the_restricted_likelihood_does_not_depend_on_how_little_was_known():
    chain, rng = _chain(seed=2, n=60)
    diffusions = np.exp(rng.normal(size=len(chain.steps)))
    for q in (1, 2, 3):
        found = [
            evaluate(chain, WienerModel(q, 0.7, 0.3, diffusions, sd), backward=False).restricted
            for sd in (1e5, 1e6, 1e7)
        ]
        np.testing.assert_allclose(found, found[-1], atol=1e-3)


def test_a_breakpoint_between_samples_and_one_at_a_sample():
    t = np.linspace(0, 1, 11)
    between = make_chain(make_series(t, t, [0.55]))
    assert between.samples.tolist().count(-1) == 1
    assert between.jumps[between.samples == -1] == 1
    at = make_chain(make_series(t, t, [t[5]]))
    assert (at.samples >= 0).all()
    assert at.jumps[5] == 1
    apart = make_chain(make_series(t, t, [0.55]), linked=False)
    assert apart.samples.tolist().count(-1) == 2
    assert sorted(apart.jumps[apart.samples == -1]) == [0, 2]
