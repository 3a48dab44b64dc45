"""The page that tells who loads the file system, in a real browser.

What it shows is compared with what the source did, which each test makes up: so many bytes a second by job and target.
"""

from __future__ import annotations

import http.client
import json
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from api.services import running

from web.browser import CLICK, ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from web.browser import Browser

    #: Starts a service, and gives its address.
    Serve = Callable[..., str]

pytestmark = pytest.mark.browser
MB = 1_000_000
#: How many fields of the heat map are painted, by target.
PAINTED = """(() => { const { picture, data } = window.rota.heat;
  const { width, height } = picture;
  const pixels = picture.getContext("2d").getImageData(0, 0, width, height).data;
  return Object.fromEntries(data.targets.map((target, row) => [target,
    Array.from({ length: width }, (_, x) => pixels[4 * (row * width + x) + 3]).filter(Boolean).length])); })()"""


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with ExitStack() as running_ones:

        def start(rates: dict[str, dict[str, int]], token: str = "", **more: Any) -> str:
            program = str(Path(__file__).with_name("served.py"))
            return running_ones.enter_context(
                running(program, str(tmp_path), token, json.dumps({"rates": rates, **more}))
            )

        yield start


class Answer(NamedTuple):
    status: int
    policy: str
    text: str


def get(address: str) -> Answer:
    host, _, path = address.removeprefix("http://").partition("/")
    with closing(http.client.HTTPConnection(host, timeout=30)) as connection:
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheader("Content-Security-Policy", ""), answer.read().decode())


def test_who_wrote_what_where(browser: Browser, serve: Serve) -> None:
    rates = {
        "101": {"lustre-OST0000": 30 * MB, "lustre-OST0001": 10 * MB},
        "102": {"lustre-OST0001": 8 * MB},
        "cp.1000": {"lustre-OST0002": 2 * MB},
    }
    names = {"101": {"user": "ann", "account": "physics", "name": "train"}, "102": {"user": "ann", "account": "bio"}}
    address = serve(rates, names=names)
    until = json.loads(get(f"{address}/lustre/v1/status").text)["until"]
    page = browser.open(f"{address}/?begin={until - 120}&end={until}")
    page.settled()
    assert page.text("#figures .chosen") == "Written\n50.0 MB/s 6.00 GB"
    rows = page.run(ROWS)
    assert [(row["Job"], row["User"], row["Account"], row["Written"]) for row in rows] == [
        ("101", "ann", "physics", "40.0 MB/s"),
        ("102", "ann", "bio", "8.00 MB/s"),
        ("cp.1000", "–", "–", "2.00 MB/s"),
    ]
    assert rows[0]["Share"] == "80.0 %"
    painted = page.run(PAINTED)
    assert list(painted) == ["lustre-OST0000", "lustre-OST0001", "lustre-OST0002"]
    assert set(painted.values()) == {12}
    page.run(
        "document.getElementById('by').value = 'user';document.getElementById('by').dispatchEvent(new Event('change'))"
    )
    page.wait(f"({ROWS})[0].User === 'ann'")
    page.settled()
    assert [(row["User"], row["Written"]) for row in page.run(ROWS)] == [
        ("ann", "48.0 MB/s"),
        ("user not known", "2.00 MB/s"),
    ]
    assert page.problems == []


@pytest.mark.slow
def test_a_job_and_the_way_back(browser: Browser, serve: Serve) -> None:
    rates = {"101": {"a-OST0000": 3 * MB, "a-OST0001": MB}, "102": {"a-OST0001": 9 * MB}}
    address = serve(rates, names={"101": {"user": "ann", "nodelist": "n[1-4]"}})
    page = browser.open(address)
    page.settled()
    page.run(CLICK % '"101"')
    page.wait("!document.getElementById('job').hidden")
    page.settled()
    assert page.text("#job-title") == "Job 101"
    assert "user\tann" in page.text("#job-fields")
    assert "nodelist\tn[1-4]" in page.text("#job-fields")
    assert [(row["Target"], row["Share"]) for row in page.run(ROWS)] == [
        ("a-OST0000", "75.0 %"),
        ("a-OST0001", "25.0 %"),
    ]
    assert "where=job%3D101" in page.run("location.search")
    # The same address shows the same to whom it is sent.
    other = browser.open(address + "/" + page.run("location.search"))
    other.settled()
    assert other.run(ROWS) == page.run(ROWS)
    page.run("history.back()")
    page.wait("document.getElementById('job').hidden")
    page.wait(f"({ROWS}).length === 2 && ({ROWS})[0].Job === '102'")
    assert page.problems == other.problems == []


