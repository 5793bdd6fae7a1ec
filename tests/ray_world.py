"""Ray on a busy machine, which is no dead one: its time limits are raised to what only a hang reaches."""

import secrets

from patience import PATIENCE_SECONDS

PATIENT = {
    "RAY_worker_register_timeout_seconds": str(PATIENCE_SECONDS),
    "RAY_gcs_server_request_timeout_seconds": str(PATIENCE_SECONDS),
    "RAY_gcs_server_port_wait_time_s": str(PATIENCE_SECONDS),
    "RAY_raylet_start_wait_time_s": str(PATIENCE_SECONDS),
    "RAY_agent_register_timeout_ms": str(1000 * PATIENCE_SECONDS),
    "RAY_health_check_timeout_ms": str(1000 * PATIENCE_SECONDS),
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": str(PATIENCE_SECONDS),
    "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "1",  # what is stopped is not needed any more
    "RAY_worker_niceness": "0",  # by default others go before Ray's workers, for as long as there are others
}
SAME_TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
"""Lets only the programs that the tests start into the tests' clusters; nothing is written to the home folder."""
