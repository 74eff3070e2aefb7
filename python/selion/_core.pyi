# SPDX-License-Identifier: Apache-2.0
"""The compiled part of selion."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Buffer

from selion import calls as _calls
from selion.explanation import Explanation
from selion.layout import Layout as _Dealt
from selion.schedules import Action, Request
from selion.split_phase import SplitPhase
from selion.spread import SpreadArray
from selion.tensor import Tensor
from selion.transfers import Transfer

# What may stand where an array does: its memory is used in place where it is contiguous.
_Memory = NDArray[Any] | Buffer | Tensor

_Result = TypeVar("_Result")
_Array = TypeVar("_Array", bound=NDArray[Any])
_Out = TypeVar("_Out", bound=_Memory)
_Mode = Literal["none", "mine", "all"]
_Operation = Literal["plus", "times", "minimum", "maximum"]
_Function = Callable[[Any, Any], Any]
_Blocks = list[tuple[int, int]]
_Message = tuple[int, _Blocks, Action]
_Step = tuple[list[_Message], list[_Message]]

compiler: str
"""The compiler that made the module, with its version."""

class MachineKind:
    """A kind of machine that SELION_MACHINE can name."""

    @property
    def name(self) -> str:
        """Its name, the first word of a spec."""
    @property
    def forms(self) -> list[str]:
        """Legal specs."""
    @property
    def summary(self) -> str:
        """One sentence."""
    @property
    def facts(self) -> list[tuple[str, str]]:
        """Pairs of capability and value, in words."""
    @property
    def available(self) -> bool:
        """Whether it runs here."""
    @property
    def reason(self) -> str:
        """Why it does not; else empty."""

class FabricOffer:
    """A network that the machine fabric could use on this host."""

    @property
    def provider(self) -> str:
        """Of libfabric."""
    @property
    def interface(self) -> str:
        """Its name: 'eth0'."""
    @property
    def network(self) -> str:
        """As the provider names it."""
    @property
    def is_chosen(self) -> bool:
        """For jobs on several hosts, under the variables that are set."""
    @property
    def why_not(self) -> str:
        """Why it never would be; empty where it could."""
    @property
    def has_stream(self) -> bool:
        """Whether two ranks have one between them."""
    @property
    def has_moves(self) -> bool:
        """Whether it reads and writes memory of others by itself."""
    @property
    def has_atomics(self) -> bool:
        """Whether it changes words of others by itself."""
    @property
    def is_moving(self) -> bool:
        """Whether long transfers of Selion would be moves."""
    @property
    def has_wait_file(self) -> bool:
        """Whether it wakes ranks that sleep; else they look every millisecond."""

class SimulatedMachine:
    """A simulated machine that comes with the library."""

    @property
    def name(self) -> str:
        """Its name, behind 'sim:' in a spec."""
    @property
    def summary(self) -> str:
        """One line."""
    @property
    def ranks(self) -> int:
        """How many there are without options."""
    @property
    def options(self) -> list[str]:
        """Short keys that a spec can set."""

class Knob:
    """A SELION_ variable of the environment."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def default_value(self) -> str:
        """What holds when it is not set."""
    @property
    def help(self) -> str:
        """One line with unit and range."""
    @property
    def current(self) -> str:
        """Its value now; empty when not set."""

def machine_kinds() -> list[MachineKind]:
    """All machines that this build knows."""

def fabric_offers() -> list[FabricOffer]:
    """All networks that libfabric offers. @error OSError if it cannot be asked."""

def fabric_ranking() -> list[str]:
    """Providers of libfabric that are taken where they are there, the first one first."""

def simulated_machines() -> list[SimulatedMachine]:
    """The simulated machines that come with the library, by name."""

def explain_machine(machine: str) -> str:
    """What a simulated machine is, in words, with all constants and their sources."""

def knobs() -> list[Knob]:
    """All variables that the runtime reads, sorted by name."""

def knob_trouble() -> str:
    """Why no job would start, if a variable has a value that makes no sense, or ""."""

def usable_cores() -> int:
    """Processors that this process may use: affinity and cgroup quota respected."""

def tuning_path_in_use() -> str:
    """Where a job would look for measured collectives; empty: nowhere."""

def version() -> str:
    """Version of the library."""

def replay_accesses(folder: str, block_sizes: list[int]) -> list[dict[str, Any]]:
    """What traced accesses to coherent memory would have cost with other blocks.

    A dictionary for each space, with the fields of `selion.cache_advice.Space`.
    """

def collective_names() -> list[str]:
    """Collectives that have schedules."""

def algorithm_names(collective: str) -> list[str]:
    """The algorithms that exist for a collective."""

def has_root(collective: str) -> bool:
    """Whether one rank of a collective is its root."""

