"""The one Gaussian process: kernels, linear algebra, likelihood, fit, and the costs by it.

It may import NumPy, SciPy and nothing else of this package: arrays in, arrays out.
"""
