"""How good a ranked list is: EFR, DCG-1 and DCG-2.

The definitions printed in the paper divide the valid frequency by that of the whole list and discount by the
binary logarithm; its tables are reproduced by dividing by all unit outputs and by the natural logarithm. Both
are offered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RankingScores:
    """Scores of one ranked list.

    Parameters
    ----------
    efr : float
        Share of the occurrences that are valid.
    dcg1, dcg2 : float
        Discounted sum of the valid ranks, unweighted and weighted by occurrences.
    valid : int
        Number of valid features.
    """

    efr: float
    dcg1: float
    dcg2: float
    valid: int


def score_ranking(
    counts: Sequence[int], valid: Sequence[bool], *, unit_outputs: int | None = None, base: float = 2.0
) -> RankingScores:
    """Score a ranked list.

    Parameters
    ----------
    counts : sequence of int
        Occurrences, in order of rank.
    valid : sequence of bool
        Validity, in order of rank.
    unit_outputs : int, optional
        Denominator of EFR; the occurrences of the list itself if not given.
    base : float
        Base of the logarithm; ``math.e`` with `unit_outputs` reproduces the tables of the paper.

    Examples
    --------
    >>> score_ranking([3, 1], [True, False])
    RankingScores(efr=0.75, dcg1=1.0, dcg2=3.0, valid=1)
    """
    discounts = [math.log(rank + 1, base) for rank in range(1, len(counts) + 1)]
    rows = list(zip(counts, valid, discounts, strict=True))
    total = unit_outputs if unit_outputs is not None else sum(counts)
    return RankingScores(
        efr=sum(count for count, good, _ in rows if good) / total if total else 0.0,
        dcg1=sum(1 / discount for _, good, discount in rows if good),
        dcg2=sum(count / discount for count, good, discount in rows if good),
        valid=sum(bool(good) for good in valid),
    )
