"""The default method: its initial design, its models with the acquisition, and its policy.

It may import `gp` and `optim`, and of `methods` what is not another method.
"""

from optuna_misowild.methods.robust.method import RobustMethod


__all__ = ["RobustMethod"]
