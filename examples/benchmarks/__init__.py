"""Benchmarks: what the samplers find for their money, and how long they think."""
