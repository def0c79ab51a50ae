"""The Ruby kit."""

from tests.kits.cases import Cases
from tests.kits.conftest import Kit


class TestRuby(Cases):
    kit = Kit(
        worker=["ruby", "-w", "-I{kits}/ruby", "{here}/ruby/worker.rb"],
        control=["ruby", "-w", "-I{kits}/ruby", "{here}/ruby/control.rb"],
        programs={"ruby": "apt-get install ruby"},
    )
