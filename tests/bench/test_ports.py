"""A server that is down for a while must get its port back, so nobody else may be given it meanwhile."""

import socket
from pathlib import Path

import pytest

from bench import ports


def test_no_two_are_alike_and_none_is_given_to_outgoing_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "range"
    given.write_text("12000\t60999\n")
    monkeypatch.setattr(ports, "RANGE", given)
    found = ports.free_ports(50)
    assert len(set(found)) == 50
    assert all(ports.LEAST <= port < 12000 for port in found)


def test_one_that_somebody_has_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as thief:
        thief.bind(("127.0.0.1", 0))
        mine = thief.getsockname()[1]
        monkeypatch.setattr(ports, "LEAST", mine - ports.ENOUGH)
        monkeypatch.setattr(ports, "RANGE", given := tmp_path / "range")
        given.write_text(f"{mine + 1} 65535")
        assert mine not in ports.free_ports(ports.ENOUGH // 2)


def test_where_nearly_all_are_given_away_any_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "RANGE", given := tmp_path / "range")
    given.write_text("1024 65535")
    assert len(set(ports.free_ports(3))) == 3
