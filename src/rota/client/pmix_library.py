"""OpenPMIx's library as the server of one step, called through `ctypes`.

Structures and numbers are those of the binary interface ``libpmix.so.2``, from the headers of release 4.2.
"""

import ctypes
import os
import shutil
import tempfile
from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_char_p, c_int, c_size_t, c_uint16, c_uint32, c_void_p, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

_NAME = "libpmix.so.2"
#: Statuses, and types of values, of ``pmix_common.h``.
_DONE, _DONE_AT_ONCE, _LOST_CONNECTION, _EVENT_HANDLED = 0, -157, -61, -334
_STRING, _UINT16, _UINT32, _INFO, _ARRAY, _RANK = 3, 13, 14, 24, 39, 40
#: Functions that a server gives to the library, and the places of those that are given.
_FUNCTIONS, _ABORT, _FENCE = 64, 2, 3
#: No keys in shared memory, nothing of munge: all tasks are the same user's.
_SETTINGS = {"PMIX_MCA_gds": "hash", "PMIX_MCA_psec": "native"}


class LibraryError(Exception):
    """The library cannot be used; the text says why."""


class _Proc(ctypes.Structure):
    _fields_: "ClassVar[Any]" = (("nspace", c_char * 256), ("rank", c_uint32))


class _Array(ctypes.Structure):
    _fields_: "ClassVar[Any]" = (("type", c_uint16), ("size", c_size_t), ("array", c_void_p))


class _Data(ctypes.Union):
    _fields_: "ClassVar[Any]" = (
        ("string", c_char_p),
        ("uint16", c_uint16),
        ("uint32", c_uint32),
        ("array", POINTER(_Array)),
        ("room", ctypes.c_uint64 * 3),
    )


class _Value(ctypes.Structure):
    _fields_: "ClassVar[Any]" = (("type", c_uint16), ("data", _Data))


class _Info(ctypes.Structure):
    _fields_: "ClassVar[Any]" = (("key", c_char * 512), ("flags", c_uint32), ("value", _Value))


#: What the library wants to have called in the end, and what it calls.
_Then = CFUNCTYPE(None, c_int, c_void_p)
_ThenData = CFUNCTYPE(None, c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)
_ThenEvent = CFUNCTYPE(None, c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)
_Abort = CFUNCTYPE(c_int, POINTER(_Proc), c_void_p, c_int, c_char_p, c_void_p, c_size_t, c_void_p, c_void_p)
_Fence = CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p)
_Event = CFUNCTYPE(None, c_size_t, c_int, POINTER(_Proc), c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p)


