"""ATen graphs: capture, cost, float64 oracle, and the loop form that templates are written for."""
