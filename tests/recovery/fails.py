"""Run ``rota recover --yes`` for a state directory such that it cannot write what is saved."""

import sys
from unittest.mock import patch

from rota.cli.main import main
from rota.store import Database, DatabaseError

with patch.object(Database, "write", side_effect=DatabaseError("the disk is full")):
    sys.exit(main(["recover", "--yes", "--state", sys.argv[1]]))