def uses_radix(algorithm: str) -> bool:
    """Whether the radix of a request makes a difference."""

def uses_group(algorithm: str) -> bool:
    """Whether the group of a request makes a difference."""

def uses_seed(algorithm: str) -> bool:
    """Whether the seed of a request makes a difference."""

def uses_segments(collective: str, algorithm: str) -> bool:
    """Whether the segments of a request make a difference."""

def make_schedule(request: Request, rank: int) -> tuple[int, list[_Step]]:
    """What one rank does: how many blocks there are, and its steps.

    A step is what is sent and what is received; a message its peer, ranges of blocks as first and
    count, and what happens to them on arrival.
    """

def sends_more_than(request: Request, most: int) -> bool:
    """Whether all ranks together send more messages."""

def play_schedule(
    request: Request,
) -> tuple[int, int, bool, list[tuple[int, int, int, _Blocks, Action]]]:
    """A symbolic run: blocks, rounds, whether the order of ranks is kept, messages.

    A message is its round, from, to, ranges of blocks, and what happens to them on arrival.
    """

def run(rank_main: Callable[[World], str], machine: str, thread_level: str) -> int:
    """Runs rank_main(world) -> failure once on every rank; see selion.run."""

def note_script(fingerprint: int, modules: Mapping[str, int]) -> None:
    """Notes what script this program runs, and what modules it has loaded, by name, with
    fingerprints of their texts: ranks of many hosts compare them; 0: no script.
    """

def name_for_other_job(value: bytes) -> bytes:
    """What SELION_METERS or SELION_TRACE is to be for a job that this process starts in others, so
    that it spares the files of those before it; empty: it records nothing.
    """

def call_at_exit(function: Callable[[], None]) -> None:
    """Calls it as this process, which is a rank's, ends: nobody calls the rank any more."""

def leave_rank() -> None:
    """This process, a child of a rank's, is no rank."""

