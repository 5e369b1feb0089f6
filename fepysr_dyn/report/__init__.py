"""Figures and the report. Nothing here is imported before a figure is asked for."""
