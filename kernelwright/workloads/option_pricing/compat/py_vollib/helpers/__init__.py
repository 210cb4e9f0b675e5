"""py_vollib's helpers, as far as its users need them: the exceptions."""