class JoinedThread:
    """Lets the calling thread work for its rank within a with block: one for each thread."""

    def __enter__(self) -> None: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class Team:
    """Ranks that call collectives together: all the same ones, in the same order.

    The world is the team of all; `split`, `split_by` and `subteam` make others. Roots and members
    are numbered in the team.
    """

    @property
    def rank(self) -> int:
        """This member's number, 0 .. size - 1."""
    @property
    def size(self) -> int:
        """How many members there are."""
    def world_rank(self, member: int) -> int:
        """A member's rank in the world."""
    def rank_of(self, rank: int) -> int | None:
        """The number of a rank of the world; None where it is no member."""
    def barrier(self) -> None:
        """Waits for all members; puts made before are visible after."""
    def sync(self) -> None:
        """Waits for all members without completing their puts."""
    def arrive(self) -> None:
        """The first half of a barrier: waits for nobody.

        Until `wait` this member calls no collective of this team.
        """
    def wait(self) -> None:
        """The second half: waits until all members have arrived."""
    @overload
    def broadcast(self, value: bytes, root: int = 0) -> bytes: ...
    @overload
    def broadcast(self, value: _Out, root: int = 0) -> _Out: ...
    @overload
    def broadcast(self, value: Any, root: int = 0) -> Any:
        """Returns, on every member, the value that `root` passed.

        That is None, a bool, int, float, bytes, or any other object, which is pickled as arguments
        of `World.call` are.
        An array, or what has memory as one has, is filled in place: every member passes one of the
        same dtype and shape, in one piece. The root's may be changed on return, and of any strides.

        @error ValueError for a root that is no member, where sizes or dtypes differ, or for an
        array that cannot be filled; TypeError for what cannot be sent.
        """
    @overload
    def all_reduce(self, value: int, operation: _Operation = "plus") -> int: ...
    @overload
    def all_reduce(self, value: float, operation: _Operation = "plus") -> float: ...
    @overload
    def all_reduce(self, value: _Array, operation: _Operation = "plus") -> _Array: ...
    @overload
    def all_reduce(self, value: _Memory, operation: _Operation = "plus") -> NDArray[Any]: ...
    @overload
    def all_reduce(self, value: Any, operation: _Function) -> Any: ...
    @overload
    def all_reduce(
        self, value: _Memory, operation: _Operation | _Function = "plus", *, out: _Out
    ) -> _Out:
        """Combines one value of every member, in their order; all return the same result.

        "plus", "times", "minimum" or "maximum": the last two give NaN where any member has it.
        Integers have 64 bits, or as many as an array's elements: sums and products wrap. Python's
        sum, min and max, math.prod, and what operator and NumPy have for two numbers mean these.

        Any other function of two values combines objects of any kind, which `all_gatherv` brings to
        every member: f(f(a, b), c). All members pass the same one; it need not commute.

        Arrays are combined element by element into a new one, or into `out`, a contiguous array of
        the same dtype and number of elements, which may be the array itself: then nothing is
        copied. All members pass the same type, and arrays of the same shape.

        @error TypeError for what cannot be combined, ValueError for an unknown operation or an
        `out` that does not fit.
        """
    @overload
    def gather(self, value: Any, root: int = 0) -> Any: ...
    @overload
    def gather(self, value: _Memory, root: int = 0, *, out: _Out | None) -> _Out | None:
        """At `root` every member's value, in order: a list, or of arrays one array; elsewhere None.

        Values are None, bools, ints, floats, or arrays of one dtype and shape; so in all_gather,
        scatter and exchange. All else goes by gatherv and its like. `out`, at the root, is a
        contiguous array with room for all.
        """
    @overload
    def all_gather(self, value: Any) -> Any: ...
    @overload
    def all_gather(self, value: _Memory, *, out: _Out) -> _Out:
        """Every member's value, in order: a list, or of arrays one array of shape (size, ...).

        `out` is a contiguous array of the same dtype with room for all.
        """
    @overload
    def scatter(self, values: Any, root: int = 0) -> Any: ...
    @overload
    def scatter(self, values: _Memory | None, root: int = 0, *, out: _Out) -> _Out:
        """Each member gets its own of the root's values: one, or its part of an array.

        Parts are of the array's first extent, which is a multiple of the number of members.
        Elsewhere `values` is not looked at. Where all members pass `out`, a contiguous array for
        their part, of the same dtype, the root need not tell the others first what comes, which
        saves a broadcast.
        """
    @overload
    def exchange(self, values: Any) -> Any: ...
    @overload
    def exchange(self, values: _Memory, *, out: _Out) -> _Out:
        """Value r goes to member r; returns what each has sent here, in order.

        Of an array, part r of the first extent goes to member r. `out` is that array itself, or
        another contiguous one of the same dtype and number of elements.
        """
    def gatherv(self, value: Any, root: int = 0) -> list[Any] | None:
        """At `root` every member's object, in order; elsewhere None.

        Objects of any kind, size and shape; so in all_gatherv, scatterv and exchangev. Arrays and
        bytes travel as they are, all others pickled, as the arguments of `World.call` are.

        @error TypeError for what cannot be pickled.
        """
    def all_gatherv(self, value: Any) -> list[Any]:
        """Every member's object, in order."""
    def scatterv(self, values: Sequence[Any] | None, root: int = 0) -> Any:
        """Each member gets its own of the root's objects.

        Elsewhere `values` is not looked at.
        """
    def exchangev(self, values: Sequence[Any]) -> list[Any]:
        """Object r goes to member r; returns what each has sent here, in order."""
    @overload
    def reduce(self, value: int, operation: _Operation = "plus", root: int = 0) -> int | None: ...
    @overload
    def reduce(
        self, value: float, operation: _Operation = "plus", root: int = 0
    ) -> float | None: ...
    @overload
    def reduce(
        self, value: _Memory, operation: _Operation = "plus", root: int = 0
    ) -> NDArray[Any] | None: ...
    @overload
    def reduce(self, value: Any, operation: _Function, root: int = 0) -> Any: ...
    @overload
    def reduce(
        self,
        value: _Memory,
        operation: _Operation | _Function = "plus",
        root: int = 0,
        *,
        out: _Out | None,
    ) -> _Out | None:
        """Combines as all_reduce does; elsewhere than at `root` returns None.

        `out` is looked at at the root alone.
        """
    @overload
    def reduce_scatter(self, values: Sequence[int], operation: _Operation = "plus") -> int: ...
    @overload
    def reduce_scatter(self, values: Sequence[float], operation: _Operation = "plus") -> float: ...
    @overload
    def reduce_scatter(self, values: _Array, operation: _Operation = "plus") -> _Array: ...
    @overload
    def reduce_scatter(
        self, values: _Memory, operation: _Operation = "plus"
    ) -> NDArray[Any]: ...
    @overload
    def reduce_scatter(self, values: Any, operation: _Function) -> Any: ...
    @overload
    def reduce_scatter(
        self, values: _Memory, operation: _Operation | _Function = "plus", *, out: _Out
    ) -> _Out:
        """Combines value r of every member as all_reduce does, and gives the result to member r.

        Of an array, part r of the first extent goes to member r; the extent is a multiple of the
        number of members. `out` is a contiguous array of the same dtype with room for a part: that
        of this member, or memory apart. A function combines lists of one object for each member.

        @error as of all_reduce.
        """
    @overload
    def scan(self, value: int, operation: _Operation = "plus") -> int: ...
    @overload
    def scan(self, value: float, operation: _Operation = "plus") -> float: ...
    @overload
    def scan(self, value: _Array, operation: _Operation = "plus") -> _Array: ...
    @overload
    def scan(self, value: _Memory, operation: _Operation = "plus") -> NDArray[Any]: ...
    @overload
    def scan(self, value: Any, operation: _Function) -> Any: ...
    @overload
    def scan(
        self, value: _Memory, operation: _Operation | _Function = "plus", *, out: _Out
    ) -> _Out:
        """Combines the values of members 0 to this one, in their order; `out` as in all_reduce."""
    def exscan(
        self,
        value: Any,
        operation: _Operation | _Function = "plus",
        first: Any = None,
        *,
        out: _Out | None = None,
    ) -> Any:
        """Combines the values of the members before this one; member 0 gets `first`.

        `out` as in all_reduce; member 0's holds zeros.
        """
    def explain(self, collective: str, size: int = 8) -> Explanation:
        """How a collective of blocks of `size` bytes would be carried out, and why.

        @error ValueError for a collective that does not exist.
        """
    def choose(self, collective: str, way: str | None) -> None:
        """How a collective is carried out from now on; None: as the runtime thinks best.

        All members choose the same between the same calls.
        @param way "slots", "lines:k_nomial:4", "messages:chain/8" and their like: the names that
        `selion explain` prints.
        @error ValueError for what does not exist.
        """
    def split(self, colour: int | None, key: int = 0) -> Subteam | None:
        """Members that pass the same colour make a team, numbered by rising keys.

        All members of this team call it. None for who passes no colour.
        """
    def split_by(self, place: Literal["process", "cache", "socket", "node"]) -> Subteam:
        """Members that have a place in common make a team; all members of this team call it."""
    def subteam(self, members: Sequence[int]) -> Subteam | None:
        """The members that are listed make a team, numbered as in the list.

        All members of this team call it with the same list. None for who is not listed.
        """
    def with_modes(self, entry: _Mode = "mine", exit: _Mode = "mine") -> Subteam:
        """The same team, whose collectives are synchronised like this.

        At the entry: whose data may move before everybody has come; at the exit: who has to be done
        before a member goes on. ("all", "all") is strict, ("none", "none") loose.
        """
    def with_timeout(self, seconds: float) -> Subteam:
        """The same team, whose collectives raise TimeoutError when they have taken so long.

        The team is not usable after that: make a new one. Members that come late may still read
        what the call was given, and write to its `out`: such memory is never given back, and is to
        be left alone. Collectives of `split_phase` have no time-out.
        """
    @property
    def split_phase(self) -> SplitPhase:
        """The same collectives in two phases: each starts and returns a future."""

