"""gpu_kary against btree: every measure of the table, on the same rows, side by side."""

import itertools
import math
import os
import statistics

import dataset
import report
from benchmark import INDEX_ONLY, PARALLEL, SERIAL, Benchmark, Statement
from machine import Memory
from samples import Line, Side, Target, side_by_side
from server import Failure

AMS = ('btree', 'gpu_kary')

# A sample of a short statement is the median of several executions in a row, about this long together.
BURST_MS = 300

# Without count scans every entry goes through the executor.
NO_COUNT_SCAN = {'pg_gpu.enable_count_scan': 'off'}
# With this cost a count scan is always chosen: a single tuple costs more than all that it does.
COUNT_SCAN = {'cpu_tuple_cost': '1000'}
# The other joins are off, because these statements are about lookup joins.
LOOKUP_JOIN = {'enable_hashjoin': 'off', 'enable_mergejoin': 'off', 'enable_nestloop': 'off'}


class KaryBenchmark(Benchmark):
    """Makes the data and takes the measures."""

    OWN = 'gpu_kary'

    def __init__(self, server, options, announce):
        super().__init__(server, options, announce)
        self.key = dataset.KEYS[options.key]
        # The largest size is a tenth of the rows: one million keys for ten million rows.
        self.sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= self.rows // 10]
        self.largest = self.sizes[-1]
        self.copied = max(1, self.rows // 10)

    GROUPS = ('build', 'memory', 'size', 'lookup', 'any', 'join', 'count', 'copy', 'insert')

    def subject(self):
        return f'{self.rows:,} rows of {self.key.name}'

    def plots(self):
        return (('batches', report.plot_batches, 'count(*) … k = ANY (array)'),)

    def measures(self):
        """The groups that make sense for this key."""
        left_out = set()
        if not self.key.has_order:
            left_out |= {'join', 'count'}
        if len(self.key.columns) > 1:
            left_out |= {'any', 'join', 'count'}
        return [group for group in self.GROUPS if group not in left_out]

    def run(self, groups):
        chosen = [group for group in self.measures() if group in groups]
        if chosen:
            self.load()
        self.run_stages([(group, getattr(self, group)) for group in chosen])

    # ---- Data ----------------------------------------------------------------------------------------

    def load(self):
        """The table in a database of its own, which the others are copies of."""
        self.tell(f'making {self.rows:,} rows')
        admin = self.server.session('postgres')
        admin.run('CREATE DATABASE plain')
        session = self.server.session('plain')
        self.install(session)
        dataset.load(session, self.key, self.rows)
        self.copy_database('plain', 'bench')
        session = self.server.session('bench')
        dataset.prepare_probes(session, self.key, self.sizes)
        self.indexed = False
        if self.rows > dataset.LARGEST_ROW // 2:
            raise Failure('too many rows for the key function')

    def bench(self):
        """The session in which both indexes lie on one table, warm and vacuumed."""
        session = self.server.session('bench')
        if not self.indexed:
            session.settings({})
            self.tell('making both indexes')
            for am in AMS:
                session.run(f'DROP INDEX IF EXISTS t_{am}')
                session.run(self.create_index(am))
            session.run('VACUUM (ANALYZE) t')
            self.warm(session, 't', *(f't_{am}' for am in AMS))
            self.indexed = True
        return session

    def create_index(self, am, table='t', key=None):
        return f'CREATE INDEX {table}_{am} ON {table} USING {am} ({(key or self.key).index_columns(am)})'

    # ---- Statements ----------------------------------------------------------------------------------

    def timed_once(self, session, statement, line):
        """One sample: the median of a burst. The answer must be the one that every other way gave."""
        rows, warm = session.timed(statement.sql)
        alone = statement.workers == 0
        if line.answer is None:
            line.answer = rows
        if rows != line.answer:
            raise Failure(f'answers differ: {rows} instead of {line.answer}\n  in: {statement.sql}')
        times, processor = [], []
        for _ in range(max(1, min(15, math.ceil(BURST_MS / max(warm, 0.01)) - 1))):
            before = session.processor_ms()
            rows, milliseconds = session.timed(statement.sql)
            processor.append(session.processor_ms() - before)
            if rows != line.answer:
                raise Failure(f'answers differ: {rows} instead of {line.answer}\n  in: {statement.sql}')
            times.append(milliseconds)
        return statistics.median(times), statistics.median(processor) if alone else None

    def visit(self, session, am, statement, line, **_):
        def sample():
            self.show_only(session, am)
            session.settings(statement.settings)
            if statement.prepare:
                session.run(statement.prepare)
            statement.check_plan(session)
            return self.timed_once(session, statement, line)
        return sample

    def compare(self, line, ways, aside=None):
        """`ways` has for each access method the statements of which the fastest counts; `aside` is only noted."""
        def work(line):
            session = self.bench()
            best = {am: self.best(session, line, am, statements) for am, statements in ways.items()}
            visits = {am: self.visit(session, am, statement, line) for am, statement in best.items()}
            self.repeat(line, visits, self.options.runs,
                        {am: f'{statement.how}: {statement.sql}' for am, statement in best.items()})
            for title, (am, statement) in (aside or {}).items():
                visit = self.visit(session, am, statement, line)
                self.note_medians(line, title, {statement.how: min(visit()[0] for _ in range(3))})
        self.measure(line, work)

    # ---- Measures ------------------------------------------------------------------------------------

    def build(self):
        for memory in ('1GB', '64MB'):
            for workers in (0, 2):
                title = f'CREATE INDEX, {"2 workers" if workers else "serial"}, {memory}'
                target = Target(at_most=self.key.longest_build) if memory == '1GB' else None
                line = Line(f'build-{workers}-{memory}', title, 'ms', target=target)
                self.measure(line, lambda line, workers=workers, memory=memory: self.builds(line, workers, memory))

    def builds(self, line, workers, memory):
        session = self.server.session('bench')
        self.indexed = False
        for am in AMS:
            session.run(f'DROP INDEX IF EXISTS t_{am}')
        session.settings({'maintenance_work_mem': memory, 'max_parallel_maintenance_workers': workers})
        self.warm(session, 't')

        def visit(am):
            def sample():
                session.run('CHECKPOINT')   # so that no build pays for the writes of the one before
                before = session.processor_ms()
                _, milliseconds = session.timed(self.create_index(am))
                used = session.processor_ms() - before
                session.run(f'DROP INDEX t_{am}')
                return milliseconds, None if workers else used
            return sample
        self.repeat(line, {am: visit(am) for am in AMS}, self.options.build_runs,
                    {am: f'maintenance_work_mem = {memory}, max_parallel_maintenance_workers = {workers}'
                     for am in AMS})

    def memory(self):
        for memory, megabytes in (('1GB', 1024), ('64MB', 64)):
            for workers in (0, 2):
                title = f'memory of a build, {"2 workers" if workers else "serial"}, {memory}'
                line = Line(f'memory-{workers}-{memory}', title, 'MB', target=Target(at_most=1.1), limit=megabytes)
                self.measure(line, lambda line, workers=workers, memory=memory: self.peaks(line, workers, memory))

    def peaks(self, line, workers, memory):
        self.indexed = False
        for am in AMS:
            # A new session, so that no memory kept from an earlier statement hides what this one takes.
            self.server.close_session('bench')
            session = self.server.session('bench')
            session.run(f'DROP INDEX IF EXISTS t_{am}')
            session.settings({'maintenance_work_mem': memory, 'max_parallel_maintenance_workers': workers})
            with Memory(self.server, session.backend()) as used:
                session.run(self.create_index(am))
            line.sides[am] = Side([used.peak / 2**20], f'{used.processes} processes')
            line.notes.append(f'{am}: {used.processes} processes at once')
            if self.rows >= 10_000_000 and memory == '1GB' and used.processes != 1 + workers:
                raise Failure(f'{am} built with {used.processes - 1} workers instead of {workers}')

    def size(self):
        # Both integer types are asked for, or the type that the key has.
        for name in ('int8', 'int4') if self.key.is_integer else (self.key.name,):
            line = Line(f'size-{name}', f'size, {name}', 'bytes/row',
                        target=Target(at_most=dataset.KEYS[name].largest_size))
            self.measure(line, lambda line, name=name: self.sizes_of(line, name))

    def sizes_of(self, line, name):
        if name == self.key.name:
            session, table = self.bench(), 't'
        else:
            session, table = self.server.session('bench'), f't_{name}'
            dataset.load(session, dataset.KEYS[name], self.rows, table)
            for am in AMS:
                session.run(self.create_index(am, table, dataset.KEYS[name]))
        for am in AMS:
            size = int(session.value(f"SELECT pg_relation_size('{table}_{am}')"))
            line.sides[am] = Side([size / self.rows], f'pg_relation_size of {size} bytes')
        if table != 't':
            session.run(f'DROP TABLE {table}')

    # ---- Point lookups -------------------------------------------------------------------------------

    def point_lookup(self):
        return f'SELECT v FROM t WHERE {self.key.condition()};\n'

    def checked_lookup(self):
        """Divides by zero, which ends pgbench with an error, unless the row of this number is found."""
        return (f'SELECT count(*) AS found FROM t WHERE {self.key.condition()} AND v = :i \\gset\n'
                '\\set found 1 / :found\n')

    def check_lookup_plan(self, session, am):
        """Both kinds of plan that a prepared statement can get."""
        for mode in ('force_custom_plan', 'force_generic_plan'):
            session.settings({'plan_cache_mode': mode})
            columns = self.key.columns
            session.run(f'PREPARE lookup ({", ".join("int8" for _ in columns)}) AS '
                        f'SELECT v FROM t WHERE {self.key.condition(parameters=True)}')
            Statement('', f'EXECUTE lookup ({", ".join("1" for _ in columns)})', {},
                      ('Index Scan', f't_{am}')).check_plan(session)
        session.settings({})

    def lookups(self, line, databases, rows, clients):
        """Makes rounds of point lookups; `databases` says where each access method's index lies."""
        draw = dataset.draw_key(self.key, 1, rows)
        for am, database in databases.items():
            session = self.server.session(database)
            if database == 'bench':
                self.show_only(session, am)
            self.check_lookup_plan(session, am)
            self.server.pgbench(database, draw + self.checked_lookup(), transactions=1000)

        def visit(am):
            seeds = itertools.count(1)

            def sample():
                if databases[am] == 'bench':
                    self.show_only(self.server.session('bench'), am)
                return self.server.pgbench(databases[am], draw + self.point_lookup(), clients=clients,
                                           seconds=self.options.seconds, pinned=clients == 1, seed=next(seeds))
            return sample
        # The target of this line is near 1, so there are more and shorter runs, and a disturbance falls on both sides.
        self.repeat(line, {am: visit(am) for am in databases}, self.options.runs + 3,
                    {am: f'pgbench -M prepared -c {clients}, {self.options.seconds} s a run' for am in databases})

    def lookup(self):
        for clients in (1, 2):
            title = f'point lookup, {"1 client, pinned" if clients == 1 else f"{clients} clients"}'
            line = Line(f'lookup-{clients}', title, 'tps', target=Target(at_least=1.0))

            def work(line, clients=clients):
                self.bench()
                self.lookups(line, {am: 'bench' for am in AMS}, self.rows, clients)
            self.measure(line, work)

    # ---- Batches, joins, ranges ----------------------------------------------------------------------

    def stored(self, size):
        return f'(SELECT keys FROM probe WHERE size = {size})'

    def any(self):
        for size in self.sizes:
            array = f'{self.key.type}[]'
            sql = f'SELECT count(*) FROM t WHERE k = ANY ({self.stored(size)}::{array})'
            # A parallel plan takes the stored array only as a parameter, not as a subquery.
            prepare = f'PREPARE counted ({array}) AS SELECT count(*) FROM t WHERE k = ANY ($1)'
            execute = f'EXECUTE counted (stored_keys({size}))'
            # For a parameter the planner expects ten elements, which would not be worth a worker if pages cost
            # anything, or tuples as much as they do.
            generic = {'plan_cache_mode': 'force_generic_plan', 'random_page_cost': '0', 'seq_page_cost': '0',
                       'cpu_tuple_cost': '1000'}
            # Hashes say which rows to look at, so there is no index-only scan of them.
            scan = 'Index Only Scan' if self.key.has_order else 'Index Scan'
            line = Line(f'any-{size}', f'= ANY, {size:,} keys of a stored row', 'ms',
                        target=Target(at_most=0.10) if size == self.largest else None)
            self.compare(line, {
                'btree': [Statement('serial', sql, SERIAL | INDEX_ONLY, ('Index Only Scan', 't_btree')),
                          Statement('2 workers', execute, PARALLEL | INDEX_ONLY | generic,
                                    ('Index Only Scan', 't_btree'), 'Gather', prepare=prepare)],
                'gpu_kary': [Statement('count scan', sql, SERIAL | INDEX_ONLY | COUNT_SCAN, 'Custom Scan', (scan, 't_gpu_kary'))],
            }, aside={'gpu_kary': ('gpu_kary', Statement(f'{scan.lower()} without a count scan', sql,
                                                         SERIAL | INDEX_ONLY | NO_COUNT_SCAN, 'Aggregate',
                                                         (scan, 't_gpu_kary')))})

    def join(self):
        size = self.largest
        rows = f'SELECT sum(t.v) FROM keys_{size} AS p JOIN t ON t.k = p.k'
        array = f'SELECT sum(t.v) FROM unnest({self.stored(size)}) AS p (k) JOIN t ON t.k = p.k'
        only_hash = {'enable_nestloop': 'off', 'enable_mergejoin': 'off'}
        only_loop = {'enable_hashjoin': 'off', 'enable_mergejoin': 'off'}
        only_merge = {'enable_hashjoin': 'off', 'enable_nestloop': 'off'}
        index = ('Index Scan', 't_btree')
        lookup = (f"SELECT sum(t.v) FROM gpu.lookup('t_gpu_kary', {self.stored(size)}) AS l "
                  'JOIN t ON t.ctid = l.tid')
        line = Line('join', f'join of {size:,} keys, sum of a column', 'ms', target=Target(at_most=0.5))
        self.compare(line, {
            'btree': [
                Statement('hash join, serial', rows, SERIAL | only_hash, 'Hash Join'),
                Statement('hash join, 2 workers', rows, PARALLEL | only_hash, 'Hash Join', 'Gather'),
                Statement('nested loop, serial', rows, SERIAL | only_loop | {'enable_bitmapscan': 'off'},
                          'Nested Loop', index),
                Statement('nested loop, 2 workers', rows, PARALLEL | only_loop | {'enable_bitmapscan': 'off'},
                          'Nested Loop', index, 'Gather'),
                Statement('merge join', rows, SERIAL | only_merge | {'enable_bitmapscan': 'off'}, 'Merge Join'),
                Statement('hash join with the array', array, SERIAL | only_hash, 'Hash Join'),
                Statement('nested loop with the array', array, SERIAL | only_loop | {'enable_bitmapscan': 'off'},
                          'Nested Loop', index),
            ],
            'gpu_kary': [
                Statement('lookup join', lookup, SERIAL | LOOKUP_JOIN, 'Custom Scan'),
                Statement('gpu.lookup, nested loop', lookup,
                          SERIAL | only_loop | {'pg_gpu.enable_lookup_join': 'off', 'enable_seqscan': 'off'},
                          'Nested Loop', 'Tid Scan'),
            ],
        })

    def bounds(self, session, share):
        """A range in the middle that holds this share of the keys."""
        session.settings(SERIAL)
        self.show_only(session, 'btree')
        low, high = (session.value(f'SELECT k FROM t ORDER BY k OFFSET {int(self.rows * (0.5 + part))} LIMIT 1')
                     for part in (-share / 2, share / 2))
        return low, high

    def count(self):
        for share in (0.001, 0.01, 0.1):
            low, high = self.bounds(self.bench(), share)
            sql = f"SELECT count(*) FROM t WHERE k BETWEEN '{low}' AND '{high}'"
            function = (f"SELECT gpu.count('t_gpu_kary', ARRAY['{low}']::{self.key.type}[], "
                        f"ARRAY['{high}']::{self.key.type}[])")
            title = f'count of {share:.1%} of the keys'
            scan = {am: Statement('index-only scan, serial', sql, SERIAL | INDEX_ONLY | NO_COUNT_SCAN, 'Aggregate',
                                  ('Index Only Scan', f't_{am}')) for am in AMS}
            last = share == 0.1
            parallel = Statement('index-only scan, 2 workers', sql, PARALLEL | INDEX_ONLY,
                                 ('Index Only Scan', 't_btree'), 'Gather')
            line = Line(f'count-{share:g}', f'{title}, index-only scan', 'ms',
                        target=Target(at_most=0.8) if last else None)
            self.compare(line, {am: [scan[am]] for am in AMS},
                         aside={'btree, 2 workers': ('btree', parallel)} if last else {})
            self.compare(Line(f'count-scan-{share:g}', f'{title}, count scan', 'ms'),
                         {'btree': [scan['btree']],
                          'gpu_kary': [Statement('count scan', sql, SERIAL | INDEX_ONLY | COUNT_SCAN, 'Custom Scan',
                                                 ('Index Only Scan', 't_gpu_kary'))]})
            self.compare(Line(f'gpu-count-{share:g}', f'{title}, gpu.count', 'ms',
                              target=Target(at_most=0.02) if last else None),
                         {'btree': [scan['btree']],
                          'gpu_kary': [Statement('gpu.count', function, SERIAL)]})

    # ---- Writes --------------------------------------------------------------------------------------

    def indexed_copy(self, am):
        """A database with one index, as CREATE INDEX and VACUUM leave it; restored from it between runs."""
        name = f'indexed_{am}'
        admin = self.server.session('postgres')
        if admin.value(f"SELECT count(*) FROM pg_database WHERE datname = '{name}'") == '0':
            self.copy_database('plain', name)
            session = self.server.session(name)
            session.run(self.create_index(am))
            session.run('VACUUM (ANALYZE) t')
            self.server.close_session(name)
        return name

    def restore(self, am):
        """Makes the working copy; without `am` it is the table without an index."""
        template = self.indexed_copy(am) if am else 'plain'
        name = f'work_{am or "none"}'
        self.copy_database(template, name)
        session = self.server.session(name)
        self.warm(session, 't', *([f't_{am}'] if am else []))
        return session

    def check_written(self, am):
        """Fails unless index and heap agree, and gpu_kary's index is sound."""
        session = self.server.session(f'work_{am}')
        total = 'sum(k::numeric)' if self.key.is_integer else 'sum(hashtextextended(k::text, 0))'
        sql = f'SELECT count(*), {total} FROM t WHERE k {">= 0" if self.key.is_integer else "IS NOT NULL"}'
        session.settings({'enable_indexscan': 'off', 'enable_indexonlyscan': 'off', 'enable_bitmapscan': 'off'})
        heap = session.run(sql)
        session.settings({'enable_seqscan': 'off', 'enable_bitmapscan': 'off'})
        # An index by hash has no values to give.
        scan = 'Index Only Scan' if self.key.has_order or am == 'btree' else 'Index Scan'
        statement = Statement('', sql, {}, (scan, f't_{am}'))
        statement.check_plan(session)
        index = session.run(sql)
        if heap != index:
            raise Failure(f'after inserts the index gives {index}, the heap {heap}')
        if am == 'gpu_kary':
            problems = session.run("SELECT * FROM gpu.verify('t_gpu_kary', true)")
            if problems:
                raise Failure('gpu.verify after inserts: ' + '; '.join(problems[:5]))
        session.settings({})
        return heap

    def copy(self):
        file = self.server.file('copy.txt')
        first, last = self.rows + 1, self.rows + self.copied
        query = dataset.rows_query(self.key, first, last)
        self.server.session('postgres').run(f"COPY ({query}) TO '{file}'")
        load = f"COPY t FROM '{file}'"

        def visit(am):
            def sample():
                session = self.restore(am)
                before = session.processor_ms()
                return session.timed(load)[1], session.processor_ms() - before
            return sample

        def work(line):
            self.repeat(line, {am: visit(am) for am in AMS}, self.options.copy_runs,
                        {am: 'COPY FROM a file on the server, right after a checkpoint' for am in AMS})
            plain = side_by_side({'none': visit(None)}, 3, 3)['none']
            self.note_medians(line, 'without an index', {'': statistics.median(time for time, _ in plain)})
            self.server.close_session('work_none')
            self.server.session('postgres').run('DROP DATABASE work_none')
        self.measure(Line('copy', f'COPY of {self.copied:,} rows', 'ms', target=Target(at_most=0.7)), work)
        os.unlink(file)
        if self.lines[-1].failure is None:
            self.lookup_after('copy', 'that COPY', last)

    def insert(self):
        draw = dataset.draw_key(self.key, self.rows + 1, dataset.LARGEST_ROW)
        script = draw + f'INSERT INTO t VALUES ({self.key.values()}, :i);\n'
        for am in AMS:
            self.restore(am)
        first = len(self.lines)
        # The indexes keep growing from line to line.
        for number, (name, title, clients, commit, share) in enumerate((
                ('insert-1', 'single-row INSERT, 1 client, pinned', 1, 'off', 1.0),
                ('insert-2', 'single-row INSERT, 2 clients', 2, 'off', 0.5),
                ('insert-sync', 'single-row INSERT, synchronous_commit', 1, 'on', 0.05))):
            transactions = max(100, int(self.options.inserts * share))

            def work(line, number=number, clients=clients, commit=commit, transactions=transactions):
                def visit(am):
                    # Both sides get the same seeds, so the same keys.
                    seeds = itertools.count(1 + 1000 * number)
                    return lambda: self.server.pgbench(
                        f'work_{am}', script, clients=clients, transactions=transactions,
                        pinned=clients == 1, seed=next(seeds), settings={'synchronous_commit': commit})
                self.repeat(line, {am: visit(am) for am in AMS}, self.options.runs,
                            {am: f'{transactions} transactions a client and run, synchronous_commit {commit}'
                             for am in AMS})
            self.measure(Line(name, title, 'tps', target=Target(at_least=0.95)), work)
        if all(line.failure is None for line in self.lines[first:]):
            self.lookup_after('insert', 'those INSERTs', self.rows)

    def lookup_after(self, name, what, rows):
        """Measures point lookups before any VACUUM; both tables had the same inserts."""
        def work(line):
            self.lookups(line, {am: f'work_{am}' for am in AMS}, rows, 1)
            answers = {am: self.check_written(am) for am in AMS}
            if answers['btree'] != answers['gpu_kary']:
                raise Failure(f'the answers differ: {answers}')
        self.measure(Line(f'lookup-after-{name}', f'point lookup right after {what}', 'tps',
                          target=Target(at_least=0.7)), work)
