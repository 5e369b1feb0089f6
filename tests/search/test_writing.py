import pytest

from fepysr_dyn.expressions import complexity, equivalent, parse
from fepysr_dyn.search.writing import shortest


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("0.5*sin(x**2 - x) + 0.5*sin(x**2 + x) + y", "sin(x**2)*cos(x) + y"),
        ("sin(x + y) - sin(x - y)", "2*cos(x)*sin(y)"),
        ("3.0*cos(x + y) + 3.0*cos(x - y)", "6*cos(x)*cos(y)"),
        ("0.7*cos(x + y) - 0.7*cos(x - y)", "-1.4*sin(x)*sin(y)"),
        ("exp(x)*exp(-y)*y", "exp(x - y)*y"),
        ("2*x**2*z + 2*y**2*z", "2*z*(x**2 + y**2)"),
    ],
)
def test_the_same_function_written_shorter(text, short):
    before, after = parse(text), shortest(parse(text))
    assert equivalent(before, after, rtol=1e-12)
    assert complexity(after) <= complexity(parse(short)) < complexity(before)


@pytest.mark.parametrize("text", ["sin(x) + sin(y**2)", "x**3 + x", "1/(x + 1)", "0.5*sin(x) + 0.6*sin(y)"])
def test_what_is_short_stays(text):
    assert shortest(parse(text)) == parse(text)