class Subteam(Team):
    """A team that was made of another one; a context manager that frees it.

    What it takes is given back by `free`, or when the job ends: never by the garbage collector.
    """

    def free(self) -> None:
        """Leaves the team, or drops what `with_modes` and `with_timeout` gave."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

class Started:
    """An operation that has been started."""

    @property
    def is_ready(self) -> bool:
        """Whether it is over. Makes no progress."""
    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is over, or for so many seconds; returns whether it is."""

class World(Team):
    """The team of all ranks, seen from one of them."""

    def __getattr__(self, name: str) -> Any: ...  # what the program has set
    def __setattr__(self, name: str, value: Any) -> None: ...
    @property
    def rank(self) -> int:
        """This rank's number, 0 .. size - 1. @error RuntimeError when the job is over."""
    @property
    def size(self) -> int:
        """How many ranks there are. @error RuntimeError when the job is over."""
    @property
    def machine(self) -> str:
        """Complete spec of the machine that the job runs on.

        @error RuntimeError when the job is over.
        """
    def now(self) -> int:
        """Steady time of the machine in nanoseconds."""
    def charge(
        self,
        *,
        flops: int = 0,
        int_ops: int = 0,
        loads: int = 0,
        stores: int = 0,
        copied_bytes: int = 0,
        ns: float = 0.0,
    ) -> None:
        """Spends the time that a simulated machine needs for this work; none on a real one."""
    def dead_ranks(self) -> list[int]:
        """Ranks that have died while the job goes on; from now on they end no wait for a signal
        or for transfers any more."""
    def survivors(self) -> Subteam:
        """A team of all ranks that live; every one of them calls this. Those that it leaves out
        end no wait any more, as after `dead_ranks`."""
    def allocate(
        self, shape: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike = "float64"
    ) -> GlobalArray:
        """A zeroed global array; every rank calls this with the same shape and dtype.

        On return all ranks have it, and calls may refer to it. Its memory is given back by `free`,
        or when the job ends: never by the garbage collector, which runs at different times on
        different ranks.
        """
    def spread(
        self,
        shape: SupportsIndex | tuple[SupportsIndex, ...],
        dtype: DTypeLike = "float64",
        layout: _Dealt | None = None,
    ) -> SpreadArray:
        """A zeroed array of 1 to 4 dimensions that lies with all ranks; all call this alike.

        @param layout how it is dealt out, of `selion.layout`; None: a block of rows for each rank.
        @error ValueError for a layout that is not possible, or where ranks ask for different ones;
        MemoryError, on all ranks alike.
        """
    def signal(self, count: SupportsIndex = 1) -> Signal:
        """Signals of value 0, `count` on each rank; every rank calls this with the same count.

        On return all ranks have them, as of `allocate`.
        """
    def quiet(self, rank: int | None = None) -> None:
        """Waits until this rank's puts and atomics are visible to all: all, or to one rank."""
    def fence(self) -> None:
        """Orders puts, signals and atomics: at each target those before it come first. No wait."""
    def progress(self) -> bool:
        """Serves messages that have come; returns whether there were any.

        Calls that wait do so by themselves.
        """
    def call(
        self, rank: int, function: Callable[..., _Result], /, *args: Any, **named: Any
    ) -> _calls.Future[_Result]:
        """Calls `function(*args, **named)` on another rank; returns a future of its result.

        The target runs it in its calls that wait, or in `progress`, one at a time and with the GIL;
        with the machine's option `progress=interrupt` on a thread of its own as well. It may put,
        add, notify and call further; it may get what is mapped, and there use atomics that answer,
        such as `fetch_add`; it must not wait: RuntimeError. What it raises comes out of the
        future's `result`.

        Arguments that are arrays, signals, spread arrays or the world become the target's own. All
        else is pickled: by name what modules and, in a program that all ranks have been started
        from, the main file define; by value other functions. A function is sent once to a rank:
        changes of what it refers to are not seen later.
        """
    def send(
        self, rank: int, function: Callable[..., object], /, *args: Any, **named: Any
    ) -> None:
        """The same without an answer: on return it is on its way. An exception ends the job.

        Calls from one rank to another run in the order in which they were made.
        """
    def meter(
        self, name: str, event: str = "clock", kind: Literal["software", "hardware"] = "software"
    ) -> Meter:
        """A meter of this rank. Events: `meter_events`; "mesh_wait:east" names a part of one.

        It is for the rank's own thread: RuntimeError in one that has joined.

        @error ValueError for an unknown event, or a third hardware meter; NotImplementedError, with
        the reason, where this machine cannot count it.
        """
    def meter_events(self) -> list[MeterEvent]:
        """Events, and whether this rank can count them."""
    def joined_thread(self) -> JoinedThread:
        """Context in which a thread that the rank started may use selion; see `thread_level`.

        Each thread needs one of its own.

        @error RuntimeError on entry: at thread level "single", on a simulated machine, where the
        thread works for a rank already, or while another thread is within this context.
        """

