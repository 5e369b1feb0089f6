"""Numbers of the operators in a program, with their arity and their share of the complexity.

A program is an expression tree in postfix order: one small integer per node, operands before their
operator. Codes from `FIRST_INPUT` on are input columns; `CONSTANT` takes its value from a parallel array.
"""

from __future__ import annotations

import numpy as np

CONSTANT = 0
ADD, SUB, MUL, DIV, POW = 1, 2, 3, 4, 5
NEG, SQUARE, CUBE, INV, EXP, LOG, SQRT, ABS, SIGN = 6, 7, 8, 9, 10, 11, 12, 13, 14
SIN, COS, TAN, TANH, SINH, COSH, ATAN = 15, 16, 17, 18, 19, 20, 21
FIRST_INPUT = 32

#: Kinds of changes from here on look at the data (see `propose`); those before are random (see `mutate`).
ADD_TERM, SOLVE_BACKWARDS, DROP_TERM = 8, 9, 10

CODES: dict[str, int] = {
    **{"+": ADD, "-": SUB, "*": MUL, "/": DIV, "**": POW},
    **{"neg": NEG, "square": SQUARE, "cube": CUBE, "inv": INV, "exp": EXP, "log": LOG, "sqrt": SQRT},
    **{"abs": ABS, "sign": SIGN, "sin": SIN, "cos": COS, "tan": TAN, "tanh": TANH},
    **{"sinh": SINH, "cosh": COSH, "atan": ATAN},
}
NAMES: dict[int, str] = {code: name for name, code in CODES.items()}

ARITY = np.zeros(FIRST_INPUT, dtype=np.int64)
ARITY[ADD : POW + 1] = 2
ARITY[NEG : ATAN + 1] = 1

#: Nodes that an operator adds to the tree in the user's words: a square is ``x**2``, an inverse ``1/x``.
COST = np.ones(FIRST_INPUT, dtype=np.int64)
COST[[SQUARE, CUBE, INV]] = 2
