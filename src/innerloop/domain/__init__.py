"""Where queries may lie: box, polytope, discrete and fixed coordinates."""
