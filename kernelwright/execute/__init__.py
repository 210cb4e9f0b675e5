"""Plans and the workers that run them.

`bind` makes every number of a plan concrete, `launcher` runs native steps in one call, `runner`
runs a whole plan in this process, `bench` judges a problem with workers that it keeps apart.
Nothing is imported here: torch is loaded by the modules that need it.
"""
