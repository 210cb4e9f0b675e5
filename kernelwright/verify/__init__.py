"""Gates that a kernel has to pass before its speed counts: one file each, in order of cost."""
