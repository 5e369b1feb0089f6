"""Suites of benchmarks, one a file."""
