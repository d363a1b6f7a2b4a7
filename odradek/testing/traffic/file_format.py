"""The file format of recordings: JSON lines, readable by people, ``diff`` and programs. Pure.

The first line names the format. Then each request and each answer has a line, in the order in which they happened
(docs/recording.md). The time stands at the end of a line, because it differs between recordings.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from odradek.protocol.apis.api_keys import ApiKey, api

from .exchange import LazyDocument, RecordedExchange

FORMAT = "odradek_traffic"
FORMAT_VERSION = 1


def lines_of(exchanges: Iterable[RecordedExchange]) -> list[str]:
    """The lines of a recording file, without line ends."""
    steps: list[tuple[int, dict[str, Any]]] = []
    for exchange in exchanges:
        steps.append((exchange.step, _request_line(exchange)))
        if exchange.answer_step is not None:
            steps.append((exchange.answer_step, _answer_line(exchange)))
    steps.sort(key=lambda step: step[0])
    return [json.dumps(line, ensure_ascii=False) for line in [{FORMAT: FORMAT_VERSION}, *(line for _, line in steps)]]


def read_lines(lines: Sequence[str], name: str) -> list[RecordedExchange]:
    """Parses a recording file. Raises ValueError with the file's ``name`` and the number of the wrong line."""
    found: dict[int, RecordedExchange] = {}
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
            if not isinstance(line, dict):
                raise ValueError("a line must be an object")
            if number == 1:
                _check_format(line)
            elif "request" in line:
                exchange = _request_of(line, number)
                if exchange.number in found:
                    raise ValueError(f"number {exchange.number} occurs twice")
                found[exchange.number] = exchange
            else:
                _take_answer(found, line, number)
        except KeyError as missing:
            raise ValueError(f"{name}, line {number}: {missing} is missing") from None
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}, line {number}: {error}") from None
    if not lines:
        raise ValueError(f"{name} is empty: a recording begins with a line that names the format")
    return list(found.values())


def _check_format(line: dict[str, Any]) -> None:
    if FORMAT not in line:
        raise ValueError(f'not a recording: it must begin with {{"{FORMAT}": {FORMAT_VERSION}}}')
    if line[FORMAT] != FORMAT_VERSION:
        raise ValueError(f"this version reads format {FORMAT_VERSION}, not {line[FORMAT]!r}")


def _request_line(one: RecordedExchange) -> dict[str, Any]:
    return {
        "number": one.number,
        "api": one.api,
        "version": one.version,
        "connection": one.connection,
        "client_id": one.client_id,
        "request": one.request,
        "time": _time(one.time_ms),
    }


def _answer_line(one: RecordedExchange) -> dict[str, Any]:
    answer = {"closed": one.closed} if one.closed is not None else {"answer": one.response}
    return {"answer_to": one.number, "api": one.api, **answer, "time": _time(one.answer_ms or 0)}


def _request_of(line: dict[str, Any], step: int) -> RecordedExchange:
    shown = line["request"]
    if not isinstance(shown, dict):
        raise ValueError("request must be an object")
    return RecordedExchange(
        number=_whole(line, "number"),
        connection=_whole(line, "connection"),
        client_id=line["client_id"],
        api_key=_key_of(line["api"]),
        version=_whole(line, "version"),
        time_ms=_ms(line["time"]),
        step=step,
        sent=LazyDocument(lambda: shown),
    )


def _take_answer(found: dict[int, RecordedExchange], line: dict[str, Any], step: int) -> None:
    exchange = found.get(_whole(line, "answer_to"))
    if exchange is None:
        raise ValueError(f"the answer to {line['answer_to']} comes before the request")
    exchange.answer_ms = _ms(line["time"])
    exchange.answer_step = step
    if "closed" in line:
        exchange.closed = str(line["closed"])
        return
    answer = line["answer"]
    if answer is not None and not isinstance(answer, dict):
        raise ValueError("answer must be an object, or null for a request without an answer")
    exchange.answered = None if answer is None else LazyDocument(lambda: answer)


def _key_of(name: object) -> int:
    keys = {api(key).name: int(key) for key in ApiKey}
    if not isinstance(name, str) or name not in keys:
        raise ValueError(f"{name!r} is not a Kafka API")
    return keys[name]


def _whole(line: dict[str, Any], name: str) -> int:
    value = line[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be an integer")
    return value


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
