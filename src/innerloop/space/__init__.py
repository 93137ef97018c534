"""The search space: named parameters, and the points of the unit cube that stand for them."""
