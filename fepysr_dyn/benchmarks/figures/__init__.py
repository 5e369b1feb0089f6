"""Figures of benchmark lines, one a file. Nothing here is imported before a figure is asked for."""