@pytest.mark.slow
def test_a_field_of_the_heat_map_tells_who_was_behind_it(browser: Browser, serve: Serve) -> None:
    page = browser.open(serve({"101": {"a-OST0000": MB}, "102": {"a-OST0001": 9 * MB}}))
    page.settled()
    page.run(
        "rota.heat.canvas.focus(); for (const key of ['ArrowUp', 'ArrowLeft', 'ArrowLeft', 'Enter'])"
        "rota.heat.canvas.dispatchEvent(new KeyboardEvent('keydown', { key }))"
    )
    page.wait(f"({ROWS}).length === 1")
    assert page.run(ROWS)[0]["Job"] == "101"
    assert page.text("#filters") == "target a-OST0000"
    assert page.problems == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 700])
def test_long_names_leave_room_for_numbers(browser: Browser, serve: Serve, width: int) -> None:
    names = {"4000001": {"user": "somebody-with-a-long-name", "name": "train " * 20, "account": "account-of-a-group"}}
    page = browser.open(serve({"4000001": {"a-OST0000": MB}}, names=names), width=width)
    page.settled()
    assert page.run("document.querySelector('#who tbody tr').offsetHeight") < 40  # one line
    assert page.run("document.documentElement.scrollWidth") <= width
    # What is drawn is in sight, and where there is room all is.
    last = "#who thead th:last-child" if width == 1400 else "#who th[aria-sort]"
    assert page.run(f"document.querySelector('{last}').getBoundingClientRect().right") < width
    page.run(CLICK % '"4000001"')
    page.wait("!document.getElementById('job').hidden")
    box = "document.getElementById('job-fields').closest('.scroll')"
    assert page.run(f"{box}.scrollWidth <= {box}.clientWidth")
    assert page.problems == []


def test_names_are_texts(browser: Browser, serve: Serve) -> None:
    name = "<img src=x onerror=alert(1)>"
    job = "<script>x</script>"
    page = browser.open(serve({job: {"a-OST0000": MB}}, names={job: {"user": "a\u202enn\u0007", "name": name}}))
    page.settled()
    row = page.run(ROWS)[0]
    assert (row["Job"], row["User"], row["Name"]) == (job, r"a\u{202e}nn\u{7}", name)
    page.run(CLICK % json.dumps(job))
    page.wait("!document.getElementById('job').hidden")
    assert page.text("#job-title") == f"Job {job}"
    assert page.run("document.querySelectorAll('img, main script').length") == 0
    assert page.problems == []


@pytest.mark.slow
def test_what_fails_is_told_and_the_rest_is_shown(browser: Browser, serve: Serve) -> None:
    wrong = {"error": "ssh: oss1: no route to host", "fault": "sacct failed"}
    page = browser.open(serve({"101": {"a-OST0000": MB}}, **wrong))
    page.settled()
    page.wait("!document.getElementById('trouble').hidden")
    assert "1 of 1 sources cannot be read: made-up" in page.text("#trouble")
    assert "no route to host" in page.text("#trouble")
    assert page.text("#lookups") == "Jobs cannot be looked up: sacct failed."
    assert page.run(ROWS)[0]["Job"] == "101"


def test_only_with_the_token(browser: Browser, serve: Serve) -> None:
    address = serve({"101": {"a-OST0000": MB}}, token="s3cret")
    page = browser.open(address)
    page.wait("document.querySelector('input[name=token]')")
    for path in ("lustre/v1/top", "lustre/v1/jobs/101"):
        assert get(f"{address}/{path}").status == 401
    for token, shown in (("wrong", "input[name=token]"), ("s3cret", "#who tbody tr")):
        page.run(f"window.old = 1; document.forms[0].token.value = '{token}'; document.forms[0].submit()")
        page.wait(f"!window.old && document.querySelector('{shown}')")
    assert page.run("document.cookie") == ""  # it is there, but not for scripts
    # A link with the token signs in, and leaves no trace of it in the address.
    other = browser.open(f"{address}/?token=s3cret&by=target")
    other.settled()
    assert other.run("location.search") == "?by=target"
    assert other.problems == []


def test_the_page_may_load_nothing_from_elsewhere(serve: Serve) -> None:
    answer = get(serve({}) + "/")
    assert answer.policy.startswith("default-src 'none'")
    assert "unsafe" not in answer.policy
    assert "http" not in answer.text


