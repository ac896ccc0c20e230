"""The methods, from observations to the next query: a file or a folder each.

They may import `gp` and `optim`; nothing of Optuna, and none another one.
"""
