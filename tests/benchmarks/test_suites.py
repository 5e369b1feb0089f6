"""Tables on lines made by hand: counts, the paper's figures beside ours, goals, failures."""

import json

import pytest

from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.suites.base import Plan, goal
from fepysr_dyn.benchmarks.suites.registry import SUITES, load_suite
from fepysr_dyn.benchmarks.table import Table, cell, write_tables
from fepysr_dyn.errors import OptionError

BASELINES = ("sindy-poly1", "sindy-poly2")


def fit(problem, seed=0, recovered=True, **more):
    common = {"engine": "portfolio", "features": True, "noise": 0.0, "cap": 60.0}
    found = {"recovered": recovered, "on_front": True, "seconds": 2.0, "mse": 0.0, "front_mse": 0.0}
    return {"problem": problem, "seed": seed, **common, **found, **more}


def rows_of(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def default_plan(suite, **changes):
    options = {"runs": suite.runs, "cap": suite.cap or 0.0, "noise": suite.noise}
    return Plan(**{**options, **changes})


@pytest.mark.parametrize("name", SUITES)
def test_units_of_every_suite_are_different_and_have_a_task(name):
    import importlib

    suite = load_suite(name)
    units = suite.units(default_plan(suite))
    assert suite.name == name
    assert len({json.dumps(unit.to_line(), sort_keys=True) for unit in units}) == len(units) > 0
    assert all(unit.suite == name for unit in units)
    module, function = suite.task.split(":")
    assert callable(getattr(importlib.import_module(module), function))
    one = suite.units(default_plan(suite, only=(units[0].problem,)))
    assert {unit.problem for unit in one} == {units[0].problem}
    with pytest.raises(OptionError, match="no problem 'nonsense'"):
        suite.units(default_plan(suite, only=("nonsense",)))


def test_one_side_of_a_suite_is_chosen_by_its_setting():
    suite = load_suite("odes")
    plan = default_plan(suite, where=(("side", "pysindy"), ("noise", "0.05")))
    chosen = suite.planned(plan)
    assert {(unit.setting["side"], unit.setting["noise"]) for unit in chosen} == {("pysindy", 0.05)}
    assert 6 * len(chosen) == len(suite.planned(default_plan(suite)))
    with pytest.raises(OptionError, match=r"no setting .sides. .* did you mean .side."):
        suite.planned(default_plan(suite, where=(("sides", "pysindy"),)))
    with pytest.raises(OptionError, match="expected one of fepysr-dyn, pysindy, found 'sindy'"):
        suite.planned(default_plan(suite, where=(("side", "sindy"),)))


@pytest.mark.parametrize("name", SUITES)
def test_tables_of_a_suite_in_which_everything_failed(name):
    suite = load_suite(name)
    units = suite.units(default_plan(suite))[:3]
    lines = [
        {**unit.to_line(), "error": "hung: no answer after 60 s", "wall_seconds": 60.0} for unit in units
    ]
    for table in suite.tables(lines):
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert isinstance(suite.headline(lines), str)


@pytest.mark.parametrize(
    ("suite", "count"),
    [("standard", 57 * 3), ("recover", 36 * 3), ("unrecover", 39), ("tyson", 40), ("noise", 12 * 3 * 2)],
)
def test_numbers_of_units(suite, count):
    chosen = load_suite(suite)
    assert len(chosen.units(default_plan(chosen))) == count


def test_recovery_stands_beside_the_paper():
    lines = [fit("Recover-3", seed, recovered=seed != 2) for seed in range(3)]
    lines += [fit("Recover-6", seed, seconds=12.0) for seed in range(3)]
    summary, problems = load_suite("recover").tables(lines)
    (row,) = rows_of(summary)
    assert row["recovered %"] == pytest.approx(83.3)
    assert row["of all fits, 95 % interval"] == "83.3 % [43.6, 97.0]"
    assert row["paper %"] == pytest.approx(57.0)
    assert row["median s to it"] == 12.0
    assert rows_of(problems)[0]["recovered"] == "2/3"
    assert rows_of(problems)[0]["paper %"] == 14.0
    notes = " ".join(summary.notes)
    assert "mean recovery in % at least 92, found 83.33: missed" in notes
    assert "34 problems of the suite have no line yet" in notes
    assert "6 units; seeds 0 to 2; cap 60 s" in notes


def test_the_paper_s_means_over_all_equations():
    """Recomputed from its rows: 83.0 % on Recover and 84.1 % on the standard equations."""
    for suite, mean, pysr in (("recover", 83.0, 20.2), ("standard", 84.1, 72.5)):
        summary, _ = load_suite(suite).tables([fit(problem.id) for problem in load_problems(suite)])
        last = rows_of(summary)[-1]
        assert (last["paper %"], last["PySR %"]) == pytest.approx((mean, pysr), abs=0.06)


def test_smallest_errors_against_the_paper():
    limit = load_problems("Unrecover-5")[0].paper["min_mse"]["fepysr"]
    lines = [
        fit("Unrecover-5", 0, recovered=False, mse=2 * limit, front_mse=0.5 * limit),
        fit("Unrecover-5", 1, recovered=False, mse=0.9 * limit, front_mse=0.5 * limit),
        fit("Unrecover-6", 0, recovered=False, mse=1e9, front_mse=1e9),
    ]
    summary, problems = load_suite("unrecover").tables(lines)
    assert [row[1] for row in summary.rows] == [1, 1, 0]
    assert rows_of(problems)[0]["ours / paper's"] == pytest.approx(0.9)


def test_the_case_study_is_judged_from_its_formulas():
    right, wrong = "1/(1 + exp(X2 - S - 0.25)) - X1", "0.249*S - X1 - 0.249*X2 + 0.562"
    lines = [
        fit("tyson-X1", 0, expression=right, mse=1e-30),
        fit("tyson-X1", 1, expression=wrong, mse=1e-31),
    ]
    (table,) = load_suite("tyson").tables(lines)
    ours, paper, pysr = rows_of(table)
    assert (ours["recovered"], ours["best formula"]) == ("1/2", right)
    assert (paper["recovered"], paper["smallest MSE"]) == ("24/100", 7.04e-16)
    assert pysr["recovered"] == "0/100"


def test_noise_level_by_level():
    lines = [
        fit("Recover-1", noise=level, recovered=level < 0.1, efr=0.2, dcg1=2.0, dcg2=9.0, valid_features=kept)
        for level, kept in ((0.0, ["x**2", "x**3"]), (0.02, ["x**2"]), (0.1, ["x**3", "x**2", "x"]))
    ]
    summary, recovery, efr, _, _ = load_suite("noise").tables(lines)
    assert [row["paper %"] for row in rows_of(summary)] == [100.0, 0.0, 0.0]
    assert [row["valid features kept"] for row in rows_of(summary)] == [1.0, 0.5, 1.0]
    assert recovery.rows[0] == ("Recover-1", "1/1 (100 %)", "1/1 (0 %)", "0/1 (0 %)")
    assert efr.rows[0][1] == "0.2 (0.1703)"
    assert "share recovered at α = 0.1 at least 0.35, found 0: missed" in " ".join(summary.notes)


def test_features_by_number():
    lines = [
        fit("Recover-10", top=top, features_used=top, valid_used=2, loss=1e-30, seconds=float(top))
        for top in (4, 5)
    ]
    summary, problems = load_suite("features").tables(lines)
    assert [row["valid share"] for row in rows_of(summary)] == [0.5, 0.4]
    assert [row["paper %"] for row in rows_of(problems)] == [100.0, 98.0]


def test_what_stage_one_adds():
    lines = [
        fit("Recover-1", engine="sparse", features=True, recovered=False),
        fit("Recover-1", engine="sparse", features=False, recovered=True),
        fit("Recover-4", engine="sparse", features=True, recovered=True),
        fit("Recover-4", engine="sparse", features=False, recovered=False),
        fit("Recover-5", engine="sparse", features=True, recovered=True),
    ]
    summary, _ = load_suite("ablation").tables(lines)
    (row,) = rows_of(summary)
    assert (row["with stage 1"], row["without"]) == ("2/3", "1/2")
    assert (row["only with"], row["only without"]) == (1, 1)


def system(name, ours, baselines, states, noise=0.0):
    scores = dict(zip(("fepysr-dyn", *BASELINES), (ours, *baselines), strict=True))
    methods = {
        method: {
            "reconstruction": {"r2": value, "nrmse": 0.1, "outcome": "complete"},
            "generalization": None if value is None else {"r2": value, "nrmse": 0.1, "outcome": "complete"},
            "recovered": 0,
            "seconds": 1.0,
        }
        for method, value in scores.items()
    }
    found = {
        f"x{i}": {"confidence": confidence, "recovered": right, "same_structure": right}
        for i, (confidence, right) in enumerate(states)
    }
    common = {"problem": name, "seed": 0, "noise": noise, "cap": 30.0, "seconds": 20.0}
    return {**common, "states": found, "methods": methods}


def test_reference_systems():
    lines = [
        system("a", 1.0, (0.95, None), [(1.0, True), (0.95, True)]),
        system("b", 0.5, (0.6, 0.97), [(0.92, False), (0.3, False)]),
        {"problem": "c", "seed": 0, "noise": 0.0, "cap": 30.0, "error": "hung"},
    ]
    shares, methods, calibration, systems = load_suite("odes").tables(lines)
    (row,) = rows_of(shares)
    assert row["recovered"].startswith("50.0 %"), "2 of 4 equations; a failed system has none"
    assert row["generalization R² > 0.9"].startswith("33.3 %")
    assert row["best PySINDy there"] == "sindy-poly1 33.3 %"
    assert row["below PySINDy"] == 1
    assert "reconstruction below the best baseline: b." in " ".join(shares.notes)
    assert [row[1:3] for row in calibration.rows] == [(1, 0), (0, 0), (0, 0), (3, 2)]
    assert "found 0.6667: missed" in calibration.notes[0]
    assert [row[0] for row in methods.rows] == ["fepysr-dyn", *BASELINES]
    assert rows_of(systems)[1]["which"] == "sindy-poly2"


def test_both_sides_of_a_reference_system_meet_in_one_row():
    whole = system("a", 1.0, (0.95, None), [(1.0, True)])
    ours = {**whole, "side": "fepysr-dyn", "methods": {"fepysr-dyn": whole["methods"]["fepysr-dyn"]}}
    others = {name: scores for name, scores in whole["methods"].items() if name != "fepysr-dyn"}
    peers = {"problem": "a", "seed": 0, "noise": 0.0, "cap": 30.0, "side": "pysindy", "methods": others}
    tables = load_suite("odes").tables
    assert [table.rows for table in tables([peers, ours])] == [table.rows for table in tables([whole])]
    failed = {**peers, "methods": {}, "error": "hung"}
    (row,) = rows_of(tables([ours, failed])[0])
    assert row["generalization R² > 0.9"].startswith("100.0 %")
    assert row["best PySINDy there"] is None


def test_the_first_of_three_tools():
    lines = [
        {"problem": "Recover-1", "seed": 0, "tool": tool, "cap": 9.0, "recovered": good, "seconds": seconds}
        for tool, good, seconds in (
            ("fepysr_dyn", True, 2.0),
            ("pyoperon", True, 3.0),
            ("gplearn", False, 0.1),
        )
    ]
    lines += [{**lines[1], "problem": "Recover-2"}]
    rates = [{"problem": "evaluations", "seed": 0, "tool": "fepysr_dyn", "rows": 500, "rate": 1e5}]
    rate_table, summary, times = load_suite("engine-speed").tables(lines + rates)
    assert rate_table.rows == (("fepysr_dyn", 100_000, None),)
    assert "first on 1 of the 2 that any tool solves" in summary.notes[0]
    assert times.rows[0][2:] == (2.0, 3.0, None)


def test_files_of_tables(tmp_path):
    tables = [
        Table("one", "First", ("a", "b"), ((1, None), ("x|y", 0.123456789)), ("A note.",)),
        Table("two", "Second", ("c",), ((True,),)),
    ]
    assert write_tables(tables, tmp_path / "t.md") == [tmp_path / "t.md"]
    text = (tmp_path / "t.md").read_text()
    assert "| x\\|y | 0.1235 |" in text
    assert "A note." in text
    names = [path.name for path in write_tables(tables, tmp_path / "t.csv")]
    assert names == ["t-one.csv", "t-two.csv"]
    assert (tmp_path / "t-one.csv").read_text() == "a,b\n1,\nx|y,0.123456789\n"
    write_tables(tables, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())[0]["rows"][0] == {"a": 1, "b": None}
    with pytest.raises(OptionError, match=r"\.md, \.csv, \.json"):
        write_tables(tables, tmp_path / "t.txt")
    assert cell(False) == "no"


def test_goals():
    assert goal("x", 2.0, at_most=3).endswith("met.")
    assert goal("x", 4.0, at_most=3).endswith("missed.")
    assert "nothing found yet" in goal("x", None, at_least=1)
