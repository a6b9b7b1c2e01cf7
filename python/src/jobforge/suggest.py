"""Names the option that a caller probably meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def suggest(name: str, known: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
    """Returns a sentence such as "Did you mean tenant?", or the list of all options.

    `aliases` maps a name in lower case without separators to a sentence, or to the name of an option.
    """
    names = list(known)
    plain = _plain(name)
    alias = (aliases or {}).get(plain)
    if alias is not None:
        return f"Did you mean {alias}?" if alias in names else alias
    by_plain = {_plain(each): each for each in names}
    nearest = get_close_matches(plain, by_plain, n=1, cutoff=0.75)
    return f"Did you mean {by_plain[nearest[0]]}?" if nearest else f"Known options: {', '.join(names)}."


def check_known(
    options: Iterable[str],
    known: Iterable[str],
    aliases: Mapping[str, str] | None = None,
    *,
    at: str = "",
) -> None:
    """Refuses options that do not exist, and names the one that was probably meant."""
    names = list(known)
    for name in options:
        if name not in names:
            field = f"{at}{name}"
            hint = suggest(name, names, aliases)
            raise InvalidArgumentError(f"Invalid argument: {field} is not a known option", field=field, hint=hint)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
