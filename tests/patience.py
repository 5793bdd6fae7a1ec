"""How long tests wait before they call it a hang: however busy the machine is, nothing else takes so long."""

PATIENCE_SECONDS = 1800
