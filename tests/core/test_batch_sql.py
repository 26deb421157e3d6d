"""Rows out of SQLite and of a real PostgreSQL."""

from __future__ import annotations

import getpass
import json
import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

import caco
from caco.batch import DatabaseError, SqlQuery
from caco.cli import main

pytest.importorskip("sqlalchemy", reason="needs the extra batch")

LAW = "The LGPD was enacted on August 14, 2018, by President Michel Temer."
FALSE = "The LGPD was created in 2015 during Dilma Rousseff's government."
QUERY = "select id, text, sources from outputs order by id"
PASSWORD = "p@ss:w/rd%21"
QUOTED = "p%40ss%3Aw%2Frd%2521"


@pytest.fixture
def database(tmp_path) -> str:
    """A SQLite database; its URL."""
    path = tmp_path / "answers.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table outputs (id integer, text text, sources text)")
        rows = [
            (1, LAW, LAW),
            (2, FALSE, json.dumps([LAW, "Bananas."])),
            (3, None, LAW),
            (4, LAW, None),
        ]
        connection.executemany("insert into outputs values (?, ?, ?)", rows)
        connection.commit()
    return f"sqlite:///{path}"


def lines(path) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def check_output(folder: Path) -> None:
    found = lines(folder / "out.jsonl")
    assert [(row["id"], row["status"], row["verdict"]) for row in found] == [
        (1, "CHECKED", "faithful"),
        (2, "CHECKED", "hallucination"),
        (4, "NO_CONTEXT", "hallucination"),
    ]
    (bad,) = lines(folder / "out.jsonl.errors.jsonl")
    assert (bad["row"], bad["id"]) == (3, "3")


@pytest.mark.parametrize("order", [("OUT", "--sql", "--url"), ("--sql", "--url", "OUT")])
def test_the_command(tmp_path, capsys, database, order):
    output = str(tmp_path / "out.jsonl")
    words = {"OUT": [output], "--sql": ["--sql", QUERY], "--url": ["--url", database]}
    assert main(["batch", *(word for name in order for word in words[name])]) == 0
    assert "4 rows" in capsys.readouterr().out
    check_output(tmp_path)


def test_the_url_may_come_from_the_environment(tmp_path, capsys, database, monkeypatch):
    monkeypatch.setenv("CACO_DATABASE_URL", database)
    assert main(["batch", str(tmp_path / "out.jsonl"), "--sql", QUERY]) == 0
    capsys.readouterr()
    check_output(tmp_path)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select absent from outputs", "no such column"),
        ("select id, id from outputs", "same name"),
        ("not a query", "syntax error"),
    ],
)
def test_wrong_queries_leave_the_output_alone(tmp_path, capsys, database, query, message):
    output = tmp_path / "out.jsonl"
    output.write_text("kept", encoding="utf-8")
    assert main(["batch", str(output), "--sql", query, "--url", database]) == 2
    assert message in capsys.readouterr().err
    assert output.read_text(encoding="utf-8") == "kept"


def test_colons_and_percents_are_what_they_are(database):
    query = "select ':name' as a, '10:30 %s %(x)s' as b, 'x' || ':y' as c"
    (row,) = SqlQuery(query, database).rows()
    assert row.data == {"a": ":name", "b": "10:30 %s %(x)s", "c": "x:y"}


def test_what_a_query_changes_is_rolled_back(database):
    query = "insert into outputs values (9, 'x', 'y') returning id"
    assert [row.data for row in SqlQuery(query, database).rows()] == [{"id": 9}]
    assert not list(SqlQuery("select * from outputs where id = 9", database).rows())


