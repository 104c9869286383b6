"""`dragstrip page`: make and inspect pages."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from dragstrip.browsers.chromium import here
from dragstrip.browsers.record import record
from dragstrip.cli.pages.graph import print_graph
from dragstrip.cli.places import page_cache
from dragstrip.model.browsers import TODAY, find_browser, is_path
from dragstrip.model.done import AT_LOAD
from dragstrip.model.errors import InputError
from dragstrip.model.page import Page
from dragstrip.model.study import Client
from dragstrip.model.units import parse_duration_ms, parse_size_bytes
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth as synthesise
from dragstrip.pages.graph.store import graph_of, with_graph
from dragstrip.pages.importers.limits import DEFAULT, Limits
from dragstrip.pages.importers.wish import Wish
from dragstrip.pages.resolve import import_page, page_name, resolve, split
from dragstrip.pages.show import PageShare, summarise
from dragstrip.pages.tree import TreeResource, depths, initiator_tree
from dragstrip.report.words.numbers import counted
from dragstrip.testbed.workspace import workspace

if TYPE_CHECKING:
    from dragstrip.verdict.page_check import Check

_CHANGES = 6
"""Most changes of a page that are printed without --verbose."""
_SIBLINGS = 6
"""Most children per resource that are printed. The drawing shows all."""

app = typer.Typer(help="Record, import, synthesise and inspect pages.", no_args_is_help=True)

_Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Page file to write, a .har.zip (default: NAME.har.zip in the current folder).",
    ),
]
_Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="List hosts, types, statuses and changes.")
]
_READABLE = ".har.zip"
_RECORDED = "recorded"
"""Value of the option for the think times in the recording."""


@app.command("import")
def import_(
    file: Annotated[
        str,
        typer.Argument(
            help="Recording (docs/howto/pages.md), or FILE#2 for one of its pages.", metavar="FILE"
        ),
    ],
    out: _Out = None,
    page: Annotated[
        str,
        typer.Option(help="Which page of several: number, id, URL or title (default: the first)."),
    ] = "",
    busy: Annotated[
        bool,
        typer.Option(
            help="Keep the browser as busy as the recorded scripts did, with synthetic scripts."
        ),
    ] = False,
    keep_http: Annotated[
        bool, typer.Option(help="Serve http:// as recorded (HTTP/1.1, no TLS), not as https://.")
    ] = False,
    done: Annotated[
        str,
        typer.Option(
            help="When the page counts as loaded: load, network-idle, selector:CSS or mark:NAME."
        ),
    ] = AT_LOAD,
    think: Annotated[
        str,
        typer.Option(
            help="How long the server takes for the document, like 80ms; studies with think_time "
            "play it.",
        ),
    ] = _RECORDED,
    keep_secrets: Annotated[
        bool, typer.Option(help="Keep cookies, credentials and tokens (docs/howto/record.md).")
    ] = False,
    max_bytes: Annotated[
        str, typer.Option(help="What the recording may unpack to at most.")
    ] = f"{DEFAULT.max_bytes // 10**9}GB",
    max_ratio: Annotated[
        int, typer.Option(min=1, help="By how much anything in it may be compressed.")
    ] = DEFAULT.max_ratio,
    max_records: Annotated[
        int, typer.Option(min=1, help="How many records or files it may have.")
    ] = DEFAULT.max_records,
    max_name: Annotated[
        int, typer.Option(min=1, help="How long a URL or a line of a header may be.")
    ] = DEFAULT.max_name,
    max_depth: Annotated[
        int, typer.Option(min=1, help="How deep folders may lie in folders.")
    ] = DEFAULT.max_depth,
    verbose: _Verbose = False,
) -> None:
    """Turn a recording into a page."""
    path, part = split(file)
    target = _target(out, page_name(path))
    if target.exists() and target.samefile(path):
        raise InputError(f"{path} would be overwritten; give another --out")
    wish = Wish(
        part=page or part,
        busy=busy,
        keep_http=keep_http,
        keep_secrets=keep_secrets,
        done=done,
        think_ms=None if think == _RECORDED else parse_duration_ms(think),
        limits=Limits(
            max_bytes=parse_size_bytes(max_bytes),
            max_ratio=max_ratio,
            max_records=max_records,
            max_name=max_name,
            max_depth=max_depth,
        ),
    )
    _print(import_page(path, target, wish), verbose=verbose)


@app.command()
def synth(
    spec: Annotated[
        str,
        typer.Argument(
            help="Objects and size, like 64x10KB, 50x400B-8KB, 16x10KB:mix@4, 1x5MB:post.",
            metavar="NxSIZE",
        ),
    ],
    hosts: Annotated[
        int | None,
        typer.Option(min=1, help="Spread the objects over this many hosts (default: 1)."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the objects' content.")] = 0,
    out: _Out = None,
    verbose: _Verbose = False,
) -> None:
    """Make a page of N objects of exactly SIZE, or of sizes in a range."""
    recording = synthesise(spec, hosts=hosts, seed=seed)
    _print(write_page(_target(out, recording.name), recording), verbose=verbose)


@app.command("record")
def record_(
    url: Annotated[str, typer.Argument(help="An http(s) URL you can reach.", metavar="URL")],
    out: _Out = None,
    settle: Annotated[
        str, typer.Option(help="Keep recording this long after the load event.")
    ] = "2s",
    keep_secrets: Annotated[
        bool, typer.Option(help="Keep cookies, credentials and tokens (docs/howto/record.md).")
    ] = False,
    ca: Annotated[
        Path | None,
        typer.Option(help="CA certificate (PEM) to trust as well (default: none)."),
    ] = None,
    verbose: _Verbose = False,
) -> None:
    """Load a page in Chromium and record every response."""
    if out:
        _target(out, "")
    settle_ms = parse_duration_ms(settle)
    with workspace() as folder:
        recording = record(
            here(folder, ca), url, Client(), settle_ms=settle_ms, keep_secrets=keep_secrets
        )
        _print(write_page(_target(out, recording.name), recording), verbose=verbose)


@app.command()
def show(
    page: Annotated[str, typer.Argument(help="A recording, 'demo', or 'synth:64x10KB'.")],
    checks: Annotated[
        bool, typer.Option("--check", help="Replay it and compare the replay with the recording.")
    ] = False,
    virtual: Annotated[
        bool,
        typer.Option(
            "--virtual", help="With --check: replay in virtual time, exact and without privileges."
        ),
    ] = False,
    browser: Annotated[
        str | None,
        typer.Option(
            help="With --check: browser to use, 'firefox' or the path of your own Chromium "
            "(default: Chromium's headless shell).",
            metavar="NAME|PATH",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Also draw it, with a waterfall, to this .html (default: no file)."
        ),
    ] = None,
) -> None:
    """Print a page: hosts, objects, bytes, dependencies. With --out, draw it."""
    # Drawing and scoring load slowly; wrong input must not wait for them.
    from dragstrip.execution.by_clock import checked

    if virtual and not checks:
        raise InputError("--virtual needs --check: without it nothing is replayed")
    if browser is not None and not checks:
        raise InputError("--browser needs --check: without it nothing is replayed")
    checking = _browser(browser or TODAY)
    resolved = resolve(page, page_cache())
    _print(resolved, verbose=True)
    _print_tree(resolved)
    results = []
    for one in checked(resolved, virtual=virtual, browser=checking) if checks else ():
        results.append(one)
        _print_check(one)
    if out:
        from dragstrip.report.figures.page_view import draw

        out.write_text(draw(resolved, results), encoding="utf-8")
        Console().print(f"drawn: {out}", highlight=False)


@app.command()
def graph(
    page: Annotated[str, typer.Argument(help="A recording, 'demo', or 'synth:64x10KB'.")],
    learn_from: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Learn it from the browser visits in this result folder.", metavar="DIR"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Page file to write, with the learned graph in it (default: NAME.har.zip).",
        ),
    ] = None,
    drawing: Annotated[
        Path | None, typer.Option(help="Drawing to write (default: NAME-graph.html).")
    ] = None,
) -> None:
    """Print and draw the dependency graph that the load generator follows."""
    # Capsules and drawing load slowly; wrong input must not wait for them.
    from dragstrip.report.figures.graph import draw_graph
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.learn import learn

    if out and not learn_from:
        raise InputError("--out keeps what was learned: say from which visits with --from")
    resolved = resolve(page, page_cache())
    page_graph = learn(resolved, Capsule.open(learn_from)) if learn_from else graph_of(resolved)
    print_graph(page_graph)
    target = drawing or Path(f"{resolved.name}-graph.html")
    target.write_text(draw_graph(resolved, page_graph), encoding="utf-8")
    console = Console()
    console.print(f"drawn: {target}", highlight=False)
    if learn_from:
        page_file = with_graph(resolved, page_graph, out or Path(f"{resolved.name}.har.zip"))
        console.print(
            f"page with this graph: {page_file.path}, digest {page_file.digest}", highlight=False
        )


def _target(out: Path | None, name: str) -> Path:
    """Return the file to write. Raises `InputError` for a name that could not be read back."""
    if out and not out.name.lower().endswith(_READABLE):
        raise InputError(
            f"--out {out}: pages are .har.zip files, and a file of this name could not be read "
            f"again; write {out.name.split('.')[0] or 'page'}.har.zip"
        )
    return out or Path(f"{name}.har.zip")


def _print(page: Page, *, verbose: bool) -> None:
    """Print three lines and some changes; `verbose` adds tables and all changes."""
    facts = summarise(page)
    console = Console()
    console.print(f"[bold]{facts.name}[/bold]  {facts.url}", highlight=False)
    sockets = f", {counted(facts.sockets, 'WebSocket')}" if facts.sockets else ""
    console.print(
        f"{facts.objects} objects{sockets}, {_bytes(facts.wire_bytes)}, {len(facts.hosts)} hosts; "
        f"from {facts.source}; digest {facts.digest}\n{facts.path}",
        highlight=False,
        soft_wrap=True,
    )
    if not verbose:
        for change in facts.changes[:_CHANGES]:
            console.print(f"changed: {change}", highlight=False, markup=False, soft_wrap=True)
        if (more := len(facts.changes) - _CHANGES) > 0:
            console.print(f"{more} more changes; --verbose prints them")
        return
    spoken = Counter(page.spoken.values())
    if spoken:
        said = ", ".join(f"{n} in {protocol}" for protocol, n in sorted(spoken.items()))
        console.print(f"hosts recorded over https: {said}", highlight=False)
    console.print(facts.addresses, highlight=False)
    console.print(_table("host", facts.hosts, page.addresses))
    for socket in page.sockets:
        said = f"{socket.messages} messages from its server, {socket.message_bytes} bytes"
        console.print(f"WebSocket {socket.url}: {said}", highlight=False, soft_wrap=True)
    for title, shares in (("type", facts.types), ("status", facts.statuses)):
        console.print(_table(title, shares))
    for change in facts.changes:
        console.print(f"changed: {change}", highlight=False, markup=False, soft_wrap=True)


def _print_tree(page: Page) -> None:
    roots = initiator_tree(page)
    console = Console()
    counts = depths(roots)
    console.print(
        f"dependency depth {len(counts) - 1}; objects by depth, from 0: "
        + ", ".join(map(str, counts)),
        highlight=False,
    )
    if len(counts) > 1:
        tree = Tree("initiators", hide_root=True)
        for root in roots[:_SIBLINGS]:
            _grow(tree, root)
        console.print(tree, highlight=False, soft_wrap=True)


def _grow(tree: Tree, node: TreeResource) -> None:
    grown = tree.add(Text(node.resource.url[:100]))
    for child in node.children[:_SIBLINGS]:
        _grow(grown, child)
    if len(node.children) > _SIBLINGS:
        grown.add(f"and {len(node.children) - _SIBLINGS} more")


def _browser(name: str) -> str:
    """Return a browser that can replay a page. Raises `InputError`."""
    name = str(Path(name).resolve()) if is_path(name) else name
    try:
        browser = find_browser(name)
    except ValueError as error:
        raise InputError(f"--browser: {error}") from None
    if browser.follows_graphs:
        raise InputError("--browser loader: the load generator shows no page; name a browser")
    return name


def _print_check(checked: "Check") -> None:
    replay, console = checked.fidelity, Console()
    tau = "-" if replay.order_tau is None else f"{replay.order_tau:.2f}"
    picture = "no recorded picture"
    if checked.distance:
        apart = checked.distance
        picture = f"{apart.differing:.2%} of the pixels differ, SSIM {apart.ssim:.3f}"
    console.print(
        f"[bold]{checked.protocol}[/bold] {checked.outcome} {checked.error}: asked again for "
        f"{replay.asked} of {replay.recorded} recorded requests, {replay.bytes_share:.1%} of their "
        f"bytes, {replay.hosts_asked} of {replay.hosts} hosts, order {tau} (Kendall tau); "
        f"{checked.answered_share:.1%} of {checked.requests} requests answered, "
        f"{checked.answers.get('query', 0)} by the nearest query; {picture}",
        highlight=False,
    )
    said = [f"not in the recording: {url}" for url in checked.missed]
    silent = "not in the recording: it opens, and nobody answers there"
    said += [f"{silent}: {url}" for url in checked.silent]
    if len(checked.documents) > 1:
        said.append(f"the page moves on by itself: {' to '.join(checked.documents)}")
    said += [f"a race would refuse this load: {why}" for why in checked.refusals]
    for sentence in said:
        console.print(f"  {sentence}", highlight=False, markup=False, soft_wrap=True)


def _table(
    title: str, shares: tuple[PageShare, ...], addresses: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """Return a table of shares, with recorded addresses if there are any."""
    table = Table(title, "objects", "bytes", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    if addresses:
        table.add_column("address")
    for share in shares:
        told = [addresses.get(share.name, "not told")] if addresses else []
        table.add_row(share.name, str(share.objects), _bytes(share.wire_bytes), *told)
    return table


def _bytes(count: int) -> str:
    return f"{count / 1000:,.1f} kB"
