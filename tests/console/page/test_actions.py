"""Each action of the console by keys alone, at 10,000 partitions."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.client import Admin, Producer
from odradek.client.types import TopicPartition
from support.brokers.our_broker import OurBroker
from support.chromium import Tab

pytestmark = pytest.mark.ci


def button(text: str) -> str:
    """A condition: the element is a button that can be pressed, with this text."""
    return f"it.tagName === 'BUTTON' && !it.disabled && it.textContent === {text!r}"


def labelled(text: str) -> str:
    """A condition: the element is the control with this label."""
    return f"it.labels && it.labels.length && it.labels[0].textContent === {text!r}"


def choose(tab: Tab, label: str, first_letters: str) -> None:
    """Chooses an item of a list by typing."""
    tab.tab_to(labelled(label))
    tab.press(*first_letters)


def write(tab: Tab, label: str, text: str) -> None:
    """Replaces the text of a control."""
    tab.tab_to(labelled(label))
    tab.clear()
    tab.type(text)


def push(tab: Tab, text: str) -> None:
    """Goes to a button by Tab, and presses it."""
    tab.tab_to(button(text))
    tab.press("Enter")


def preview(tab: Tab) -> str:
    """Asks for the preview, and returns its command line."""
    push(tab, "Preview")
    found: str = tab.wait("document.querySelector('dialog .command pre')?.textContent")
    return found


def confirm(tab: Tab, text: str) -> str:
    """Presses the button that does it, and returns what the page says was done."""
    push(tab, text)
    tab.wait("!document.querySelector('dialog')")
    found: str = tab.wait("document.querySelector('#toast .note')?.firstChild.textContent")
    return found


async def ask(broker: OurBroker, method: str, *arguments: Any, **named: Any) -> Any:
    async with Admin(broker.bootstrap_servers) as admin:
        return await getattr(admin, method)(*arguments, **named)


def test_a_topic_among_thousands_is_found_and_opened(tab: Tab) -> None:
    tab.wait("/^1.002 of 1.004 topics, 10.148 partitions/.test(document.querySelector('.under').textContent)")
    assert tab.run("document.querySelectorAll('tbody tr').length") < 60  # rows in sight, not 1,001
    tab.press("/")
    tab.type("topic-0777")
    tab.wait("document.querySelector('.under').textContent.startsWith('1 of')")
    tab.press("ArrowDown", "Enter")
    tab.wait("location.hash === '#/topics/topic-0777' && document.querySelector('h1').textContent === 'topic-0777'")


def test_keys_move_in_a_table_of_thousands(tab: Tab) -> None:
    tab.go("#/topics/wide/partitions")
    tab.wait("document.querySelectorAll('tbody tr[tabindex]').length > 5")
    tab.tab_to("it.tagName === 'TR'")
    tab.press("End")
    tab.wait("document.activeElement.dataset.key === '4999'")
    tab.wait("document.activeElement.cells[2].textContent === '0'")  # its offsets came after it was in sight
    tab.press("Home", "ArrowDown", "PageDown")
    assert tab.run("document.activeElement.dataset.key") == "16"
    tab.press("Enter")
    tab.wait("location.hash === '#/topics/wide/partitions/16'")


def test_create_change_grow_and_delete_a_topic(tab: Tab, broker: OurBroker) -> None:
    push(tab, "Create topic")
    tab.wait("document.activeElement.labels?.[0]?.textContent === 'Name'")
    tab.type("by-keys")
    write(tab, "Partitions", "3")
    write(tab, "Configurations, one KEY=VALUE a line", "retention.ms=60000")
    assert preview(tab).endswith("--create --topic by-keys --partitions 3 --config retention.ms=60000")
    assert "by-keys" not in asyncio.run(ask(broker, "list_topics"))
    assert confirm(tab, "Create topic") == "Created topic by-keys with 3 partitions and 1 replicas."

    tab.go("#/topics/by-keys/configs")
    push(tab, "Change configurations")
    write(tab, "Set, one KEY=VALUE a line", "retention.ms=1000")
    assert "--alter --topic by-keys --add-config retention.ms=1000" in preview(tab)
    assert "A lower retention.ms deletes records" in tab.run("document.querySelector('dialog').textContent")
    confirm(tab, "Change")
    found = asyncio.run(ask(broker, "describe_configs", "topic", ["by-keys"]))
    assert {entry.name: entry.value for entry in found["by-keys"]}["retention.ms"] == "1000"

    tab.go("#/topics/by-keys/partitions")
    push(tab, "Add partitions")
    write(tab, "Partitions afterwards", "5")
    assert "--alter --topic by-keys --partitions 5" in preview(tab)
    confirm(tab, "Add partitions")
    tab.wait("document.querySelectorAll('tbody tr[tabindex]').length === 5")

    tab.go("#/topics/by-keys")
    push(tab, "Delete topic")
    tab.wait("document.activeElement.labels?.[0]?.textContent.startsWith('Type the name by-keys')")
    tab.type("by-key")
    assert tab.run("document.querySelector('dialog button.danger').disabled")
    tab.type("s")
    assert confirm(tab, "Delete topic") == "Deleted topic by-keys."
    assert tab.run("location.hash") == "#/topics"
    assert "by-keys" not in asyncio.run(ask(broker, "list_topics"))


def test_a_form_that_changed_after_its_preview_cannot_be_sent(tab: Tab) -> None:
    push(tab, "Create topic")
    tab.type("one")
    preview(tab)
    tab.tab_to(button("Create topic"))
    write(tab, "Name", "another")
    assert tab.run("document.querySelector('dialog button.main').disabled")
    tab.press("Escape")
    tab.wait("!document.querySelector('dialog')")


def test_produce_a_record_then_send_it_edited(tab: Tab, broker: OurBroker) -> None:
    tab.go("#/topics/topic-0001")
    push(tab, "Produce")
    write(tab, "Partition", "2")
    choose(tab, "Key as", "t")
    write(tab, "Key", "k-1")
    write(tab, "Value", '{"n": 1}')
    write(tab, "Headers, one NAME=VALUE a line", "trace=abc")
    assert preview(tab).startswith("printf '%s\\n' '{\"n\": 1}' | odradek produce")
    assert confirm(tab, "Write the record") == "Wrote the record to partition 2 at offset 0."
    tab.wait("document.querySelectorAll('tbody tr[tabindex]').length === 1")
    tab.tab_to("it.tagName === 'TR'")
    tab.press("Enter")
    tab.wait("document.querySelector('dialog pre')?.textContent === 'k-1'")
    assert tab.run("location.hash.includes('record=2%3A0')")
    push(tab, "Edit and send again")
    tab.wait("document.querySelector('#dialog-title').textContent === 'Send an edited record'")
    write(tab, "Value", '{"n": 2}')
    preview(tab)
    assert confirm(tab, "Write the record") == "Wrote the record to partition 2 at offset 1."
    ends = asyncio.run(ask(broker, "list_offsets", {TopicPartition("topic-0001", 2): -1}))
    assert ends[TopicPartition("topic-0001", 2)].offset == 2


def test_offsets_are_reset(tab: Tab, broker: OurBroker) -> None:
    tab.go("#/groups/readers")
    push(tab, "Reset offsets")
    write(tab, "Topic", "orders")
    choose(tab, "To", "the end")
    assert "--reset-offsets --group readers --topic orders --to-latest --execute" in preview(tab)
    assert "Partition 5: 3 becomes 50." in tab.run("document.querySelector('dialog').textContent")
    assert confirm(tab, "Reset offsets") == "Reset the offsets of group readers in 6 partitions of orders."
    offsets = asyncio.run(ask(broker, "list_group_offsets", "readers"))
    assert offsets[TopicPartition("orders", 5)].offset == 50


ROWS = "document.querySelectorAll('tbody tr[tabindex]').length"
LOOKED = "document.querySelector('.looked').textContent"


def test_search_says_how_far_it_looked(tab: Tab) -> None:
    tab.go("#/topics/orders")
    tab.press("/")
    tab.type('"c-3"')
    push(tab, "Show")
    tab.wait(f"{LOOKED}.includes('18 found; searched everything')")
    assert tab.run(ROWS) == 18
    assert "Looked at 306 records in " in tab.run(LOOKED)
    assert "of 6 partitions" in tab.run(LOOKED)
    assert "text=%22c-3%22" in tab.run("location.hash")


def test_a_search_that_has_its_rows_can_be_resumed(tab: Tab) -> None:
    tab.go("#/topics/orders?text=customer&limit=20&start=earliest&direction=forward")
    tab.wait(f"{LOOKED}.includes('20 found; stopped: resume to go on')")
    push(tab, "Resume")
    tab.wait(f"{LOOKED}.includes('40 found; stopped: resume to go on')")
    assert tab.run("document.querySelector('table').getAttribute('aria-rowcount')") == "41"
    keys = "new Set(table_rows.map((it) => it.dataset.key)).size".replace(
        "table_rows", "[...document.querySelectorAll('tbody tr[tabindex]')]"
    )
    assert tab.run(keys) == tab.run(ROWS)


def test_a_stopped_search_can_be_resumed(tab: Tab) -> None:
    tab.go("#/topics/orders?text=nowhere-at-all&start=earliest&direction=forward")
    tab.wait(f"{LOOKED}.includes('searched everything')")
    # The stream of the test: it ends only when it is stopped.
    tab.run(
        """void (window.EventSource = class { constructor(url) { window.asked = url; window.stream = this; }
          addEventListener() {} close() { window.isClosed = true; } })"""
    )
    push(tab, "Show")
    tab.run(
        """stream.onmessage({ data: JSON.stringify({ rows: [], isDone: false, records: "7", bytes: "70", partitions: 1,
          offsets: [{ partition: 0, position: "7", start: "0", end: "50", stable: "50" }], cursor: "0:7" }) })"""
    )
    tab.wait(f"{LOOKED}.includes('Looked at 7 records in 70 B of 1 partition, offsets 0 to 50, now at 7')")
    push(tab, "Stop")
    assert tab.run("window.isClosed")
    push(tab, "Resume")
    assert "cursor=0%3A7" in tab.run("window.asked")


def test_a_session_that_ended_is_opened_again(tab: Tab) -> None:
    """A console that needs no login opens a new one: its process may have ended and started again."""
    tab.run("tell('session/end', {})")
    tab.go("#/cluster")
    tab.wait("document.querySelector('h1').textContent === 'Cluster' && main.textContent.includes('Brokers')")
    assert [fault for fault in tab.faults if "401" not in fault] == []
    tab.faults.clear()


def test_transactions_control_records_null_and_empty_are_visible(tab: Tab) -> None:
    tab.go("#/topics/orders?partitions=0")
    tab.wait("document.querySelectorAll('tbody tr[tabindex]').length > 4")
    rows = tab.run(
        "[...document.querySelectorAll('tbody tr[tabindex]')].slice(0, 4).map((row) => row.cells[4].innerText)"
    )
    assert rows[0].startswith("293 KiB")
    assert rows[1:] == ["hex ff 00", "empty", "null"]
    tab.go("#/topics/orders?partitions=1&limit=20")
    tab.wait("document.querySelectorAll('tbody tr[tabindex]').length > 4")
    rows = tab.run("[...document.querySelectorAll('tbody tr[tabindex]')].slice(0, 2).map((row) => row.innerText)")
    assert "ABORT, coordinator epoch 0" in rows[0]
    assert "aborted dropped" in rows[1]


def test_numbers_of_64_bits_keep_their_digits(tab: Tab) -> None:
    tab.go("#/topics/orders?record=1%3A0")
    tab.wait("document.querySelector('dialog pre')")
    assert '"order": 90071992547409932,' in tab.run("document.querySelector('dialog').textContent")


def test_rows_do_not_move_under_the_pointer(tab: Tab, broker: OurBroker) -> None:
    async def produce(value: bytes) -> None:
        async with Producer(broker.bootstrap_servers) as producer:
            await producer.send_and_wait("topic-0002", value)

    tab.go("#/topics/topic-0002")
    push(tab, "Tail")
    tab.wait("document.querySelector('.looked').textContent.includes('tail')")
    asyncio.run(produce(b"first"))
    tab.wait("document.querySelector('tbody tr[tabindex]')?.innerText.includes('first')")
    x, y = tab.run(
        "(() => { const b = document.querySelector('tbody tr[tabindex]').getBoundingClientRect();"
        " return [b.x + 200, b.y + 10]; })()"
    )
    tab.point(x, y)
    asyncio.run(produce(b"second"))
    tab.wait("[...document.querySelectorAll('button')].some((it) => it.textContent === 'Show 1 new record')")
    assert "first" in tab.run(f"document.elementFromPoint({x}, {y}).closest('tr').innerText")
    tab.point(5, 5)
    tab.wait("document.querySelector('tbody tr[tabindex]').innerText.includes('second')")
    push(tab, "Stop")
    tab.wait("document.querySelector('.looked').textContent.includes('stopped')")


def test_a_value_is_downloaded_whole(tab: Tab, tmp_path: Path) -> None:
    tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path), eventsEnabled=False)
    tab.go("#/topics/orders?record=0%3A53")
    tab.wait("document.querySelector('dialog')?.textContent.includes('293 KiB')")
    found = tab.run(
        "fetch([...document.querySelectorAll('dialog a')].find((it) => it.textContent === 'Download the value').href)"
        ".then(async (answer) => [answer.headers.get('content-disposition'), (await answer.arrayBuffer()).byteLength])"
    )
    assert found == ['attachment; filename="orders-0-53.value"', 300_000]


def test_one_switch_for_all_times(tab: Tab) -> None:
    tab.zone("Asia/Kathmandu")
    tab.go("#/topics/orders?partitions=2&start=earliest&direction=forward")
    tab.wait("document.querySelector('tbody tr[tabindex]')?.cells[0].textContent === '2023-11-14T22:13:20.002Z'")
    push(tab, "Local")
    tab.wait("document.querySelector('tbody tr[tabindex]')?.cells[0].textContent === '2023-11-15T03:58:20.002+05:45'")
    tab.go("#/topics/orders?start=time&time=1700000000002&direction=forward&limit=20")
    tab.wait("document.querySelector('tbody tr[tabindex]')?.cells[2].textContent === '0'")
    assert tab.run("document.querySelector('input[type=datetime-local]').value") == "2023-11-15T03:58:20.002"


def test_a_deep_link_shows_the_same_again(tab: Tab) -> None:
    tab.press("/")
    tab.type("topic-09")
    tab.wait("location.hash.includes('search=topic-09')")
    tab.call("Page.reload")
    tab.wait(
        "document.querySelector('#search')?.value === 'topic-09' && document.querySelectorAll('tbody tr').length > 5"
    )
    assert tab.run("document.querySelector('.under').textContent").startswith("98 of")


def test_keys_jump_and_the_first_tab_skips_to_the_content(tab: Tab) -> None:
    tab.press("g", "c")
    tab.wait("location.hash === '#/cluster' && main.dataset.ready === '#/cluster'")
    tab.run("document.activeElement.blur()")
    tab.tab_to("it.id === 'skip'")
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "main"
    tab.press("?")
    tab.wait("document.querySelector('#dialog-title')?.textContent === 'Keys'")
    tab.press("Escape")
    tab.wait("!document.querySelector('dialog')")
