#!/bin/sh
# slurmrestd's description of the accounting's paths is no OpenAPI document: below /slurmdb/v0.0.38/accounts the schema
# `dbv0.0.38_tres_update` stands beside `get` and `post`, where only methods of HTTP may stand, so that a generator of
# clients makes a method of that name, or stops. And where only these paths are served (`-s openapi/dbv0.0.38`), answers
# refer to a schema `v0.0.38_meta` that only the document of the other plugin has. v0.0.37 of the same program has
# neither fault. Seen with slurmrestd 22.05.8 (Debian 12). No slurmctld and no slurmdbd has to run.
# Needs Debian 12's package sources. Fails if that changes.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
chmod 755 "$folder"
slurm=22.05.8-4+deb12u3
(
  cd "$folder"
  apt-get download -q slurmrestd=$slurm slurm-wlm-basic-plugins=$slurm libhttp-parser2.9 libjson-c5 libjwt0 libjansson4 libyaml-0-2
  for package in *.deb; do dpkg -x "$package" root; done
)
library=$(dirname "$(find "$folder/root" -name libslurmfull.so)")
cat > "$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=localhost
AuthType=auth/none
CredType=cred/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
PluginDir=$library
NodeName=n1
PartitionName=all Nodes=n1
CONF
user=
if [ "$(id -u)" -eq 0 ]; then # it does not run as root
  user="setpriv --reuid=65534 --regid=65534 --clear-groups"
fi
mkdir -m 777 "$folder/open"
LD_LIBRARY_PATH=$library:$(dirname "$library") $user "$folder/root/usr/sbin/slurmrestd" -f "$folder/slurm.conf" \
  -a rest_auth/local -s openapi/dbv0.0.37,openapi/dbv0.0.38 "unix:$folder/open/socket" 2> "$folder/log" &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ -S "$folder/open/socket" ] && break
  sleep 0.5
done
python3 - "$folder/open/socket" <<'PYTHON'
import json
import socket
import sys
from http.client import HTTPConnection

connection = HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
connection.request("GET", "/openapi/v3", headers={"Accept": "application/json"})
document = json.load(connection.getresponse())
keys = {version: sorted(document["paths"][f"/slurmdb/v0.0.{version}/accounts"]) for version in (37, 38)}
print(keys)
assert keys == {37: ["get", "post"], 38: ["dbv0.0.38_tres_update", "get", "post"]}


def references(part):
    """Give the names of the schemas that a part of the document refers to."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].rpartition("/")[2]
        part = list(part.values())
    for one in part if isinstance(part, list) else ():
        yield from references(one)


missing = set(references(document)) - set(document["components"]["schemas"])
print("schemas that are not there:", missing)
assert missing == {"v0.0.38_meta"}
PYTHON
