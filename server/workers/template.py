"""What every worker imports, once for all of them, in the process that they are forked from.

The number of threads comes first, because libraries read it when they are imported.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import server.workers.measure
import server.workers.public_reads  # noqa: F401
