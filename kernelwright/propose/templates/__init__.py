"""Templates: one file each, siblings of `base.py`. `kernelwright.propose.TEMPLATES` lists them."""
