"""The command line `whir-mlx`: prove, verify, convert, info, plan.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage. Results go to standard output (with `--json` as one JSON object,
refusals included), progress and warnings to standard error.
"""