#: Counts how often something of the page is done from now on.
COUNT = """(() => { window.done = {};
  for (const [one, method] of [[rota.heat, "draw"], [rota.whoTable, "fill"], [rota.whoTable, "rowAt"]]) {
    const before = one[method];
    done[method] = 0;
    one[method] = function (...given) { done[method] += 1; return before.apply(this, given); };
  } })()"""
#: Waits until the page has taken in what it was told, and has been drawn.
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"


def test_however_many_jobs_there_are_it_has_rows_for_those_in_sight(browser: Browser, serve: Serve) -> None:
    """What is done in a frame grows neither with the jobs nor with the targets: so it stays smooth, on any machine."""
    rates = {str(4_000_000 + job): {f"a-OST{job % 100:04x}": 2_000_000 - job} for job in range(2_000)}
    address = serve(rates)
    until = json.loads(get(f"{address}/lustre/v1/status").text)["until"]
    page = browser.open(f"{address}/?top=1000&begin={until - 120}&end={until}")  # which asks nothing by itself
    page.settled()
    drawn = "[...document.querySelectorAll('#who tbody tr:not(.space)')]"
    shown = f"{drawn}.map((row) => row.cells[0].innerText)"
    height = "document.querySelector('#who tbody').offsetHeight"
    whole, one = page.run(height), page.run(f"(scrollTo(0, 1e6), {DRAWN}).then(() => {drawn}[0].offsetHeight)")
    assert abs(whole - 1000 * one) <= 100
    for place in (0, 20_000, 9_000, 9_300, 15_000, 0):
        page.run(f"scrollTo(0, {place}); {DRAWN}")
        told = page.run(shown)
        assert len(told) <= 100
        assert [int(job) for job in told] == list(range(int(told[0]), int(told[0]) + len(told)))
        # Those in sight are there: no space is.
        assert page.run(
            "[...document.querySelectorAll('#who .space')].every((one) => { const { top, bottom } = "
            "one.getBoundingClientRect(); return bottom <= 1 || top >= innerHeight - 1; })"
        )
        assert abs(page.run(height) - whole) <= 100
    # No number is cut, whatever it is sorted by, and all columns are in sight.
    cut = "[...document.querySelectorAll('#who :is(td, thead th)')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert page.run(f"{cut}.map((one) => one.innerText)") == []
    assert page.run("document.querySelector('#who thead th:last-child').getBoundingClientRect().right") < 1400
    page.run(f"scrollTo(0, 9000); {DRAWN}")
    page.run(f"{drawn}[30].querySelector('button').focus(); window.focused = document.activeElement; {COUNT}")
    page.run("rota.refresh()")
    page.settled()
    # The same elements, so that neither focus nor a click is lost.
    assert page.run("document.activeElement === focused && focused.isConnected")
    assert page.run("done.rowAt") == 0
    assert page.run("done.fill") <= 100
    heading = "document.querySelectorAll('#who thead button')[0]"
    page.run(f"(() => {{ const one = {heading}; one.focus(); one.click(); }})()")
    page.wait("document.querySelector('#who th[aria-sort]').innerText.startsWith('Read')")
    page.settled()
    assert page.run(f"document.activeElement === {heading}")
    page.run(COUNT)
    box = page.run(
        "(() => { scrollTo(0, 0); const box = rota.heat.canvas.getBoundingClientRect(); return box.toJSON(); })()"
    )
    for step in range(50):
        at = {"x": box["x"] + 200 + 15 * step, "y": box["y"] + 20 + 5 * step}
        page.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
    page.run(DRAWN)
    assert page.run("!rota.heat.mark.hidden && !rota.heat.tip.hidden")
    assert page.run("done.draw") == 0
    assert page.problems == []


def test_a_click_is_on_whom_it_began(browser: Browser, serve: Serve) -> None:
    """Although the order may change before it ends."""
    page = browser.open(serve({"101": {"a-OST0000": 2 * MB}, "102": {"a-OST0001": MB}}))
    page.settled()
    page.run("""(() => { const [first] = document.querySelectorAll("#who tbody button");
      first.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
      rota.whoTable.fill(first.closest("tr"), { ...rota.whoTable.told.rows[1] });
      first.click(); })()""")
    page.wait("!document.getElementById('job').hidden")
    assert page.text("#job-title") == "Job 101"
