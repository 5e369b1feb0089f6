"""Stage 2: engines that search expressions over variables and features, and the Pareto front."""

from fepysr_dyn.search.front import Candidate, ParetoFront, evaluate_candidate
from fepysr_dyn.search.problem import Budget, Progress, RegressionProblem, Runtime, SearchEngine

__all__ = [
    "Budget",
    "Candidate",
    "ParetoFront",
    "Progress",
    "RegressionProblem",
    "Runtime",
    "SearchEngine",
    "evaluate_candidate",
]
