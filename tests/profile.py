"""How many examples generated tests take: 200, or 2,000 with HYPOTHESIS_PROFILE=slow."""

import os

from hypothesis import HealthCheck, settings

EXAMPLES = 2_000 if os.environ.get("HYPOTHESIS_PROFILE") == "slow" else 200
GENERATED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
