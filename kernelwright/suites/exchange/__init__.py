"""Problems, solutions and traces of flashinfer-bench and SOL-ExecBench, read and written without loss.

    definition = read_definition(place)
    for workload in read_workloads(workload_file(place, definition), definition):
        problem = definition_problem(definition, workload, place, place.parent)
        kernel = solution_kernel(read_solution("solution.json"), definition, problem, target)

What is called how in either world, and what must never happen: `docs/design/exchange-formats.md`.
"""
