"""Benchmarks of plain SQL: a file NAME.sql that makes tables and their gpu_column indexes, and a file NAME.tsv with statements: a name, the SQL, and
DuckDB's where that has another dialect.
"""

import argparse
import ctypes
import datetime
import json
import math
import os
import statistics
import sys
import tempfile
import time

import machine
import report
from clients import Clients
from server import Failure, Server, Session

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HOW = """Each statement is timed on each path and with PostgreSQL's own plans in one session, warm; its answers are compared, and it is told which nodes
answered, or why none did. With --duckdb, a libduckdb.so, DuckDB answers the same statements over the same rows in the same run. The results go to
bench/results/. The exit status is 1 when answers differ.
"""
# PostgreSQL's own plans know no index here.
OFF = {'pg_gpu.enable_query': 'off', 'pg_gpu.enable_count_scan': 'off', 'enable_bitmapscan': 'off'}
SECONDS_OF_SESSIONS = 5
DEVICE_PATIENCE = 60


def arguments(description, size, default, meaning):
    parser = argparse.ArgumentParser(description=f'{description}\n{HOW}', formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(f'--{size}', dest='size', type=float, default=default, help=f'{meaning} ({default:g})')
    parser.add_argument('--runs', type=int, default=7, help='of a statement on each path; the first is not counted (7)')
    parser.add_argument('--postgres-runs', type=int, metavar='RUNS', help='of PostgreSQL\'s own plans; one run alone is counted; with 0 answers are compared with the first path\'s (half of --runs, 3 at least)')
    parser.add_argument('--paths', default='host,cuda,auto', help='(host,cuda,auto; cuda where there is a device)')
    parser.add_argument('--workers', type=int, default=min(8, os.cpu_count() or 1), help='parallel workers of PostgreSQL\'s plans, also where paths have them (processors, 8 at most)')
    parser.add_argument('--sessions', type=int, default=0, help='then the statements by so many sessions at once, beside one session, on the last path')
    parser.add_argument('--statements', default='', metavar='NAME,…', help='(all)')
    parser.add_argument('--duckdb', metavar='LIBRARY', help='a libduckdb.so')
    parser.add_argument('--threads', type=int, default=os.cpu_count() or 1, help='of DuckDB (processors)')
    parser.add_argument('--devices', action='append', default=[], metavar='NUMBER,…', help='the paths on these devices (pg_gpu.devices); given several times, one after the other')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE', help='a server setting')
    parser.add_argument('--commit', help='what is measured, where the sources are not under git')
    parser.add_argument('--output', metavar='DIR', default=os.path.join(ROOT, 'bench', 'results'))
    return parser.parse_args()


class DuckDB:
    """DuckDB through its C API."""

    class Result(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint64) for name in ('columns', 'rows', 'changed')] + [(name, ctypes.c_void_p) for name in ('data', 'error', 'internal')]

    def __init__(self, library, threads):
        self.library = ctypes.CDLL(library)
        self.library.duckdb_result_error.restype = ctypes.c_char_p
        self.library.duckdb_row_count.restype = ctypes.c_uint64
        self.library.duckdb_column_count.restype = ctypes.c_uint64
        self.library.duckdb_value_varchar.restype = ctypes.c_void_p
        self.library.duckdb_value_varchar.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
        database, self.connection = ctypes.c_void_p(), ctypes.c_void_p()
        if self.library.duckdb_open(None, ctypes.byref(database)) or self.library.duckdb_connect(database, ctypes.byref(self.connection)):
            raise Failure(f'{library} opens no database')
        self.timed(f'SET threads = {threads}')

    def timed(self, sql):
        """The rows' texts, and the milliseconds that the statement took."""
        result = self.Result()
        began = time.perf_counter()
        failed = self.library.duckdb_query(self.connection, sql.encode(), ctypes.byref(result))
        milliseconds = (time.perf_counter() - began) * 1000
        if failed:
            raise Failure(f'DuckDB: {self.library.duckdb_result_error(ctypes.byref(result)).decode()}\n  in: {sql}')
        columns = self.library.duckdb_column_count(ctypes.byref(result))
        rows = ['|'.join(self.text(result, column, row) for column in range(columns)) for row in range(self.library.duckdb_row_count(ctypes.byref(result)))]
        self.library.duckdb_destroy_result(ctypes.byref(result))
        return rows, milliseconds

    def text(self, result, column, row):
        pointer = self.library.duckdb_value_varchar(ctypes.byref(result), column, row)
        text = ctypes.cast(pointer, ctypes.c_char_p).value.decode() if pointer else ''
        self.library.duckdb_free(ctypes.c_void_p(pointer))
        return text