class MeterSummary:
    """A meter's values over a team."""

    @property
    def mean(self) -> float:
        """Mean of the members' values."""
    @property
    def least(self) -> float:
        """Least of the members' values."""
    @property
    def most(self) -> float:
        """Greatest of the members' values."""
    @property
    def sum(self) -> float:
        """Sum of the members' values."""
    @property
    def by_member(self) -> list[float]:
        """Each member's value."""

class MeterEvent:
    """An event that a meter can be asked for."""

    @property
    def name(self) -> str:
        """Without what may follow a colon."""
    @property
    def unit(self) -> str:
        """What it is counted in."""
    @property
    def parts(self) -> list[str]:
        """What may follow, where that is a fixed list."""
    @property
    def is_available(self) -> bool:
        """To the calling rank."""
    @property
    def reason(self) -> str:
        """Why not; empty if it is."""

class Meter:
    """Measures one event between start and stop, summed over runs: `with meter: ...`."""

    def start(self) -> None:
        """Begins a run. @error ValueError where it runs already."""
    def stop(self) -> None:
        """Ends it, and adds what it took. @error ValueError where it does not run."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def reset(self) -> None:
        """Forgets all runs."""
    def summary(self, team: Team) -> MeterSummary:
        """Collective: mean, least, most and each member's value."""
    @property
    def value(self) -> float:
        """Sum over all runs that have ended."""
    @property
    def unit(self) -> str:
        """What the value is counted in."""
    @property
    def event(self) -> str:
        """What is measured, as it was asked for."""
    @property
    def name(self) -> str:
        """What the meter is called."""
    @property
    def runs(self) -> int:
        """Runs that have ended."""
    @property
    def overhead(self) -> float:
        """What a run of nothing would show, which is subtracted from each run."""
    @property
    def is_running(self) -> bool:
        """Whether a run has begun and not ended."""

