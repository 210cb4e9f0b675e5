"""Lists of problems and candidates, judged one after the other."""
