"""A test of very many small cases as one case: pytest needs more time for a case than most of these take.

Use it instead of ``pytest.mark.parametrize`` if no fixture must be new for each case::

    @each("seed", range(200))
    def test_what_goes_in_comes_out(seed: int) -> None: ...

Every case runs. Those that fail are named in the failure, each with its own traceback. ``TESTS_EACH=17`` runs the
case of that name alone (a broker would take a variable that begins with ODRADEK_ for a key).
"""

import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any

ONLY = "TESTS_EACH"
SHOWN = 5
"""The number of failed cases whose tracebacks are shown. All are named."""


def each(
    names: str | tuple[str, ...], cases: Iterable[Any], ids: Callable[[Any], str] = str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Runs the test once for each case. ``names`` are its parameters; ``ids`` makes the name of one value."""
    together = (names,) if isinstance(names, str) else names
    rows = [(case,) if isinstance(names, str) else tuple(case) for case in cases]

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        def run(**fixtures: Any) -> None:
            only = os.environ.get(ONLY)
            failed: dict[str, Exception] = {}
            for row in rows:
                name = "-".join(map(ids, row))
                if only in (None, name):
                    try:
                        test(**dict(zip(together, row, strict=True)), **fixtures)
                    except Exception as error:  # noqa: BLE001  # raised below, with the others
                        error.add_note(f"case {name}")
                        failed[name] = error
            if failed:
                said = f"{len(failed)} of {len(rows)} cases failed: {', '.join(failed)}"
                raise ExceptionGroup(said, list(failed.values())[:SHOWN])

        signature = inspect.signature(test)
        kept = [parameter for parameter in signature.parameters.values() if parameter.name not in together]
        run.__name__, run.__qualname__, run.__doc__, run.__module__ = (
            test.__name__, test.__qualname__, test.__doc__, test.__module__,
        )  # fmt: skip
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        run.pytestmark = getattr(test, "pytestmark", [])  # type: ignore[attr-defined]
        return run

    return decorated
