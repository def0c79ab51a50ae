"""The two workers: the first tutorial's, and pika's example of a threaded one."""

import json
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any

import pika
from broker import MARKS, QUORUM, connect, declare
from leaseproof_kit import OrderedFailure, obey, ready
from pika.exceptions import AMQPConnectionError, ConnectionClosedByBroker, ConnectionWrongStateError

line = cache(ready)


def consume(queue: str, slots: int) -> None:
    """As pika's example of a threaded consumer: a thread for each message, which the connection's thread ends."""
    connection = connect()
    channel, unsettled = connection.channel(), set()
    declare(channel, queue)
    channel.basic_qos(prefetch_count=slots)

    def on_message(_: Any, method: Any, properties: pika.BasicProperties, body: bytes) -> None:
        (MARKS / properties.message_id).write_text("running")
        unsettled.add(method.delivery_tag)
        threading.Thread(target=work, args=(method.delivery_tag, properties, body), daemon=True).start()

    def work(tag: int, properties: pika.BasicProperties, body: bytes) -> None:
        returned = (properties.headers or {}).get("x-delivery-count", 0)
        state, settle = "done", channel.basic_ack
        try:
            obey(json.loads(body)["job"], returned + 1 if QUORUM else None)
        except OrderedFailure as error:
            again = error.kind != "permanent"
            state, settle = "running" if again else "failed", partial(channel.basic_reject, requeue=again)
        with suppress(ConnectionWrongStateError):
            connection.add_callback_threadsafe(partial(end, tag, settle, properties.message_id, state))

    def end(tag: int, settle: Callable[[int], None], id: str, state: str) -> None:
        unsettled.discard(tag)
        if channel.is_open:
            settle(tag)
            channel.queue_declare(queue, passive=True)  # answered once the broker has taken what came before it
            (MARKS / id).write_text(state)

    channel.basic_consume(queue, on_message)
    line()
    try:
        channel.start_consuming()
    except KeyboardInterrupt:
        channel.stop_consuming()
    while unsettled:
        connection.process_data_events(time_limit=0.1)
    connection.close()


def hello(queue: str) -> None:
    """As the first tutorial has it."""
    channel = connect().channel()
    declare(channel, queue)

    def callback(_: Any, method: Any, properties: pika.BasicProperties, body: bytes) -> None:
        with suppress(OrderedFailure):
            obey(json.loads(body)["job"])

    channel.basic_consume(queue, callback, auto_ack=True)
    line()
    channel.start_consuming()


def tuned(queue: str, slots: int) -> None:
    told: list[int] = []

    def stop(number: int, _: object) -> None:
        told.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    while not told:
        try:
            consume(queue, slots)
        except (KeyboardInterrupt, ConnectionClosedByBroker):  # the README tells not to recover from the latter
            break
        except AMQPConnectionError:
            continue
