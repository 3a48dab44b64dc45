#!/bin/sh
# prometheus_client chooses between OpenMetrics and Prometheus's text format by the header Accept, and does not heed the
# q values in it: who prefers the text format (q=0.9) to OpenMetrics (q=0.1) gets OpenMetrics. `version=1` of OpenMetrics
# gets the text format, `version=1.0.0` and no version at all do not; a version that is no number, which HTTP allows, is
# a TypeError, so that an exporter which hands on the header answers with an error of its own. Seen with
# prometheus_client 0.26.0. A proxy or a scraper of another make can send any of these.
# Fails if one of the answers changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check prometheus-client==0.26.0
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from prometheus_client.exposition import choose_encoder

print("prometheus_client", version("prometheus-client"))


def form(accept):
    try:
        found = choose_encoder(accept)[1].split(";")[0]
    except TypeError as error:
        found = f"TypeError: {error}"
    print(f"{accept!r}: {found}")
    return found


OPEN, PLAIN = "application/openmetrics-text", "text/plain"
assert form(f"{OPEN};version=1.0.0;q=0.1,{PLAIN};version=0.0.4;q=0.9") == OPEN
assert form(f"{OPEN};version=1") == PLAIN
assert form(f"{OPEN};version=1.0.0") == OPEN
assert form(OPEN) == OPEN
assert form(f"{PLAIN};version=latest").startswith("TypeError")
PYTHON
