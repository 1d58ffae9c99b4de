"""What every worker imports and the kernels that it loads, once for all, in the process that they are forked from.

The number of threads comes first, because libraries read it when they are imported.
"""

# ruff: noqa: F401
import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import scipy.special

import server.workers.measure
import server.workers.public_reads
from server.workers.kernel_compiler import load_kernels

load_kernels()
