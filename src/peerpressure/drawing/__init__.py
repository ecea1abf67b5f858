"""Pictures of one axes each, from arrays: the style of all figures, networks in the plane, and results."""
