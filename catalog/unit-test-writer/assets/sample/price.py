"""Prices in cents."""


def discount(cents, percent):
    if percent < 0 or percent > 100:
        raise ValueError("percent must be between 0 and 100")
    if cents < 0:
        raise ValueError("cents must not be negative")
    return cents - cents * percent // 100


def total(items):
    return sum(items)


def _hidden():
    return None


class Basket:
    def add(self, cents):
        for known in self.items:
            if known == cents:
                return False
        self.items.append(cents)
        return True
