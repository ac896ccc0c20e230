"""From the trials of a study to arrays, and back: what is recorded, read, agreed on and warned of.

It may import `methods`, `optim` and `gp`. It is the only room that touches a storage or a private
name of Optuna.
"""
