"""The formulas of the acquisitions, the domain that they are maximised over, and how.

It may import `gp`, NumPy and SciPy; nothing of Optuna.
"""
