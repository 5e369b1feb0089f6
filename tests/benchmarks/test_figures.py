"""Every figure is drawn from lines made by hand, and shows what they say."""

import io

import numpy as np
import pytest

from fepysr_dyn.benchmarks.suites.registry import load_suite

FIT = {"seed": 0, "engine": "portfolio", "features": True, "noise": 0.0, "cap": 60.0, "seconds": 2.0}
METRICS = {"efr": 0.2, "dcg1": 3.0, "dcg2": 300.0}


def fit(problem, recovered=True, **more):
    return {"problem": problem, **FIT, "recovered": recovered, "mse": 0.0, "front_mse": 0.0, **more}


def draw(suite, lines):
    ((name, figure),) = load_suite(suite).figures(lines).items()
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    assert len(stream.getvalue()) > 10_000
    assert name == suite
    return figure


def test_recovery_bars_have_the_heights_of_the_rates():
    lines = [fit("Recover-3", recovered=seed == 0, seed=seed) for seed in range(2)] + [fit("Recover-6")]
    panel = draw("recover", lines).axes[0]
    ours, paper, pysr = (
        [bar.get_height() for bar in container]
        for container in panel.containers
        if hasattr(container, "patches")
    )
    assert ours == [50.0, 100.0]
    assert paper == pytest.approx([14.0, 100.0])
    assert pysr == [0.0, 0.0]


def test_error_ratios_also_of_a_problem_without_any_result():
    lines = [fit("Unrecover-5", recovered=False, mse=0.06), fit("Unrecover-6"), fit("Unrecover-7", False)]
    del lines[2]["mse"]
    panel = draw("unrecover", lines).axes[0]
    marks = {line.get_label(): line.get_ydata() for line in panel.lines}
    assert marks["fepysr-dyn, lower error"] == pytest.approx([0.5])
    assert len(marks["fepysr-dyn, recovered"]) == 1


def test_noise_and_a_level_without_metrics():
    lines = [fit("Recover-1", noise=level, recovered=level < 0.1, **METRICS) for level in (0.0, 0.02, 0.1)]
    panels = draw("noise", lines).axes
    assert list(panels[0].lines[0].get_ydata()) == [100.0, 100.0, 0.0]
    assert list(panels[1].lines[0].get_ydata()) == [1.0, 1.0, 1.0]
    draw("noise", [fit("Recover-1", noise=0.02)])


def test_loss_curves_only_fall():
    curve = [[0.5, 0.1], [1.0, 1e-9], [2.0, 0.0]]
    lines = [fit(name, top=top, curve=curve) for name in ("Recover-1", "Recover-4") for top in (4, 5)]
    for panel in draw("features", lines).axes[:2]:
        for line in panel.lines:
            assert np.all(np.diff(line.get_ydata()) <= 0)


def test_the_case_study_is_integrated_again():
    right = {"tyson-X1": "1/(1 + exp(X2 - S - 0.25)) - X1", "tyson-X2": "1/(1 + exp(0.15 - 0.5*X1)) - X2"}
    figure = draw("tyson", [fit(name, expression=text) for name, text in right.items()])
    ours, printed = (line.get_ydata() for line in figure.axes[4].lines)
    assert np.max(ours) < 1e-9
    assert 1e-5 < np.max(printed) < 1e-2


def test_reference_systems():
    scores = {"r2": 0.95, "nrmse": 0.1, "outcome": "complete"}
    method = {"reconstruction": scores, "generalization": scores, "recovered": 1, "seconds": 1.0}
    state = {"confidence": 0.95, "recovered": True, "same_structure": True}
    line = {
        "problem": "a",
        **FIT,
        "states": {"x": state},
        "methods": {"fepysr-dyn": method, "sindy-poly2": {**method, "generalization": None}},
    }
    draw("odes", [line, {"problem": "b", **FIT, "error": "hung"}])