class GlobalArray:
    """An array of which every rank owns a part of the same shape.

    Offsets and counts are in elements of a part, in C order. Puts and gets are plain copies: order
    them against other ranks' accesses with a barrier.
    """

    def __init__(
        self, world: World, shape: SupportsIndex | tuple[SupportsIndex, ...], dtype: DTypeLike
    ) -> None: ...  # as `World.allocate`, but calls on other ranks cannot be given it
    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of each rank's part."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the elements."""
    @property
    def size(self) -> int:
        """Elements of each rank's part."""
    @property
    def ndim(self) -> int:
        """Number of dimensions."""
    @property
    def nbytes(self) -> int:
        """Bytes of each rank's part."""
    @property
    def local(self) -> NDArray[Any]:
        """This rank's part, as it lies in memory: no copy.

        What is kept of it is not to be used after `free`, nor when the job is over: the memory is
        not there any more.
        """
    def put(self, values: ArrayLike | _Memory, rank: int, offset: int = 0) -> None:
        """Writes values into a rank's part, from element `offset` on.

        Arrays, and what has memory as they have, must be of the part's dtype; contiguous ones are
        not copied first, but for those that the target itself overlaps. Numbers and sequences are
        converted, and bytes where the elements are text. On return the source may be changed; the
        target sees the values after it has synchronised with this rank.

        @error IndexError for what reaches beyond the part, OverflowError for numbers that the dtype
        does not hold, TypeError for values that do not fit otherwise.
        """
    @overload
    def get(self, rank: int, offset: int = 0, count: int | None = None) -> NDArray[Any]: ...
    @overload
    def get(self, rank: int, offset: int = 0, count: int | None = None, *, out: _Out) -> _Out:
        """Reads from a rank's part, and waits for it.

        Without offset, count and out: the whole part, in its shape. Otherwise `count` elements, by
        default all that follow; with `out`, a contiguous array of the same dtype, as many as it
        has, and the result is `out`, which may overlap with what is read.
        """
    def item(self, rank: int, offset: int = 0) -> Any:
        """Reads one element of a rank's part, as a number of Python: the fastest get."""
    def start_put(
        self, values: ArrayLike | _Memory, rank: int, offset: int = 0
    ) -> Transfer[None]:
        """Starts a put. The source must stay as it is until the transfer is complete."""
    @overload
    def start_get(
        self, rank: int, offset: int = 0, count: int | None = None
    ) -> Transfer[NDArray[Any]]: ...
    @overload
    def start_get(
        self, rank: int, offset: int = 0, count: int | None = None, *, out: _Out
    ) -> Transfer[_Out]:
        """Starts a get; arguments as of `get`. What is read is there when it is complete."""
    def put_signal(
        self,
        values: ArrayLike | _Memory,
        rank: int,
        signal: Signal,
        offset: int = 0,
        *,
        add: int | None = None,
        set: int | None = None,
        index: int = 0,
    ) -> None:
        """Writes values into a rank's part, then raises its signal: who sees that sees the values.

        Adds 1 to the signal, or `add`, or sets it: see `Signal.notify`.
        """
    def fetch_add(self, rank: int, offset: int, amount: float) -> Any:
        """Adds to one element atomically; returns its value before, as a number of Python.

        Elements that are updated atomically are int32, int64, uint32, uint64, float32 or float64;
        integers wrap. They are atomic against each other, `atomic_get` and `atomic_put`.

        @error TypeError for another dtype, OverflowError for a number that does not fit.
        """
    def add(self, rank: int, offset: int, amount: float) -> None:
        """Adds to one element atomically. `World.quiet` completes it."""
    def fetch_min(self, rank: int, offset: int, value: float) -> Any:
        """Makes one element at most `value`, atomically; returns its value before."""
    def fetch_max(self, rank: int, offset: int, value: float) -> Any:
        """Makes one element at least `value`, atomically; returns its value before."""
    def fetch_and(self, rank: int, offset: int, bits: int) -> int:
        """Clears the bits that are 0 in `bits`, atomically; returns the value before. Integers."""
    def fetch_or(self, rank: int, offset: int, bits: int) -> int:
        """Sets the bits that are 1 in `bits`, atomically; returns the value before. Integers."""
    def fetch_xor(self, rank: int, offset: int, bits: int) -> int:
        """Flips the bits that are 1 in `bits`, atomically; returns the value before. Integers."""
    def swap(self, rank: int, offset: int, value: float) -> Any:
        """Replaces one element atomically; returns its value before."""
    def compare_swap(self, rank: int, offset: int, expected: int, desired: int) -> int:
        """Replaces one element by `desired` if it equals `expected`; returns its value before.

        So equality with `expected` means success. Integers.
        """
    def atomic_get(self, rank: int, offset: int) -> Any:
        """Reads one element that others update atomically."""
    def atomic_put(self, rank: int, offset: int, value: float) -> None:
        """Writes one element that others read or update atomically."""
    def free(self) -> None:
        """Gives the memory back; all ranks call it."""
    def __array__(self, *args: Any, **named: Any) -> NDArray[Any]: ...
    def __dlpack__(self, **named: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Signal:
    """Words of 64 bits on each rank: its own it can wait for, and all ranks can raise. Made by
    `World.signal`. Its memory is given back by `free`, or when the job ends."""

    def __init__(self, world: World, count: int) -> None: ...
    @property
    def count(self) -> int:
        """Words of each rank."""
    def notify(
        self, rank: int, *, add: int | None = None, set: int | None = None, index: int = 0
    ) -> None:
        """Raises a rank's signal, and wakes it if it waits.

        Adds 1, or `add`; any number of ranks may add at once. Or sets it: then only one rank may do
        so, and values should grow. Who sees the new value sees all puts that this rank made to that
        rank before.
        """
    def wait_until(self, at_least: int, index: int = 0, timeout: float | None = None) -> bool:
        """Waits until this rank's signal is at least so much, or for so many seconds.

        Returns whether it is.
        """
    def wait_any(
        self, at_least: int | Sequence[int] = 1, timeout: float | None = None
    ) -> int | None:
        """Waits until one of this rank's words is at least `at_least`, or what `at_least` has for
        it where that is a sequence, a value for each word; or for so many seconds.

        Returns its index, the lowest if there are several; None if none has come in time.
        """
    def test(self, at_least: int, index: int = 0) -> bool:
        """Whether this rank's signal is at least so much; serves messages if it is not, so that a
        loop of tests comes to its end."""
    def value(self, index: int = 0) -> int:
        """This rank's signal as it is now: a bare look, which serves nobody."""
    def free(self) -> None:
        """Gives the memory back; all ranks call it."""

class Layout:
    """Where each element of a spread array lies: `selion.spread` gives it a face."""

    @property
    def local_size(self) -> int:
        """Elements that every rank gives room to."""
    @property
    def fingerprint(self) -> int:
        """Differs, as good as surely, for layouts that differ."""
    @property
    def tile_extents(self) -> list[int]:
        """Elements of a tile, of each dimension."""
    def place_of(self, index: Sequence[int]) -> tuple[int, int]:
        """The rank that has an element, and the element's number there. Not checked."""
    def tiles_of(self, rank: int) -> list[tuple[list[int], list[int], int]]:
        """Of each tile of a rank: first index, extents, and number of its first element."""

def make_layout(
    extents: Sequence[int], tile: Sequence[int], grid: Sequence[int], run: int, ranks: int
) -> Layout:
    """A layout by tiles and a grid of ranks (all 0: none), or, if not negative, by runs."""

def move_part(
    layout: Layout,
    parts: GlobalArray,
    memory: NDArray[Any],
    first: Sequence[int],
    count: Sequence[int],
    step: Sequence[int],
    strides: Sequence[int],
    is_written: bool,
) -> None:
    """Reads or writes a part of a spread array: `count` indices of each dimension from `first`,
    `step` apart; elements from one to the next in contiguous memory here."""

def start_put(array: GlobalArray, values: Any, rank: int, offset: int) -> Started:
    """Starts to write values into a rank's part."""

def start_get(
    array: GlobalArray, rank: int, offset: int, count: int | None, out: Any
) -> Started:
    """Starts to read from a rank's part."""

def result_of(started: Started) -> Any:
    """Where a get that was started writes to."""

def put_signal(
    array: GlobalArray,
    values: Any,
    rank: int,
    signal: Signal,
    offset: int,
    add: int | None,
    set: int | None,
    index: int,
) -> None:
    """Writes values, then raises a signal of that rank."""

def caller() -> tuple[int, int]:
    """The job and the rank that the calling thread works for."""

def as_array(object: Any, writes: bool = False) -> NDArray[Any] | None:
    """The memory of an object as an array, without a copy; None where it has none.

    @error BufferError where it is a device's, or must not be written.
    """

def send_message(rank: int, kind: int, number: int, bytes: Buffer) -> None:
    """Sends bytes to `selion.calls` on another rank."""

def take_early_call(kind: int, origin: int, number: int, message: bytes) -> None:
    """Runs a call that came before the rank had begun, as those that come later."""

def make_promise(number: int, rank: int) -> Started:
    """The answer to the call of that number, which is to be made."""

def cancel(number: int) -> None:
    """Nobody waits for that answer any more, whether it has come or not."""

def answer_of(promise: Started) -> tuple[int, bytes]:
    """Kind and bytes of an answer that has come."""

def drop_answer(promise: Started) -> None:
    """Nobody asks for it any more."""

def forget_mail(but: int) -> None:
    """All jobs are over, or all but one."""

def move_blocks(
    team: Team,
    what: str,
    source: NDArray[Any] | None,
    target: NDArray[Any] | None,
    root: int,
) -> None:
    """gather, all_gather, scatter or exchange of contiguous memory."""

def move_varying(
    team: Team, what: str, source: bytes | None, counts: list[int], root: int
) -> tuple[bytes, list[int]]:
    """gatherv, all_gatherv, scatterv or exchangev of bytes.

    Returns what has come, and where each block starts and the last one ends.
    """

def start_moving(
    team: Team,
    what: str,
    source: NDArray[Any] | None,
    target: NDArray[Any] | None,
    root: int,
) -> Started:
    """Starts a collective that moves blocks of contiguous memory, or a barrier."""

def start_combining(
    team: Team, what: str, array: NDArray[Any], operation: str, root: int, is_single: bool
) -> Started:
    """Starts all_reduce, reduce, scan or exscan of an array, in place.

    Or of a number of Python's, in 16 bytes, that is the array's memory.
    """

class PoolCall:
    """A call of a worker that is under way, or done."""

    @property
    def worker(self) -> int:
        """Number of the worker that has carried it out."""
    @property
    def has_worker(self) -> bool:
        """Whether a worker has it, and has not answered."""
    def wait(self, seconds: float, looks: bool, is_shared: bool) -> bool:
        """Whether it is done; back after that time, or when another thread wants its turn, or, if
        `is_shared`, when another call is done. Stays awake at first if it `looks`."""
    def reply(self) -> tuple[int, int, int]:
        """Status, length and ticket of its result. Raises why it has failed."""
    def is_done(self) -> bool:
        """Whether it is done, or has failed."""
    def cancel(self) -> None:
        """Gives it up if no worker has begun it."""

class ProcessPool:
    """Workers that are processes."""

    def __init__(
        self, workers: int, command: list[str], shared_bytes: int, depth: int, spin: float
    ) -> None: ...
    @property
    def size(self) -> int:
        """Number of workers."""
    @property
    def counts(self) -> tuple[int, int, int]:
        """Calls that have ended, how many of them failed, workers replaced."""
    def allocate(self, bytes: int) -> int:
        """Place of a block in shared memory."""
    def free(self, place: int) -> None:
        """Gives a block back."""
    def place_of(self, source: Any) -> int:
        """Where a buffer lies in shared memory; -1: it does not."""
    def place_of_array(self, source: Any) -> int:
        """The same of arrays that the user has made there, and of parts of them; -1 of results, too.
        """
    def write(self, place: int, source: Any) -> int:
        """Copies a buffer to a place; its length."""
    def read(self, place: int, bytes: int) -> bytes:
        """Bytes from a place on."""
    def own(self, place: int, bytes: int, use: int = 0) -> NDArray[np.uint8]:
        """Bytes of a block as an array, which keeps it. For arrays of the user's 0, results 1,
        what results go through 2."""
    def had(self, use: int) -> int:
        """Bytes of such arrays that somebody has."""
    def call(self, place: int, started: Any) -> None:
        """Has a worker handle the message in a place; the call becomes `started._started`."""
    def fetch(
        self, place: int, part: tuple[int, int, int], started: Any, fetched: Any
    ) -> None:
        """Has the worker of `started._started` put what it keeps in a place: of what ticket, from
        what byte on, how many. That call takes its place, and `fetched` becomes
        `started._fetched`."""
    def limit_calls(self, most: int) -> None:
        """Workers are replaced after so many calls, when nobody has any of these any more."""
    def progress(self) -> None:
        """Takes what has come and sends what waits."""
    def want_turn(self) -> None:
        """From any thread: a call's `wait` that is under way ends."""
    def kill_workers(self) -> None:
        """Ends the workers at once, and with them all calls that are not done."""

def serve_worker(
    handler: Callable[[memoryview, int, int, int, int], tuple[int, int, int]]
) -> bool:
    """In a process that was started as a worker: hands each message to `handler` until its pool
    ends. False, at once, in any other process."""

def predict_offload(
    send: float,
    fetch: float,
    compute: float,
    workers: int,
    pattern: str,
    same_for_all: bool,
    most: int,
) -> tuple[float, float, float, bool, int, int, list[float]]:
    """Parts of a prediction: `selion.offload.predict` gives them names."""

def offload_verdict(
    send: float,
    fetch: float,
    compute: float,
    workers: int,
    pattern: str,
    same_for_all: bool,
    most: int,
    block: int,
) -> str:
    """A prediction in a sentence."""

def build_facts() -> list[tuple[str, str]]:
    """What this library was built with: pairs of name and value, in words."""
