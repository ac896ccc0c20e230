"""The experiments of the paper that this package implements, again."""
