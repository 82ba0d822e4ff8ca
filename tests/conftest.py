"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# No deadline: machines are noisy, and speed is measured by benchmarks. The gate draws the same examples every
# time, so that it says the same of the same tree; by hand they are new each time.
settings.register_profile("packlint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("packlint"), derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "packlint")
