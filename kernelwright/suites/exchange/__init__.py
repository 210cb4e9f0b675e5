"""Problems, solutions and traces of flashinfer-bench and SOL-ExecBench, read and written without loss.

    definition, workloads = read_definition("definition.json"), read_workloads("workload.jsonl", ...)
    problem = problem_of(definition, workloads[0])
    kernel = kernel_of(read_solution("solution.json"), definition, problem, target)

What is called how in either world, and what must never happen: `docs/design/exchange-formats.md`.
"""
