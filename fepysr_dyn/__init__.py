"""Find the differential equations behind time series."""

__version__ = "0.1.0"