def same_value(one, other):
    """Averages and quotients are floating point in DuckDB."""
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-9)
    except ValueError:
        return False


def same_rows(rows, others):
    return len(rows) == len(others) and all(
        all(map(same_value, row.split('|'), other.split('|'))) for row, other in zip(rows, others))


def times(timed, sql, runs):
    rows, first = timed(sql)
    taken = [first] if runs == 1 else []
    for _ in range(runs - 1):
        rows, milliseconds = timed(sql)
        taken.append(milliseconds)
    return rows, {'first': first, 'best': min(taken), 'median': statistics.median(taken), 'runs': taken}


def wait_for_device(session):
    deadline = time.monotonic() + DEVICE_PATIENCE
    while time.monotonic() < deadline:
        if int(session.value("SELECT count(*) FROM gpu.devices() WHERE engine = 'cuda'")):
            return True
        time.sleep(1)
    return False


def use_devices(session, devices):
    """Has a new server process compute on these."""
    for statement in ("LOAD 'pg_gpu'", f"ALTER SYSTEM SET pg_gpu.devices = '{devices}'", 'SELECT pg_reload_conf()'):
        session.run(statement)
    deadline = time.monotonic() + DEVICE_PATIENCE
    while int(session.value("SELECT count(*) FROM gpu.devices() WHERE engine = 'cuda' AND state = 'ready'")) != len(devices.split(',')):
        if time.monotonic() > deadline:
            raise Failure(f'the devices {devices} don\'t come')
        time.sleep(1)


def nodes_of_ours(plan):
    """pg_gpu's nodes, and scans of gpu_column indexes, whose names are TABLE_columns. The first plan below a node is the one that it stands for."""
    below = plan.get('Plans', [])
    found = []
    if plan.get('Custom Plan Provider', '').startswith('Gpu'):
        found = [plan['Custom Plan Provider']]
        below = below[1:]
    elif plan.get('Index Name', '').endswith('_columns'):
        found = ['bitmap scan']
    return found + [name for child in below for name in nodes_of_ours(child)]


def settings_of(path, workers):
    return {'pg_gpu.path': path, 'max_parallel_workers_per_gather': workers}


def measure(server, session, name, settings, sql, runs):
    """Rows, and times: what the client waited, and what all runs together took of processors, parallel workers included, for each run."""
    session.settings(settings)
    # Parallel workers end with their statement.
    before = session.processor_ms() + server.ended_backends_ms()
    rows, taken = times(session.timed, sql, runs)
    time.sleep(0.05)
    taken['processor'] = (session.processor_ms() + server.ended_backends_ms() - before) / runs
    (tree,) = json.loads('\n'.join(session.run(f'EXPLAIN (FORMAT JSON, COSTS OFF) {sql}')))
    taken['nodes'] = sorted(nodes_of_ours(tree['Plan']))
    print(f'  {name:<10} {report.figure(taken["best"]):>10} {report.figure(taken["median"]):>10} ms  {report.figure(taken["processor"]):>10} ms of processors  {" ".join(taken["nodes"])}', flush=True)
    return rows, taken


def reasons(session, sql):
    """Why parts of the statement have no node, where they are of a kind that has one."""
    quoted = sql.replace("'", "''")
    costs = "' (' || round(cost) || ' against ' || round(other_cost) || ')'"
    return sorted(set(session.run(f"SELECT concat(node, ' of ' || candidate, ': ', reason, {costs}) FROM gpu.explain_why('{quoted}') WHERE NOT used")))


