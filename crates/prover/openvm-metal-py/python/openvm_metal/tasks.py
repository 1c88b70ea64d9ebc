"""Names of tasks."""

Task = tuple[int, int]
"""A task of a plan: (level, index). Segments are level 0, nodes of the aggregation 1 and up."""

END: Task = (-1, 0)
"""What the guest revealed, with its path in the memory at the end of the execution."""


def task_name(task: Task) -> str:
    """For people.

    >>> task_name((0, 3)), task_name((1, 0)), task_name((3, 2)), task_name((-1, 0))
    ('segment 3', 'leaf 0', 'internal-recursive.0 node 2', 'public values')
    """
    level, index = task
    match level:
        case -1:
            return "public values"
        case 0:
            return f"segment {index}"
        case 1:
            return f"leaf {index}"
        case 2:
            return f"internal-for-leaf node {index}"
    return f"internal-recursive.{level - 3} node {index}"
