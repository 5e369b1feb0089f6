"""Systems to and from the formats of other programs."""
