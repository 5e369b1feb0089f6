"""One thread for linear algebra in each process of a test run: several that take all cores wait long.

This is read when numpy is loaded, and by the processes that tests start.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