def summary(figures, paths):
    """A Markdown table: which nodes answered what, or why none did, and the best milliseconds."""
    def row(name, of):
        nodes = of[paths[0]]['nodes']
        told = [f'{nodes.count(node)} {node}' if nodes.count(node) > 1 else node for node in sorted(set(nodes))]
        sides = [*(['postgres'] if 'postgres' in of else []), *paths, *(['duckdb'] if 'duckdb' in of else [])]
        return (name, of['result_rows'], ', '.join(told) or 'none', *(report.figure(of[side]['best']) for side in sides), '<br>'.join(of['reasons']))
    sides = [told for told, side in (('PostgreSQL', 'postgres'), *zip(paths, paths), ('DuckDB', 'duckdb')) if any(side in of for of in figures.values())]
    lines = [('', 'rows', 'answered by', *sides, 'reasons against other nodes'), ['---'] * (len(sides) + 4), *(row(name, of) for name, of in figures.items())]
    return ''.join('| ' + ' | '.join(map(str, cells)) + ' |\n' for cells in lines)


def prepare(server, name, size, options):
    session = Session(server, 'postgres')
    session.run('CREATE EXTENSION IF NOT EXISTS pg_gpu')
    session.settings({'max_parallel_workers_per_gather': options.workers, 'min_parallel_table_scan_size': 0, 'parallel_setup_cost': 0, 'parallel_tuple_cost': 0})
    began = time.monotonic()
    with open(os.path.join(HERE, f'{name}.sql'), encoding='utf-8') as file:
        text = '\n'.join(line for line in file.read().replace(f':{size}', f'{options.size:.15g}').split('\n') if not line.startswith('--'))
    for statement in text.split(';'):
        if statement.strip():
            session.run(statement)
    tables = session.run("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname")
    rows = {table: int(session.value(f'SELECT count(*) FROM {table}')) for table in tables}
    print(f'{sum(rows.values()):,} rows and their indexes made in {time.monotonic() - began:.0f} s', flush=True)
    return session, rows


def load(session, paths, tables):
    for path in paths:
        session.settings({'pg_gpu.path': path} if path != 'auto' else {})
        for table in tables:
            session.run(f"SELECT gpu.load('{table}_columns')")


def is_on_device(way):
    """May it be? Others are measured once."""
    return way in ('cuda', 'auto')


def name_of_way(way, devices, turn):
    """Devices that are measured twice have a number behind them."""
    if not devices or not is_on_device(way):
        return way
    times = devices[:turn + 1].count(devices[turn])
    return f'{way} on {devices[turn]}' + (f' ({times})' if times > 1 else '')


def load_duckdb(options, server, session, tables):
    duck = DuckDB(options.duckdb, options.threads)
    for table in tables:
        place = server.file(f'{table}.csv')
        session.run(f"COPY {table} TO '{place}' (FORMAT csv, HEADER)")
        types = dict(row.split('|') for row in session.run(f"SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0"))
        columns = ', '.join(f"'{name}': '{kind}'" for name, kind in types.items())
        duck.timed(f"CREATE TABLE {table} AS SELECT * FROM read_csv('{place}', header = true, allow_quoted_nulls = false, columns = {{{columns}}})")
        os.unlink(place)
    return duck


def throughput(server, settings, statements, sessions):
    """Statements a second, prepared, one drawn by chance each time."""
    clients = Clients(server, 'postgres', [f'{sql};\n' for sql in statements], clients=sessions, seconds=SECONDS_OF_SESSIONS, settings=settings)
    return len(clients.wait()) / SECONDS_OF_SESSIONS


def write(result, place):
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, 'w', encoding='utf-8') as file:
        json.dump(result, file, indent=1)
        file.write('\n')


def note(what):
    print(f'answers differ: {what}', file=sys.stderr, flush=True)
    return what


