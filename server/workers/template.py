"""What every worker imports and the kernels that it loads, once for all, in the process that they are forked from.

The number of threads comes first, because libraries read it when they are imported.
"""

# ruff: noqa: E402, F401
import gc
import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
gc.disable()  # collections walk over all imported objects again and again: a tenth of the time

import scipy.special
import typer  # of the main module, which every worker imports under another name

import server.backends.postgres
import server.workers.measure
import server.workers.public_reads
from privacy.warm_up import warm_up
from server.backends import columns

warm_up()
columns.warm_up()
gc.freeze()  # what all workers share: none walks over it, and so none copies it
gc.enable()
