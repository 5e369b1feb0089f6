"""PySR in a process of its own: a request on stdin, JSON lines on what was stdout.

Nothing else of this package is imported here, above all no torch: torch and juliacall in one process have
crashed in both import orders.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO


def main() -> int:
    """Answer one request."""
    # Julia and PySR print to stdout as they like; the answers get a stream of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    try:
        import pysr
    except BaseException as error:
        return _say(answers, {"kind": "unavailable", "message": f"{type(error).__name__}: {error}"}, 3)
    _say(answers, {"kind": "started", "version": getattr(pysr, "__version__", "unknown")})
    try:
        _say(answers, {"kind": "front", "rows": _fit(pysr, request)})
    except Exception as error:
        return _say(answers, {"kind": "failed", "message": f"{type(error).__name__}: {error}"}, 4)
    return 0


def _fit(pysr: Any, request: dict[str, Any]) -> list[dict[str, Any]]:
    import numpy as np

    matrix = np.array(request["matrix"], dtype=np.float64)
    target = np.array(request["target"], dtype=np.float64)
    weights = None if request["weights"] is None else np.array(request["weights"], dtype=np.float64)
    model = pysr.PySRRegressor(**request["options"])
    model.fit(matrix, target, weights=weights, variable_names=request["names"])
    table = model.equations_
    rows = []
    for _, row in table.iterrows():
        text = str(row["sympy_format"]) if "sympy_format" in table.columns else str(row["equation"])
        rows.append({"complexity": int(row["complexity"]), "loss": float(row["loss"]), "equation": text})
    return rows


def _say(answers: TextIO, message: dict[str, Any], code: int = 0) -> int:
    answers.write(json.dumps(message) + "\n")
    answers.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
