"""JupyterHub whose servers are jobs, for one user who is whoever runs it; it answers at the port ``HUB_PORT`` alone."""

import os
import sys
from pathlib import Path

from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    """None, as the usual one is no package of PyPI: the test asks the hub and the servers themselves."""

    should_start = False

    async def add_route(self, routespec: str, target: str, data: object) -> None:
        """Do nothing."""

    async def delete_route(self, routespec: str) -> None:
        """Do nothing."""

    async def get_all_routes(self) -> dict[str, object]:
        """Give none."""
        return {}


programs = Path(sys.executable).parent
c = get_config()  # noqa: F821 - JupyterHub gives it
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.hub_port = int(os.environ["HUB_PORT"])
c.JupyterHub.services = [{"name": "test", "api_token": os.environ["HUB_TOKEN"]}]
c.JupyterHub.load_roles = [{"name": "test", "services": ["test"], "scopes": ["admin:users", "admin:servers"]}]
c.JupyterHub.spawner_class = "batchspawner.SlurmSpawner"
c.BatchSpawnerBase.exec_prefix = ""
c.BatchSpawnerBase.batchspawner_singleuser_cmd = str(programs / "batchspawner-singleuser")
c.Spawner.cmd = [str(programs / "jupyterhub-singleuser")]
c.Spawner.args = ["--allow-root"]
c.Spawner.env_keep = ["PATH", "ROTA_STATE"]
c.Spawner.poll_interval = 1
c.SlurmSpawner.req_homedir = os.getcwd()  # noqa: PTH109 - a text
c.SlurmSpawner.req_partition = "debug"
c.SlurmSpawner.req_runtime = "0:30:00"
c.SlurmSpawner.req_memory = "500M"
c.SlurmSpawner.req_nprocs = "2"
# The nodes are virtual, and no addresses.
c.SlurmSpawner.state_exechost_exp = "127.0.0.1"