def run(name, description, size, default, meaning):
    """The program of one benchmark, whose tables are as large as its option --SIZE says."""
    options = arguments(description, size, default, meaning)
    with open(os.path.join(HERE, f'{name}.tsv'), encoding='utf-8') as file:
        statements = {fields[0]: (fields[1], fields[-1]) for fields in (line.rstrip('\n').split('\t') for line in file)}
    chosen = [statement for statement in options.statements.split(',') if statement] or list(statements)
    figures, wrong = {}, []
    with tempfile.TemporaryDirectory(prefix='pg_gpu-bench-') as directory:
        os.chmod(directory, 0o755)
        # Sorts and hash tables have what users have who set nothing.
        server = Server(directory, [('work_mem', '4MB'), *(setting.split('=', 1) for setting in options.set)])
        try:
            server.start()
            session, rows = prepare(server, name, size, options)
            paths = [path for path in options.paths.split(',') if path != 'cuda' or wait_for_device(session)]
            duck = load_duckdb(options, server, session, rows) if options.duckdb else None
            own_runs = max(3, options.runs // 2) if options.postgres_runs is None else options.postgres_runs
            ways = [*([('postgres', OFF | {'max_parallel_workers_per_gather': options.workers}, own_runs)] if own_runs else []),
                    *((path, settings_of(path, options.workers), options.runs) for path in paths)]
            place = os.path.join(options.output, f'{datetime.date.today().isoformat()}-{name}-{options.size:.15g}{"-cuda" if "cuda" in paths else ""}.json')
            result = {'benchmark': name, size: options.size, 'rows': rows, 'workers': options.workers, 'threads': options.threads if duck else None,
                      'date': datetime.date.today().isoformat(), 'commit': options.commit or machine.commit(ROOT), 'machine': machine.describe(),
                      'devices': session.run('SELECT engine, name FROM gpu.devices()'), 'settings': server.settings(), 'unit': 'ms', 'figures': figures,
                      'wrong': wrong}
            expected = {}
            for turn, devices in enumerate(options.devices or ['']):
                if devices:
                    print(f'devices {devices}:', flush=True)
                    use_devices(session, devices)
                load(session, paths, rows)
                for chosen_name in chosen:
                    print(chosen_name, flush=True)
                    sql = statements[chosen_name][0]
                    figure = figures.setdefault(chosen_name, {})
                    for way, settings, runs in ways:
                        if turn > 0 and not is_on_device(way):
                            continue
                        found, taken = measure(server, session, way, settings, sql, runs)
                        figure[name_of_way(way, options.devices, turn)] = taken
                        if found != expected.setdefault(chosen_name, found):
                            wrong.append(note(f'{chosen_name} on path {way}'))
                    # A run that is stopped leaves what it has measured.
                    write(result, place)
            for chosen_name in chosen:
                sql, sql_of_duckdb = statements[chosen_name]
                figure = figures[chosen_name]
                figure['result_rows'] = len(expected[chosen_name])
                figure['reasons'] = reasons(session, sql)
                if duck:
                    found, figure['duckdb'] = times(duck.timed, sql_of_duckdb, options.runs)
                    print(f'  {"duckdb":<10} {report.figure(figure["duckdb"]["best"]):>10} {report.figure(figure["duckdb"]["median"]):>10} ms', flush=True)
                    if not same_rows(found, expected[chosen_name]):
                        wrong.append(note(f'{chosen_name} by DuckDB'))
                write(result, place)
            for sessions in (1, options.sessions) if options.sessions else ():
                rate = throughput(server, settings_of(paths[-1], options.workers), [statements[name][0] for name in chosen], sessions)
                result.setdefault('statements a second', {})[sessions] = rate
                print(f'{sessions} sessions: {rate:,.0f} statements a second on path {paths[-1]}', flush=True)
                write(result, place)
        finally:
            if server.running():
                server.private_cluster('stop', '--remove')
    table = summary(figures, [name_of_way(path, options.devices, turn) for turn in range(max(1, len(options.devices))) for path in paths if turn == 0 or is_on_device(path)])
    with open(place.removesuffix('.json') + '.md', 'w', encoding='utf-8') as file:
        file.write(table)
    print(table, place, sep='\n')
    return 1 if wrong else 0


def program(*benchmark):
    try:
        sys.exit(run(*benchmark))
    except Failure as failure:
        sys.exit(f'{benchmark[0]}: {failure}')
