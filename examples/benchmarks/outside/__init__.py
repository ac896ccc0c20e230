"""The benchmarks of others, with their tools, by one protocol."""