def test_rows_are_read_as_they_are_wanted(tmp_path, database):
    """The rows after the first are not fetched before they are asked for."""
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
    rows = SqlQuery(endless, database).rows()
    assert [next(rows).data["i"] for _ in range(1000)] == list(range(1, 1001))
    rows.close()


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+psycopg://me:{QUOTED}@127.0.0.1:1/x",
        f"postgresql+nosuchdriver://me:{QUOTED}@127.0.0.1/x",
        f"nonsense//me:{QUOTED}@127.0.0.1/x",
        f"postgresql+psycopg://127.0.0.1:1/x?user=me&password={QUOTED}",
        f"postgresql+psycopg://me:{QUOTED}@127.0.0.1:port/x",
    ],
)
def test_the_password_is_never_said(tmp_path, capsys, url):
    pytest.importorskip("psycopg")
    query = SqlQuery("select 1", url)
    assert QUOTED not in repr(query)
    with pytest.raises(DatabaseError) as caught:
        list(query.rows())
    assert main(["batch", str(tmp_path / "out.jsonl"), "--sql", "select 1", "--url", url]) == 2
    for text in (str(caught.value), capsys.readouterr().err):
        assert QUOTED not in text
        assert PASSWORD not in text
    assert not [path for path in tmp_path.iterdir() if QUOTED.encode() in path.read_bytes()]


@pytest.mark.parametrize("said", ["URL", "password", "word"])
def test_a_library_that_says_the_password_is_not_repeated(monkeypatch, said):
    """SQLAlchemy 2.0 quotes a URL that it cannot parse."""
    import sqlalchemy

    url = f"postgresql+psycopg://me:{QUOTED}@127.0.0.1/x"
    words = {"URL": f"from given URL string {url!r}", "password": QUOTED, "word": PASSWORD}

    def fail(*_, **__):
        raise sqlalchemy.exc.ArgumentError(f"Could not parse {words[said]}")

    monkeypatch.setattr(sqlalchemy, "create_engine", fail)
    with pytest.raises(DatabaseError, match=r"Could not parse.*\*\*\*") as caught:
        list(SqlQuery("select 1", url).rows())
    assert PASSWORD not in str(caught.value)
    assert QUOTED not in str(caught.value)


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = str(found[-1]) if found else shutil.which("initdb")
    if program is None:
        pytest.skip("PostgreSQL is not installed")
    binaries = Path(program).resolve().parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user, prefix = getpass.getuser(), []
    folder = Path(tempfile.mkdtemp(prefix="caco-postgres-"))
    secret = folder / "password"
    secret.write_text(PASSWORD, encoding="utf-8")
    if os.geteuid() == 0:  # initdb refuses to run as root
        user = "postgres"
        prefix = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        owner = pwd.getpwnam(user)
        for path in (folder, secret):
            os.chown(path, owner.pw_uid, owner.pw_gid)
    data = folder / "data"
    setup = [str(binaries / "initdb"), "-D", str(data), "-U", user, "--no-sync"]
    setup += ["--auth=scram-sha-256", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C"]
    subprocess.run([*prefix, *setup], check=True, capture_output=True, cwd="/")
    command = [str(binaries / "postgres"), "-D", str(data), "-p", str(port)]
    command += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}"]
    log = (folder / "log").open("wb")
    process = subprocess.Popen([*prefix, *command], stdout=log, stderr=log, cwd="/")
    try:
        wait_for(process, binaries, port)
        yield f"postgresql+psycopg://{user}:{QUOTED}@127.0.0.1:{port}/postgres"
    finally:
        process.send_signal(signal.SIGINT)  # a fast shutdown
        process.wait(timeout=30)
        log.close()
        shutil.rmtree(folder)


def wait_for(process, binaries: Path, port: int) -> None:
    question = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    deadline = time.monotonic() + 60
    while subprocess.run(question, check=False).returncode:
        assert process.poll() is None, "the server did not start"
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def filled(server):
    import sqlalchemy

    engine = sqlalchemy.create_engine(server, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "create table outputs (id int, text text, sources text);"
            "create table kinds (id uuid, response text, context text[], extra jsonb,"
            " price numeric(8, 2), at timestamptz)"
        )
        insert = sqlalchemy.text("insert into outputs values (:id, :text, :sources)")
        rows = [(1, LAW, LAW), (2, FALSE, json.dumps([LAW])), (3, None, LAW), (4, LAW, None)]
        connection.execute(
            insert, [dict(zip(("id", "text", "sources"), row, strict=True)) for row in rows]
        )
        connection.execute(
            sqlalchemy.text(
                "insert into kinds values ('6a2f41a3-c54c-fce8-32d2-0324e1c32e22', :law, "
                "array[:law, 'Bananas.'], '{\"a\": [1]}', 1.50, '2020-01-01T00:00:00Z')"
            ),
            {"law": LAW},
        )
    return server


