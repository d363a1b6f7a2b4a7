"""Numbers as people read them, on the page and on the terminal. Pure."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def bytes_text(size: float) -> str:
    """Bytes with a unit, such as 1.4 MiB."""
    for unit in _UNITS:
        if size < 1024 or unit == _UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("a unit fits")


def count_text(number: float) -> str:
    """A number with thin spaces between thousands, such as 1 234 567; a fraction has two decimals."""
    text = f"{number:,.2f}" if isinstance(number, float) and not number.is_integer() else f"{int(number):,}"
    return text.replace(",", "\u2009")


def plural(number: int, noun: str) -> str:
    """A number with its noun, such as 1 replica or 2 000 replicas."""
    return f"{count_text(number)} {noun}{'' if number == 1 else 's'}"


def duration_text(milliseconds: float) -> str:
    """A duration in its two largest units, such as 3 d 4 h; "not known" for a negative one."""
    if milliseconds < 0:
        return "not known"
    seconds = int(milliseconds) // 1000
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    shown = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(shown[:2]) or "0 s"
