"""Problem suites, the resumable runner and its tables."""