class TestPostgreSQL:
    """Against a server of its own, on the loopback address."""

    pytestmark = pytest.mark.slow

    def test_the_command(self, filled, tmp_path, capsys):
        arguments = ["batch", str(tmp_path / "out.jsonl"), "--sql", QUERY, "--url", filled]
        assert main(arguments) == 0
        printed = capsys.readouterr()
        assert PASSWORD not in printed.out + printed.err
        check_output(tmp_path)

    @pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
    def test_the_kinds_of_values(self, filled, tmp_path, capsys, ending):
        output = tmp_path / f"out.{ending}"
        query = "select *, id::text as name, 'a:b' as colon, '100%' as percent from kinds"
        assert main(["batch", str(output), "--sql", query, "--url", filled]) == 0
        capsys.readouterr()
        (row,) = [row.data for row in caco.batch.open_source(str(output)).rows()]
        assert row["verdict"] == "faithful"
        assert (row["colon"], row["percent"]) == ("a:b", "100%")
        assert str(row["price"]) == "1.50"
        assert row["name"] == "6a2f41a3-c54c-fce8-32d2-0324e1c32e22"
        if ending == "jsonl":
            assert (row["context"], row["extra"]) == ([LAW, "Bananas."], {"a": [1]})
            assert row["at"].startswith("2020-01-01T")

    def test_the_server_keeps_the_rows(self, filled):
        """A cursor on the server: a million rows are not sent before they are asked for."""
        query = "select i, repeat('x', 1000) as t from generate_series(1, 1000000) as i"
        program = (
            "import resource, sys\n"
            "from caco.batch import SqlQuery\n"
            "rows = SqlQuery(sys.argv[1], sys.argv[2]).rows()\n"
            "next(rows)\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "for _ in range(50000): next(rows)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, query, filled],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(caco.__file__).parent.parent)},
        )
        assert int(done.stdout) < 20_000  # KB

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda url: url.replace(QUOTED, "wrong-secret"), "authentication failed"),
            (lambda url: url.removesuffix("postgres") + "nowhere", "does not exist"),
        ],
    )
    def test_errors_hold_no_password(self, filled, tmp_path, capsys, change, message):
        arguments = ["batch", str(tmp_path / "o.jsonl"), "--sql", QUERY, "--url", change(filled)]
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert message in error
        for secret in (PASSWORD, QUOTED, "wrong-secret"):
            assert secret not in error

    def test_another_order_is_noticed_when_a_run_goes_on(self, filled, tmp_path):
        import sqlalchemy

        from caco.batch import BatchJob, BatchValidator, LocalEngine, run_batch
        from caco.testing import FakeClassifier

        engine = sqlalchemy.create_engine(filled, poolclass=sqlalchemy.NullPool)
        with engine.begin() as connection:
            connection.exec_driver_sql(
                "create table many as select i as id, 'The end.' as text, 'The end.' as sources "
                "from generate_series(1, 100) as i"
            )

        def job(query):
            return BatchJob(
                SqlQuery(query, filled),
                str(tmp_path / "out.jsonl"),
                validator=BatchValidator(caco.Validator(classifier=FakeClassifier())),
                engine=LocalEngine(5),
                resume=True,
            )

        def stop(progress):
            if progress.rows >= 20:
                raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("caco.batch.run.COMMIT_SECONDS", 0)
            run_batch(job("select * from many order by id"), stop)
        with pytest.raises(ValueError, match="ORDER BY"):
            run_batch(job("select * from many order by id desc"))
        assert run_batch(job("select * from many order by id")).rows == 100
        assert [row["id"] for row in lines(tmp_path / "out.jsonl")] == list(range(1, 101))
