"""A notebook: cells from standard input, run one after the other as Jupyter does; then what a name is, as JSON."""

from __future__ import annotations

import json
import sys

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for cell in json.load(sys.stdin):
    shell.run_cell(cell).raise_error()
frame = shell.user_ns[sys.argv[1]]
rows = frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")
print(json.dumps({"columns": list(frame.columns), "rows": rows}, default=str))