class PMIx:
    """The server of one step.

    Args:
        name: Name of the step.
        size: The number of its tasks.
        abort: Is called, by another thread, when all tasks are to end, with the number of the task that wants that;
            ``None``: one has lost its connection.

    Raises:
        LibraryError: there is no such library, or it refuses.
    """

    def __init__(self, name: str, size: int, abort: "Callable[[int | None], None]") -> None:
        try:
            self._library = ctypes.CDLL(_NAME)
        except OSError as error:
            raise LibraryError(f"{error}: install OpenPMIx (on Debian the package libpmix2)") from None
        os.environ.update(_SETTINGS)
        self._space = f"rota.{name}".encode()
        self._abort = abort
        self._folder = tempfile.mkdtemp(prefix=f"rota-pmix-{name}-")
        self._functions = (c_void_p * _FUNCTIONS)()
        #: What the library must find for as long as it is used; the first are what it calls.
        self._kept: list[Any] = [_Abort(self._aborted), _Fence(_fenced), _Event(self._happened)]
        for place, function in ((_ABORT, self._kept[0]), (_FENCE, self._kept[1])):
            self._functions[place] = cast(function, c_void_p).value
        try:
            self._begin(size)
        except LibraryError:
            shutil.rmtree(self._folder)
            raise

    def _begin(self, size: int) -> None:
        places = [("pmix.srvr.tmpdir", _STRING, self._folder), ("pmix.sys.tmpdir", _STRING, self._folder)]
        infos = self._infos(places)
        self._call("PMIx_server_init", self._functions, infos, c_size_t(len(infos)))
        infos = self._infos(self._facts(size))
        self._call("PMIx_server_register_nspace", self._space, size, infos, c_size_t(len(infos)), None, None)
        for rank in range(size):
            proc = _Proc(self._space, rank)
            self._call("PMIx_server_register_client", byref(proc), os.getuid(), os.getgid(), None, None, None)
        self._library.PMIx_Register_event_handler(None, c_size_t(0), None, c_size_t(0), self._kept[2], None, None)

    def _facts(self, size: int) -> "list[tuple[str, int, Any]]":
        """Give what tasks may know of the step: all are on one node."""
        ranks = ",".join(map(str, range(size)))
        sizes = "pmix.univ.size pmix.job.size pmix.max.size pmix.local.size pmix.node.size pmix.app.size"
        facts: list[tuple[str, int, Any]] = [(key, _UINT32, size) for key in sizes.split()]
        facts += [(key, _UINT32, 1) for key in ("pmix.num.nodes", "pmix.job.napps")]
        facts += [
            ("pmix.jobid", _STRING, self._space.decode()),
            ("pmix.lpeers", _STRING, ranks),
            ("pmix.lldr", _RANK, 0),
            ("pmix.nmap", _STRING, self._folded("PMIx_generate_regex", os.uname().nodename)),
            ("pmix.pmap", _STRING, self._folded("PMIx_generate_ppn", ranks)),
            ("pmix.tmpdir", _STRING, self._folder),
            ("pmix.nsdir", _STRING, self._folder),
        ]
        for rank in range(size):
            of_rank = self._infos(
                [
                    ("pmix.rank", _RANK, rank),
                    ("pmix.appnum", _UINT32, 0),
                    ("pmix.grank", _RANK, rank),
                    ("pmix.apprank", _RANK, rank),
                    ("pmix.lrank", _UINT16, rank),
                    ("pmix.nrank", _UINT16, rank),
                    ("pmix.nodeid", _UINT32, 0),
                    ("pmix.hname", _STRING, os.uname().nodename),
                ]
            )
            facts.append(("pmix.pdata", _ARRAY, of_rank))
        return facts

    def environment(self, rank: int) -> dict[str, str]:
        """Give the variables by which a task finds the server."""
        found = POINTER(c_char_p)()
        self._call("PMIx_server_setup_fork", byref(_Proc(self._space, rank)), byref(found))
        texts: list[str] = []
        while found[len(texts)] is not None:
            texts.append(os.fsdecode(found[len(texts)] or b""))
        return dict(text.split("=", 1) for text in texts)

    def close(self) -> None:
        """Remove its files. The server itself ends with its process."""
        shutil.rmtree(self._folder, ignore_errors=True)

    # ---- calls to the library ---------------------------------------------------------------------------------

    def _call(self, function: str, *arguments: "Any") -> None:
        status = getattr(self._library, function)(*arguments)
        if status not in {_DONE, _DONE_AT_ONCE}:
            raise LibraryError(f"{function} of {_NAME} failed with status {status}")

    def _folded(self, function: str, text: str) -> str:
        found = c_char_p()
        self._call(function, text.encode(), byref(found))
        return os.fsdecode(found.value or b"")

    def _infos(self, facts: "list[tuple[str, int, Any]]") -> "ctypes.Array[_Info]":
        """Write facts as the library reads them."""
        infos = (_Info * len(facts))()
        for info, (key, kind, value) in zip(infos, facts, strict=True):
            info.key, info.value.type = key.encode(), kind
            if kind == _STRING:
                info.value.data.string = os.fsencode(value)
            elif kind == _UINT16:
                info.value.data.uint16 = value
            elif kind == _ARRAY:
                array = _Array(_INFO, len(value), cast(value, c_void_p))
                info.value.data.array = ctypes.pointer(array)
                self._kept.append(value)
            else:
                info.value.data.uint32 = value
        return infos

    # ---- calls from the library -------------------------------------------------------------------------------

    def _aborted(self, proc: "Any", _object: int, _status: int, _text: bytes, *rest: "Any") -> int:
        self._abort(proc.contents.rank)
        then, what = rest[-2:]
        _Then(then)(_DONE, what)
        return _DONE

    def _happened(self, _id: int, status: int, *rest: "Any") -> None:
        if status == _LOST_CONNECTION:
            self._abort(None)
        then, what = rest[-2:]
        if then:
            _ThenEvent(then)(_EVENT_HANDLED, None, 0, None, None, what)


def _fenced(*arguments: "Any") -> int:
    """All tasks have come: give back what they have brought."""
    data, size, then, what = arguments[-4:]
    _ThenData(then)(_DONE, data, size, what, None, None)
    return _DONE
