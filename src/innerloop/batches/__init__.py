"""Ways to fill a batch: greedily, jointly, from candidates, and refined."""
