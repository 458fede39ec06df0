"""What a fetch says at once, on a terminal or not: which server fails, and what nothing proves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anabranch.transfer.fetched import FetchState

SIZE_ALONE = (
    "nothing proves that the servers have the same bytes: they agree in size alone; give the hash of the file "
    "(--hash sha256:...), or the URL of one server"
)


class Notices:
    """The lines that a fetch has not printed yet; each is given once, however often what it says comes about."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self.given: set[str] = set()

    def new(self, state: FetchState) -> list[str]:
        """Give the lines that a state is the first to call for."""
        is_alone = not any(source["standing"] in {"preparing", "waiting", "sending"} for source in state.sources)
        lines = {source["source"]: self._lost(source, is_alone) for source in state.sources if _is_lost(source)}
        if state.agree_in_size_alone:
            lines["size"] = SIZE_ALONE
        fresh = {about: line for about, line in lines.items() if about not in self.given}
        self.given |= set(fresh)
        return list(fresh.values())

    def _lost(self, source: dict[str, Any], is_alone: bool) -> str:
        """Say why a source is not there, and until when it is tried again."""
        name = source["source"]
        what = "is lost" if source["losses"] else "cannot be reached"
        end = f", and the fetch ends after {self.patience_s:g} s without any server (--patience)"
        until = end if is_alone else " while the others go on"
        return f"{name} {what} ({source['why'].removeprefix(f'{name}: ')}); it is tried again{until}"


def _is_lost(source: dict[str, Any]) -> bool:
    return source["standing"] == "lost" and bool(source["why"])
