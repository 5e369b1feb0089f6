"""Charts of the report: inline SVG, coloured by the page's style sheet."""
