"""The answers every search starts from: a constant and the linear fits."""

from __future__ import annotations

import numpy as np
import sympy

from fepysr_dyn.expressions import complexity
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import refit_candidate


def baseline(problem: RegressionProblem) -> ParetoFront:
    """Return the mean, the lines in one variable and the plane in all, as far as they are allowed.

    Examples
    --------
    >>> x = np.linspace(0, 1, 9)
    >>> [c.expression for c in baseline(RegressionProblem({"x": x}, 2 * x))][-1]
    2.0*x
    """
    mean = sympy.Float(float(np.mean(problem.target)) or 0.0)
    slope = sympy.Float(problem.scale)
    symbols = [sympy.Symbol(name) for name in problem.names]
    forms = [mean, *symbols, *(slope * symbol for symbol in symbols)]
    forms += [slope * symbol + mean for symbol in symbols]
    if len(symbols) < len(problem.target) // 2:
        forms.append(sympy.Add(mean, *(slope * symbol for symbol in symbols)))
    allowed = [form for form in forms if uses_only(form, problem.operators)]
    fits = [refit_candidate(form, problem, "baseline") for form in allowed or [mean]]
    small = [fit for fit in fits if complexity(fit.expression) <= problem.max_complexity]
    return ParetoFront.of(small or fits[:1])
