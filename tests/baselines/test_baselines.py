"""Baselines on data whose equations are known: real PySINDy runs over their whole grids."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

import fepysr_dyn as fd
from fepysr_dyn.baselines import BASELINES, make_baseline, split_off
from fepysr_dyn.baselines.base import NOT_FITTED
from fepysr_dyn.baselines.grid import choose, saturated_error
from fepysr_dyn.baselines.pieces import pieces_of
from fepysr_dyn.baselines.splitting import part_of, split_inside, thinned
from fepysr_dyn.errors import DataError, MissingDependencyError, OptionError
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.simulation import resampled
from fepysr_dyn.trajectories import Trajectories, make_experiment
from fepysr_dyn.validation import validate

PREDATORS = system_from_toml("""
[states.x]
initial = 1.0
rate = "0.9*x - 0.5*x*y"
[states.y]
initial = 0.6
rate = "0.4*x*y - 0.7*y"
[protocol]
duration = 14
samples = 280
[[protocol.experiments]]
name = "first"
[[protocol.experiments]]
name = "second"
initial = { x = 2.0, y = 1.5 }
""")

STEPPED = system_from_toml("""
[states.x]
initial = 0.0
rate = "2*u - 1.5*x"
[inputs.u]
stimulus = { kind = "steps", times = [0, 1.03, 2.5, 3.2], values = [1, -2, 0.5, 1.5] }
[protocol]
duration = 4
samples = 400
""")


@pytest.fixture(scope="module")
def predators():
    return fd.simulate(PREDATORS)


def terms(rate):
    return {term.as_coeff_Mul()[1] for term in sympy.Add.make_args(rate)}


def test_quadratic_polynomials_recover_predators_and_prey(predators):
    found = make_baseline("sindy-poly2").fit(predators)
    x, y = sympy.symbols("x y")
    assert terms(found.system.rates["x"]) == {x, x * y}
    assert terms(found.system.rates["y"]) == {y, x * y}
    scores = validate(found.system, predators, truth=PREDATORS)
    assert scores.worst_nrmse < 1e-3
    assert all(score.precision == score.recall == 1.0 for score in scores.structure.values())
    assert float(found.system.rates["x"].coeff(x * y)) == pytest.approx(-0.5, rel=1e-4)


def test_the_whole_grid_is_kept_and_the_choice_is_its_best(predators):
    found = make_baseline("sindy-poly2").fit(predators)
    assert found.complete
    settings = [tuple(point.settings.items()) for point in found.grid]
    assert len(settings) == len(set(settings)) == 36
    assert {point.settings["threshold"] for point in found.grid} == {0.001, 0.003, 0.01, 0.03, 0.1, 0.3}
    chosen = next(point for point in found.grid if dict(point.settings) == found.settings)
    assert chosen.error <= max(1.1 * min(point.error for point in found.grid), 1e-4)
    # A threshold too large leaves other equations, which score worse.
    assert max(point.error for point in found.grid) > 100 * chosen.error


def test_no_derivative_looks_across_a_step():
    runs = fd.simulate(STEPPED)
    pieces = pieces_of(runs)
    assert [len(piece.times) for piece in pieces] == [103, 147, 70, 80]
    assert all(np.ptp(piece.inputs) == 0 for piece in pieces)
    found = make_baseline("sindy-poly1").fit(runs)
    x, u = sympy.symbols("x u")
    rate = found.system.rates["x"]
    assert terms(rate) == {x, u}
    assert (float(rate.coeff(x)), float(rate.coeff(u))) == pytest.approx((-1.5, 2.0), rel=1e-5)
    assert validate(found.system, runs).worst_nrmse < 1e-5


def test_the_weak_form_finds_the_step_response_despite_noise():
    runs = fd.simulate(STEPPED, noise=0.01, seed=1)
    found = make_baseline("sindy-weak").fit(runs)
    assert len(found.grid) == 72
    assert validate(found.system, fd.simulate(STEPPED)).worst_nrmse < 0.1


def test_a_blow_up_is_a_score():
    """Both settings run into a pole, the second after it has followed the data for a while."""
    x = sympy.Symbol("x")
    rates = {"early": x**3, "late": 1 + (x / sympy.Float(2.4)) ** 200}

    class Explosive:
        grid = ({"pole": "early"}, {"pole": "late"})

        def fit(self, settings):
            return {"x": rates[settings["pole"]]}

    times = np.linspace(0, 4, 100)
    run = make_experiment(times, {"x": 1 + times})
    found = choose("explosive", lambda *data: Explosive(), Trajectories((run,)))
    assert [point.outcome for point in found.grid] == ["blow-up", "blow-up"]
    assert all(point.r2 == -np.inf and point.message for point in found.grid)
    assert found.grid[1].error < found.grid[0].error <= 1.0
    assert found.settings == {"pole": "late"}
    assert not validate(found.system, Trajectories((run,))).reproduced


def test_a_setting_that_fails_is_an_outcome_and_not_an_error():
    class Broken:
        grid = ({"n": 1}, {"n": 2})

        def fit(self, settings):
            if settings["n"] == 1:
                raise np.linalg.LinAlgError("SVD did not converge\nmore")
            return {"x": -sympy.Symbol("x")}

    times = np.linspace(0, 2, 80)
    runs = Trajectories((make_experiment(times, {"x": np.exp(-times)}),))
    found = choose("broken", lambda *data: Broken(), runs)
    assert (found.grid[0].outcome, found.grid[0].message) == (NOT_FITTED, "SVD did not converge")
    assert found.grid[1].error < 1e-6
    assert found.settings == {"n": 2}


def test_exponentials_that_overflow_are_said_to_be_in_the_grid():
    times = np.linspace(0, 5, 60)
    runs = Trajectories((make_experiment(times, {"x": 5000 * np.exp(-times)}),))
    found = make_baseline("sindy-exp").fit(runs)
    overflowing = [point for point in found.grid if point.settings["units"] == "plain"]
    assert all(point.outcome == NOT_FITTED and "inf" in point.message for point in overflowing)
    assert validate(found.system, runs).reproduced


def test_the_time_limit_ends_the_grid(predators):
    found = make_baseline("sindy-poly1").fit(predators, time_limit=1e-9)
    assert not found.complete
    assert found.system is None
    assert "time limit" in found.message


def test_missing_values_and_uneven_times_are_taken():
    rng = np.random.default_rng(5)
    times = np.sort(rng.uniform(0, 4, 300))
    values = 2 * np.exp(-0.8 * times)
    values[rng.choice(300, 30, replace=False)] = np.nan
    runs = Trajectories((make_experiment(times, {"x": values}),))
    for name in ("sindy-poly1", "sindy-weak"):
        found = make_baseline(name).fit(runs)
        assert {point.settings.get("smoothing", 0) for point in found.grid} == {0}
        assert float(found.system.rates["x"].coeff(sympy.Symbol("x"))) == pytest.approx(-0.8, rel=1e-2)


def test_too_short_data_are_refused_in_one_line():
    times = np.linspace(0, 1, 12)
    runs = Trajectories((make_experiment(times, {"x": np.exp(-times)}),))
    for name in ("sindy-poly1", "sindy-weak"):
        found = make_baseline(name).fit(runs)
        assert found.system is None
        assert "expected at least 16 samples" in found.message
        assert "\n" not in found.message
    with pytest.raises(DataError, match="expected at least 8 samples with all states"):
        pieces_of(Trajectories((part_of(runs[0], slice(0, 5)),)))


def test_states_that_are_never_measured_together_are_refused():
    times = np.linspace(0, 1, 100)
    odd = np.arange(100) % 2 == 1
    run = make_experiment(times, {"x": np.where(odd, times, np.nan), "y": np.where(odd, np.nan, times)})
    found = make_baseline("sindy-poly1").fit(Trajectories((run, run.assign_attrs(name="again"))))
    assert found.system is None
    assert "found at most 0" in found.message


def test_the_last_experiment_or_the_end_of_a_single_one_is_held_out(predators):
    split = split_off(predators)
    assert (split.kind, len(split.training), split.held_out[0].attrs["name"]) == ("experiment", 1, "second")
    run = fd.simulate(STEPPED)[0]
    split = split_off(Trajectories((run,)))
    assert split.kind == "window"
    assert split.training[0].attrs["breakpoints"] == [1.03, 2.5]
    assert split.held_out[0].attrs["breakpoints"] == [3.2]
    whole = [*split.training[0]["time"].to_numpy(), *split.held_out[0]["time"].to_numpy()]
    np.testing.assert_array_equal(whole, run["time"])


def test_settings_are_compared_on_windows_of_few_experiments_or_on_one_of_many(predators):
    split = split_inside(predators, fd.estimate_derivatives(predators))
    assert (split.kind, len(split.training), len(split.held_out), len(split.initial)) == ("window", 4, 6, 6)
    first, second, whole = split.held_out.experiments[:3]
    for run, start in zip((first, second, predators[0]), split.initial, strict=False):
        np.testing.assert_allclose(start, [run["x"][0], run["y"][0]], rtol=1e-6)
    seen = [run.sizes["time"] for run in (*split.training.experiments[:2], first, second)]
    assert sum(seen) == whole.sizes["time"] == predators[0].sizes["time"]
    assert int(whole["x"].notnull().sum()) == first.sizes["time"] + second.sizes["time"]
    # The truth scores perfectly, and what was fitted on counts nowhere.
    scores = validate(PREDATORS, split.held_out, initial=split.initial)
    assert saturated_error(scores, split.held_out) < 1e-6
    third = predators[0].assign_attrs(name="third")
    split = split_inside(Trajectories((*predators, third)))
    assert (split.kind, len(split.training), split.held_out[0].attrs["name"]) == ("experiment", 2, "third")
    short = Trajectories((part_of(predators[0], slice(0, 20)),))
    assert [run.sizes["time"] for run in split_inside(short).training] == [12]


def test_thinning_keeps_the_levels_of_the_input():
    run = fd.simulate(STEPPED)[0]
    few = thinned(run, 20)
    assert few.sizes["time"] < 30
    assert validate(STEPPED, Trajectories((few,))).worst_nrmse < 1e-8


def test_the_error_saturates_and_counts_what_was_not_reached():
    run = make_experiment(np.linspace(0, 1, 5), {"x": np.array([0.0, 1.0, 0.0, 1.0, 0.0])})
    measured = Trajectories((run,))
    scores = validate(replace(STEPPED, rates={"x": sympy.Integer(0)}, inputs={}), measured)
    # Two of five samples are off by more than one standard deviation.
    assert saturated_error(scores, measured) == pytest.approx(np.sqrt(2 / 5))


def test_an_unknown_baseline_is_named_with_a_suggestion():
    with pytest.raises(OptionError, match="unknown baseline 'sindy-poly'; did you mean 'sindy-poly"):
        make_baseline("sindy-poly")


def test_sindy_pi_names_its_extra_where_cvxpy_is_missing(monkeypatch):
    import pysindy

    monkeypatch.delattr(pysindy, "SINDyPI", raising=False)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fepysr-dyn\[sindy-pi\]'"):
        make_baseline("sindy-pi")


def test_sindy_pi_solves_a_rational_law_for_the_derivative():
    pytest.importorskip("cvxpy")
    system = resampled(fd.load_model("michaelis_menten"), samples=200)
    runs = fd.simulate(system)
    found = make_baseline("sindy-pi").fit(runs)
    assert validate(found.system, runs).worst_nrmse < 1e-2


def test_every_name_is_the_name_of_its_baseline():
    for name in BASELINES:
        if name != "sindy-pi":
            assert make_baseline(name).name == name
