"""How fast a kernel is: clocks, stopping rules, statistics, floors, ceilings, baselines, profiles."""
