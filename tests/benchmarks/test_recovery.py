import json

import numpy as np
import pytest
import sympy

from fepysr_dyn.benchmarks import recovery
from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.recovery import Job, main, pending, read_lines, recovered
from fepysr_dyn.expressions import parse


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Nguyen-1", "x*(x**2 + x + 1)", True),
        ("Nguyen-1", "x**3 + x**2 + 0.999*x", False),
        ("Nguyen-5", "sin(x**2)*cos(x) - 1.0000000001", True),
        ("Livermore-7", "0.5*exp(x) - 0.5*exp(-x)", True),
        ("Livermore-7", "x + x**3/6 + x**5/120", False),
        ("Nguyen-8", "exp(log(x)/2)", True),
        ("Nguyen-8''", "x**(2/3)", True),
        ("Recover-16", "1/(1 + exp(y - x - 1)) - x", True),
        ("Unrecover-32", "x", False),
        ("tyson-X1", "1/(1 + 0.7788007830714049*exp(X2 - S)) - X1", True),
        ("tyson-X1", "0.249*S - X1 - 0.249*X2 + 0.562", False),
    ],
)
def test_recovery_is_equality_on_a_wider_box(name, text, expected):
    (problem,) = load_problems(name)
    assert recovered(parse(text), problem) is expected


def test_with_noise_the_structure_counts():
    (problem,) = load_problems("Recover-7")
    assert recovered(parse("1.97*x**4 + 2.03*y**4 - 6.1*x**2*y**2"), problem, noisy=True)
    assert recovered(parse("2*x**4 + 2*y**4 - 25*x**2*y**2/4"), problem, noisy=True)
    assert not recovered(parse("1.97*x**4 + 2.03*y**4 - 6.1*x**2*y**2 + 0.1*x"), problem, noisy=True)
    assert not recovered(parse("1.97*x**4 - 6.1*x**2*y**2"), problem, noisy=True)
    assert not recovered(parse("1.97*x**4 + 2.03*y**4 - 6.1*x**2*y**2"), problem, noisy=False)


def test_the_paper_s_own_lines_are_not_recovered():
    """A straight line fits the Tyson data to 1e-10 and is still wrong."""
    (problem,) = load_problems("tyson-X1")
    columns, target = problem.sample(0)
    design = np.column_stack([*columns.values(), np.ones(len(target))])
    best = np.linalg.lstsq(design, target)[0]
    names = [sympy.Symbol(name) for name in columns]
    line = sum(float(c) * name for c, name in zip(best, names, strict=False)) + float(best[-1])
    assert np.mean((design @ best - target) ** 2) < 1e-8
    assert not recovered(line, problem)


def test_a_table_is_resumed(tmp_path, monkeypatch, capsys):
    done = []

    def fake(job, threads):
        done.append(job)
        line = {"recovered": True, "expression": "x", "seconds": 1.0, "on_front": True, "mse": 0.0}
        return {**job.__dict__, **line}

    monkeypatch.setattr(recovery, "run_job", fake)
    out = tmp_path / "lines.jsonl"
    call = ["--suite", "Nguyen-1,Nguyen-2", "--runs", "2", "--cap", "5", "--out", str(out)]
    assert main(call) == 0
    assert len(done) == 4
    with out.open("a") as stream:
        stream.write('{"problem": "cut o')
    assert main(call) == 0
    assert len(done) == 4
    assert len(read_lines(out)) == 4
    table = capsys.readouterr().out
    assert "Nguyen-2" in table
    assert "mean recovery 100.0 % of 2 problems, 4 fits" in table


def test_a_crash_is_a_line(tmp_path, monkeypatch, capsys):
    def crash(job, threads):
        raise RuntimeError("boom")

    monkeypatch.setattr(recovery, "run_job", crash)
    out = tmp_path / "lines.jsonl"
    main(["--suite", "Nguyen-1", "--out", str(out)])
    assert "boom" in json.loads(out.read_text())["error"]
    assert "1 fits failed" in capsys.readouterr().out


def test_every_setting_is_part_of_the_key():
    job = Job("Nguyen-1", 0, "portfolio", True, 0.0, 60.0)
    others = [
        Job("Nguyen-1", 1, "portfolio", True, 0.0, 60.0),
        Job("Nguyen-1", 0, "sparse", True, 0.0, 60.0),
        Job("Nguyen-1", 0, "portfolio", False, 0.0, 60.0),
        Job("Nguyen-1", 0, "portfolio", True, 0.1, 60.0),
        Job("Nguyen-1", 0, "portfolio", True, 0.0, 30.0),
    ]
    assert pending([job, *others], [job.__dict__]) == others


def test_one_real_fit(tmp_path, capsys):
    main(["--suite", "Nguyen-1", "--cap", "20", "--engine", "sparse", "--no-features"])
    assert "mean recovery 100.0 %" in capsys.readouterr().out
