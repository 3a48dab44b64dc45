"""How the command ``rota-api`` ends. Who asks needs no more of the controller to know."""

#: Exit statuses: the answer, a problem, nobody whom the controller knows.
ANSWER, PROBLEM, NOBODY = 0, 3, 4
