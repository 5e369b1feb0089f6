"""A search engine of your own: anything with a name and a search method joins the portfolio."""

import numpy as np
import sympy

from fepysr_dyn import FePySR
from fepysr_dyn.search import ParetoFront, RegressionProblem, Runtime
from fepysr_dyn.search.portfolio import Portfolio
from fepysr_dyn.search.refit import refit_candidate
from fepysr_dyn.search.sparse import SparseEngine


class HillEngine:
    """Tries one Hill term per variable, for every whole exponent up to six."""

    name = "hill"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the best Hill terms found."""
        candidates = []
        for name in problem.names:
            x = sympy.Symbol(name)
            half = sympy.Float(float(np.median(problem.columns[name])))
            for n in range(1, 7):
                start = sympy.Float(problem.scale) * x**n / (half**n + x**n)
                candidates.append(refit_candidate(start, problem, self.name))
        return ParetoFront.of(candidates)


random = np.random.default_rng(0)
dose = random.uniform(0.1, 4.0, (80, 1))
response = 2.5 * dose[:, 0] ** 3 / (1.3**3 + dose[:, 0] ** 3)

model = FePySR(engine=Portfolio([SparseEngine(), HillEngine()]), features=None, time_limit=20)
model.fit(dose, response)
print(model.expression_)
print(f"R² = {model.score(dose, response):.6f}")
