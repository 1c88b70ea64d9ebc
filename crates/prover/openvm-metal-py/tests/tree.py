"""The shape of an aggregation without a program."""


class Tree:
    """Nodes of an aggregation, as the native module's plan has them."""

    def __init__(self, segments, children):
        self.children = children
        self.levels = [segments]
        while not (len(self.levels) > 4 and self.levels[-1] == 1 and self.levels[-2] == 1):
            most = children[0] if len(self.levels) == 1 else children[1]
            self.levels.append(-(-self.levels[-1] // most))

    def below(self, level, index):
        most = self.children[0] if level == 1 else self.children[1]
        return list(range(index * most, min((index + 1) * most, self.levels[level - 1])))
