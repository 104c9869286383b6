"""A server that a study brings: its table, its stacks, and what is refused in a line."""

import re
from pathlib import Path

import msgspec
import pytest

from dragstrip.model.configuration import differing_lines
from dragstrip.model.errors import InputError
from dragstrip.model.inequality import sentences
from dragstrip.model.servers import Server, known
from dragstrip.study.file import read_spec
from dragstrip.study.gaps import servers
from dragstrip.study.presets import find_stack, stacks
from dragstrip.study.servers import parse_server, placed, read_server, stacks_of
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.servers.packages import home_of
from dragstrip.testbed.servers.site import places_of, port_of
from dragstrip.testbed.servers.template import arguments, mentioned, render

STUDY = """
pages = ["demo"]
networks = ["LTE"]
stacks = ["h2", "mine-h2", "mine-h3"]
runs = 1
[server.mine]
command = "./serve --port {{ port }}"
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "serve"
    path.write_text("#!/bin/sh\n")
    return path


def test_a_study_brings_a_server_and_its_stacks(tmp_path, program):
    (tmp_path / "study.toml").write_text(STUDY)
    _, h2, h3 = read_spec(tmp_path / "study.toml").stacks
    assert (h2.server, h2.protocol, h3.protocol) == ("mine", "h2", "h3")
    assert h2.brought.command == (str(program), "--port", "{{ port }}")
    assert "requests" in h2.untold, "no log, no word"


def test_a_base_lends_its_configuration_to_another_build(tmp_path, program):
    nginx = known()["nginx"]
    table = {"base": "nginx", "command": ["./serve", "-c", "{{ config }}"]}
    server = read_server("old", table, tmp_path)
    assert server.command == (str(program), "-c", "{{ config }}")
    assert (server.config, server.log, server.own) == (nginx.config, nginx.log, nginx.own)
    assert (server.package, server.name) == ("", "old")
    assert set(stacks_of(server)) == {"old-h1", "old-h2", "old-h3"}
    with pytest.raises(InputError, match=r"unknown base 'nginks'; choose from .*nginx"):
        read_server("old", table | {"base": "nginks"}, tmp_path)


def test_a_base_runs_with_another_configuration(tmp_path):
    (tmp_path / "own.conf").write_text(known()["nginx"].config.replace("sendfile on", "gzip on"))
    server = read_server("gz", {"base": "nginx", "config_file": "own.conf"}, tmp_path)
    nginx = known()["nginx"]
    assert (server.command, server.package) == (nginx.command, nginx.package)
    assert home_of(server) == home_of(nginx)
    assert port_of(server) != port_of(nginx)
    assert differing_lines(nginx, server) == ["- sendfile on;", "+ gzip on;"]
    ours, theirs = stacks_of(server)["gz-h2"], find_stack("nginx-h2")
    assert ours.fingerprint != theirs.fingerprint
    [said] = sentences(ours, [theirs])
    assert "differ in: configuration of nginx (2 lines: - sendfile on;; + gzip on;)." in said
    assert "one program in two configurations" in servers([theirs, ours])


def test_a_command_may_use_the_programs_of_its_base(tmp_path):
    command = ["{{ loader }}", "{{ home }}/usr/sbin/nginx", "-g", "x;", "-c", "{{ config }}"]
    server = read_server("x", {"base": "nginx", "command": command}, tmp_path)
    assert (server.base, server.command) == ("nginx", tuple(command))


def test_another_build_is_another_stack(tmp_path, program):
    (tmp_path / "study.toml").write_text(STUDY)
    before = read_spec(tmp_path / "study.toml").stacks[1]
    program.write_text("#!/bin/sh\n# faster\n")
    after = read_spec(tmp_path / "study.toml").stacks[1]
    assert before.fingerprint != after.fingerprint
    assert before.fingerprint != find_stack("h2").fingerprint


def test_one_line_brings_one_too(tmp_path, program, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = parse_server("./serve --listen {address}:{port} {config}")
    assert server.name == "serve"
    assert server.command[1:] == ("--listen", "{{ address }}:{{ port }}", "{{ config }}")
    assert parse_server("old=./serve {config}").name == "old"
    assert parse_server("./serve A=b").name == "serve"


def test_a_stack_on_it_keeps_what_can_be_asked(tmp_path, program):
    mine = read_server("mine", {"command": ["./serve"]}, tmp_path)
    wide = placed(find_stack("TCP-TLS1.2"), mine, find_stack("h2"))
    assert (wide.name, wide.tls, wide.pacing) == ("mine-TCP-TLS1.2", "1.2", False)
    with pytest.raises(InputError, match=r"stack h3\+ on server mine: .* initial_window_packets"):
        placed(find_stack("h3+"), mine, find_stack("h3"))
    with pytest.raises(InputError, match="pacing = False and no other"):
        placed(find_stack("h2+"), mine, find_stack("h2"))


def test_what_it_decides_itself_is_said(tmp_path, program):
    mine = read_server("mine", {"command": ["./serve"]}, tmp_path)
    h2, h3 = (placed(find_stack(p), mine, find_stack(p)) for p in ("h2", "h3"))
    [said] = sentences(h3, [h2])
    assert "what mine decides itself (congestion control, initial window, pacing" in said
    assert "initial window of its own choice" in h3.describe()
    assert sentences(h2, [h2]) == []


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({}, "lacks a command"),
        ({"command": "./nowhere"}, "no such program: ./nowhere"),
        ({"command": "./serve", "protocols": ["h4"]}, "unknown protocol 'h4'"),
        ({"command": "./serve", "speed": 1}, "unknown field `speed`"),
        ({"command": "./serve", "log": {"fields": {}}}, "fields lacks"),
        ({"command": "./serve", "config_file": "none.conf"}, "config_file .*none.conf"),
    ],
)
def test_a_wrong_table_is_one_clear_line(tmp_path, program, table, complaint):
    with pytest.raises(InputError, match=complaint) as told:
        read_server("mine", table, tmp_path)
    assert str(told.value).startswith("server 'mine': ")
    assert "\n" not in str(told.value)


def test_names_that_are_taken_or_odd_are_refused(tmp_path, program):
    for name in ("nginx", "A B"):
        with pytest.raises(InputError, match="name"):
            read_server(name, {"command": "./serve"}, tmp_path)


def test_what_the_client_table_cannot_say_is_refused(tmp_path):
    (tmp_path / "study.toml").write_text(
        'pages = ["demo"]\nnetworks = ["LTE"]\nstacks = ["h1", "h2"]\nruns = 1\n'
        '[client]\nbrowser = "firefox"\n'
    )
    with pytest.raises(InputError, match="a stack names its browser"):
        read_spec(tmp_path / "study.toml")


def test_every_known_server_has_stacks_and_its_own_place():
    for server in known().values():
        if server.driver == "program":
            assert {f"{server.name}-{p}" for p in server.protocols} <= set(stacks())
    ends = [(s.beside, port_of(s)) for s in known().values()]
    assert len(set(ends)) == len(ends)
    assert places_of(known()["caddy"], {"a.test": "10.64.1.1"}) == {"a.test": "10.64.1.1:8443"}


def test_templates_name_what_is_wrong():
    assert arguments(["a", "{{ addresses }}", "p={{ port }}"], addresses=["x", "y"], port=1) == [
        "a",
        "x",
        "y",
        "p=1",
    ]
    assert mentioned("{{ root }} {% for h in hosts %}{{ h.name }}{% endfor %}") == {"root", "hosts"}
    with pytest.raises(TestbedError, match="config: 'prot' is undefined; choose from port"):
        render("{{ prot }}", "config", port=1)
    with pytest.raises(TestbedError, match="config, line 2: "):
        render("\n{% for %}", "config", port=1)


def test_the_how_to_adds_a_server_that_is_available():
    """The file in docs/howto/add-a-server.md is a whole server."""
    text = (Path(__file__).parents[3] / "docs" / "howto" / "add-a-server.md").read_text()
    [table] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    toy = msgspec.convert({**msgspec.toml.decode(table), "name": "toy"}, Server)
    assert set(stacks_of(toy)) == {"toy-h1", "toy-h2", "toy-h3"}
    values = {
        name: name
        for name in ("address", "port", "config", "certificate", "key", "upstream", "log")
    }
    assert mentioned(toy.config, *toy.command) <= set(values)
    assert arguments(toy.command, **values)[2] == "address:port"
    assert "proxy unix:upstream" in render(toy.config, "config", **values)
