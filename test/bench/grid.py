"""gpu_grid against btree, BRIN, GiST and SP-GiST: boxes of three columns, boxes and nearest neighbours of points.

Every statement runs prepared in pgbench, one client on one processor, with boxes that are drawn anew each time; the
same seeds, so the same boxes, for each index.
"""

import functools
import itertools
import random
import re

import dataset
import report
from benchmark import PARALLEL, SERIAL, Benchmark, Statement
from samples import Line, Side, Target
from server import Failure

SHARES = (1e-6, 1e-4, 1e-2)
NEIGHBOURS = (1, 10, 100)
CHECKED_BOXES = 5

# A prepared statement's plan is made once, so that scans are compared and not the planner.
GENERIC = {'plan_cache_mode': 'force_generic_plan', 'enable_seqscan': 'off'}
INDEX = SERIAL | GENERIC | {'enable_bitmapscan': 'off', 'pg_gpu.enable_count_scan': 'off'}
BITMAP = SERIAL | GENERIC | {'enable_indexscan': 'off', 'pg_gpu.enable_count_scan': 'off'}
COUNT_SCAN = SERIAL | GENERIC | {'enable_bitmapscan': 'off', 'cpu_tuple_cost': '1000'}
# With parameters the planner expects few rows, which would not be worth a worker if pages cost anything, or tuples as
# much as they do.
TWO_WORKERS = PARALLEL | GENERIC | {'enable_bitmapscan': 'off', 'pg_gpu.enable_count_scan': 'off', 'random_page_cost': '0',
                                    'seq_page_cost': '0', 'cpu_tuple_cost': '1000'}


class Shape:
    """A table, and how a box of it is asked for."""

    def __init__(self, name, table, dimensions, low, size, columns, load):
        self.name = name
        self.table = table
        self.dimensions = dimensions
        self.low = low
        self.size = size
        self.columns = columns      # what each access method indexes
        self.load = load

    def index(self, am):
        return f'{self.table}_{am}'

    def variables(self, share):
        """Where a box may begin, and its side."""
        side = round(self.size * share ** (1 / self.dimensions))
        return self.low, self.low + self.size - side, side

    def draw(self, share):
        """pgbench lines that set a random box: x and x2, and so on."""
        low, high, side = self.variables(share)
        return ''.join(f'\\set {axis} random({low}, {high})\n\\set {axis}2 :{axis} + {side}\n'
                       for axis in 'xyz'[:self.dimensions])

    def values(self, share, seed):
        """The variables of one such box."""
        source = random.Random(seed)
        low, high, side = self.variables(share)
        values = {}
        for axis in 'xyz'[:self.dimensions]:
            values[axis] = source.randint(low, high)
            values[f'{axis}2'] = values[axis] + side
        return values


class Boxed(Shape):
    """Three columns."""

    def condition(self, am):
        if am == 'gist':
            return 'cube(ARRAY[x, y, z]::float8[]) <@ cube(ARRAY[:x, :y, :z]::float8[], ARRAY[:x2, :y2, :z2]::float8[])'
        return 'x BETWEEN :x AND :x2 AND y BETWEEN :y AND :y2 AND z BETWEEN :z AND :z2'

    def function(self):
        return f"gpu.count('{self.index('gpu_grid')}', ARRAY[:x, :y, :z]::int4[], ARRAY[:x2, :y2, :z2]::int4[])"


class Placed(Shape):
    """One column of points."""

    def condition(self, _am):
        return 'p <@ box(point(:x::float8, :y::float8), point(:x2::float8, :y2::float8))'

    def function(self):
        return (f"gpu.count('{self.index('gpu_grid')}', ARRAY[point(:x::float8, :y::float8)], "
                'ARRAY[point(:x2::float8, :y2::float8)])')


BOXED = Boxed('3 columns', 'boxed', 3, dataset.AXIS_LOW, dataset.AXIS_SIZE,
              {'btree': 'x, y, z', 'brin': 'x, y, z', 'gist': '(cube(ARRAY[x, y, z]::float8[]))', 'gpu_grid': 'x, y, z'},
              dataset.load_boxed)
PLACED = Placed('points', 'placed', 2, dataset.PLANE_LOW, dataset.PLANE_SIZE,
                {'gist': 'p', 'spgist': 'p', 'gpu_grid': 'p'}, dataset.load_placed)


class Drawn(Statement):
    """A statement with a box's variables."""

    def bound(self, values):
        """Returns the statement with values in place of the variables, as EXECUTE runs it."""
        return re.sub(r'(?<!:):([a-z][a-z0-9]*)', lambda name: f'({values[name.group(1)]})', self.sql)

    def check(self, session, values):
        """Returns the statement's plan with parameters."""
        numbers = {name: number for number, name in enumerate(values, 1)}
        sql = re.sub(r'(?<!:):([a-z][a-z0-9]*)', lambda name: f'${numbers[name.group(1)]}', self.sql)
        session.settings(self.settings)
        session.run(f'PREPARE drawn ({", ".join("int8" if max(map(abs, values.values())) >= 2**31 else "int4" for _ in values)}) AS {sql}')
        Statement(self.how, f'EXECUTE drawn ({", ".join(map(str, values.values()))})', {}, *self.wanted).check_plan(session)


class GridBenchmark(Benchmark):
    """Makes the data and takes the measures."""

    OWN = 'gpu_grid'
    GROUPS = ('build', 'size', 'gpu.count', 'count', 'rows', 'nearest', 'changed')

    def __init__(self, server, options, announce):
        super().__init__(server, options, announce)
        self.loaded = {}
        self.indexed = set()
        self.changed = False

    def subject(self):
        return f'{self.rows:,} points'

    def plots(self):
        return (('boxes', report.plot_boxes, 'Boxes of three columns'),)

    def run(self, groups):
        chosen = [group for group in self.GROUPS if group in groups]
        queries = [group for group in ('gpu.count', 'count', 'rows', 'nearest') if group in chosen]
        stages = []
        for shape in (BOXED, PLACED):
            for group, stage in (('build', self.build), ('size', self.size)):
                if group in chosen:
                    stages.append((f'{group}, {shape.name}', functools.partial(stage, shape)))
            if queries:
                stages.append((f'{", ".join(queries)}, {shape.name}', functools.partial(self.ask, shape, queries)))
        if 'changed' in chosen:
            for shape in (BOXED, PLACED):
                stages.append((f'changed, {shape.name}', functools.partial(self.ask_changed, shape)))
        self.run_stages(stages)

    def ask_changed(self, shape):
        self.changed = True
        self.change(shape)
        self.ask(shape, ('gpu.count', 'count', 'rows', 'nearest'))

    def ask(self, shape, queries):
        for query in queries:
            if query == 'nearest':
                self.nearest(shape)
            else:
                {'gpu.count': self.gpu_count, 'count': self.count, 'rows': self.fetch}[query](shape)

    # ---- Data ----------------------------------------------------------------------------------------

    def session(self, shape):
        session = self.server.session('bench' if self.loaded else 'postgres')
        if not self.loaded:
            session.run('CREATE DATABASE bench')
            session = self.server.session('bench')
            self.install(session)
            if self.options.cube:
                session.run('CREATE EXTENSION cube')
        if shape not in self.loaded:
            self.loaded[shape] = True
            self.tell(f'making {self.rows:,} points: {shape.name}')
            shape.load(session, self.rows)
        return session

    def ams(self, shape):
        return [am for am in shape.columns if am != 'gist' or shape is PLACED or self.options.cube]

    @staticmethod
    def create_index(shape, am):
        return f'CREATE INDEX {shape.index(am)} ON {shape.table} USING {am} ({shape.columns[am]})'

    def indexes(self, shape):
        """The session in which all indexes lie on the table, warm and vacuumed."""
        session = self.session(shape)
        if shape not in self.indexed:
            session.settings({})
            for am in self.ams(shape):
                if session.value(f"SELECT to_regclass('{shape.index(am)}') IS NULL") == 't':
                    session.run(self.create_index(shape, am))
            session.run(f'VACUUM (ANALYZE) {shape.table}')
            self.warm(session, shape.table, *map(shape.index, self.ams(shape)))
            self.indexed.add(shape)
        return session

    def change(self, shape):
        """Writes a new version of each hundredth row: few pages of the table are all-visible after that, and the index has
        runs that are not merged yet."""
        session = self.indexes(shape)
        session.settings({})
        session.run(f"UPDATE pg_index SET indisvalid = true WHERE indrelid = '{shape.table}'::regclass")
        session.run(f'UPDATE {shape.table} SET v = v WHERE v % 100 = 0')
        session.run(f'ANALYZE {shape.table}')
        self.warm(session, shape.table, *map(shape.index, self.ams(shape)))

    # ---- Builds --------------------------------------------------------------------------------------

    def build(self, shape):
        rule = Target(at_most=0.7) if shape is BOXED else Target(at_most=1.0)
        for workers in (0, 2) if shape is BOXED else (0,):
            line = Line(f'build-{shape.table}-{workers}',
                        f'CREATE INDEX, {shape.name}, {"2 workers" if workers else "serial"}', 'ms', own=self.OWN,
                        against='btree' if shape is BOXED else None, target=rule)
            self.measure(line, lambda line, workers=workers: self.builds(line, shape, workers))

    def builds(self, line, shape, workers):
        session = self.session(shape)
        self.indexed.discard(shape)
        for am in self.ams(shape):
            session.run(f'DROP INDEX IF EXISTS {shape.index(am)}')
        session.settings({'max_parallel_maintenance_workers': workers})
        self.warm(session, shape.table)

        def visit(am):
            def sample():
                session.run(f'DROP INDEX IF EXISTS {shape.index(am)}')
                session.run('CHECKPOINT')   # so that no build pays for the writes of the one before
                before = session.processor_ms()
                _, milliseconds = session.timed(self.create_index(shape, am))
                return milliseconds, None if workers else session.processor_ms() - before
            return sample
        how = f'max_parallel_maintenance_workers = {workers}'
        often = [am for am in self.ams(shape) if am in ('btree', 'gpu_grid')]
        self.repeat(line, {am: visit(am) for am in often}, self.options.build_runs, {am: how for am in often})
        # Access methods that take many times as long run once, and so does BRIN, which has next to nothing to do.
        for am in self.ams(shape):
            if am not in often and not workers:
                milliseconds, used = visit(am)()
                line.sides[am] = Side([milliseconds], how, [used])

    def size(self, shape):
        line = Line(f'size-{shape.table}', f'size, {shape.name}', 'bytes/row', own=self.OWN,
                    against='btree' if shape is BOXED else None, target=Target(at_most=0.6))
        self.measure(line, lambda line: self.sizes_of(line, shape))

    def sizes_of(self, line, shape):
        session = self.indexes(shape)
        for am in self.ams(shape):
            size = int(session.value(f"SELECT pg_relation_size('{shape.index(am)}')"))
            line.sides[am] = Side([size / self.rows], f'pg_relation_size of {size} bytes')

    # ---- Questions -----------------------------------------------------------------------------------

    def line(self, name, shape, title, target):
        if self.changed:
            name, title = f'{name}-changed', f'{title}, changed'
        return Line(name, f'{shape.name}, {title}', 'ms', own=self.OWN, target=target)

    def counts(self, shape, am, share):
        """Stock ways to count the rows of a box."""
        sql = f'SELECT count(*) FROM {shape.table} WHERE {shape.condition(am)};'
        index = shape.index(am)
        bitmap = Drawn('bitmap scan', sql, BITMAP, 'Bitmap Heap Scan', ('Bitmap Index Scan', index))
        if am == 'brin':
            return [bitmap]
        # GiST can't give back an expression's value.
        scan = 'Index Scan' if am == 'gist' and shape is BOXED else 'Index Only Scan'
        ways = [Drawn(scan.lower(), sql, INDEX, (scan, index)), bitmap]
        if am == 'btree' and share >= 1e-2:
            ways.append(Drawn('index-only scan, 2 workers', sql, TWO_WORKERS, (scan, index), 'Gather'))
        return ways

    def rows_of(self, shape, am):
        sql = f'SELECT sum(v) FROM {shape.table} WHERE {shape.condition(am)};'
        bitmap = Drawn('bitmap scan', sql, BITMAP, 'Bitmap Heap Scan', ('Bitmap Index Scan', shape.index(am)))
        return [bitmap] if am == 'brin' else [Drawn('index scan', sql, INDEX, ('Index Scan', shape.index(am))), bitmap]

    def compare_boxes(self, shape, share, line, own, stock):
        ways = {am: stock(am) for am in self.ams(shape) if am != self.OWN} | {self.OWN: own}
        self.compare(line, shape, shape.draw(share), [shape.values(share, seed) for seed in range(CHECKED_BOXES)], ways)

    def gpu_count(self, shape):
        for share in SHARES:
            target = Target(at_most=1.0 if shape is PLACED or share < 1e-5 else 0.05)
            line = self.line(f'gpu-count-{shape.table}-{share:g}', shape, f'gpu.count of {share:g}', None if self.changed else target)
            self.compare_boxes(shape, share, line, [Drawn('gpu.count', f'SELECT {shape.function()};', SERIAL | GENERIC)],
                               lambda am, share=share: self.counts(shape, am, share))

    def count(self, shape):
        for share in SHARES:
            target = Target(at_most=1.0 if shape is PLACED or share < 1e-5 else 0.5)
            line = self.line(f'count-{shape.table}-{share:g}', shape, f'count(*) of {share:g}', None if self.changed else target)
            sql = f'SELECT count(*) FROM {shape.table} WHERE {shape.condition(self.OWN)};'
            index = shape.index(self.OWN)
            own = [Drawn('count scan', sql, COUNT_SCAN, 'Custom Scan', ('Index Only Scan', index)),
                   Drawn('index-only scan', sql, INDEX, 'Aggregate', ('Index Only Scan', index))]
            self.compare_boxes(shape, share, line, own, lambda am, share=share: self.counts(shape, am, share))

    def fetch(self, shape):
        for share in SHARES:
            line = self.line(f'rows-{shape.table}-{share:g}', shape, f'rows of {share:g}', Target(at_most=1.0))
            self.compare_boxes(shape, share, line, self.rows_of(shape, self.OWN), lambda am: self.rows_of(shape, am))

    def nearest(self, shape):
        if shape is not PLACED:
            return
        for number in NEIGHBOURS:
            sql = f'SELECT v FROM placed ORDER BY p <-> point(:x::float8, :y::float8) LIMIT {number};'
            ways = {am: [Drawn('index scan', sql, INDEX, ('Index Scan', shape.index(am)))] for am in self.ams(shape)}
            line = self.line(f'nearest-{number}', shape, f'{number} nearest', Target(at_most=1.0))
            self.compare(line, shape, shape.draw(0), [shape.values(0, seed) for seed in range(CHECKED_BOXES)], ways)

    # ---- Side by side --------------------------------------------------------------------------------

    def checked(self, session, statement, boxes):
        """Returns its answers to some boxes, whatever their order."""
        session.settings(statement.settings)
        return [sorted(session.run(statement.bound(box).rstrip(';'))) for box in boxes]

    def compare(self, line, shape, draw, boxes, ways):
        """The fastest way of each access method, in turn."""
        def work(line):
            session = self.indexes(shape)
            fastest, first = {}, {}
            for am, statements in ways.items():
                self.show_only(session, am, shape.table)
                figures = {}
                for statement in statements:
                    statement.check(session, boxes[0])
                    answers = self.checked(session, statement, boxes)
                    if line.answer is None:
                        line.answer = answers
                    if answers != line.answer:
                        raise Failure(f'answers differ: {answers} instead of {line.answer}\n  in: {statement.sql}')
                    figures[statement.how] = self.estimate(session, am, statement, shape, draw)
                if len(statements) > 1:
                    self.note_medians(line, am, figures)
                fastest[am] = min(statements, key=lambda statement: figures[statement.how])
                first[am] = figures[fastest[am].how]
            # Access methods that are far behind the best of them are asked no more.
            best = min(figure for am, figure in first.items() if am != self.OWN)
            dropped = {am: figure for am, figure in first.items() if am != self.OWN and figure > 10 * best}
            if dropped:
                self.note_medians(line, 'far behind', dropped)
            visits = {am: self.visit(session, am, statement, line, shape=shape, draw=draw,
                                     transactions=round(max(3, 1000 * self.options.box_seconds / first[am])))
                      for am, statement in fastest.items() if am not in dropped}
            self.repeat(line, visits, self.options.runs,
                        {am: f'{statement.how}: {statement.sql}' for am, statement in fastest.items()})
        self.measure(line, work)

    def estimate(self, session, am, statement, shape, draw):
        """Returns roughly how many milliseconds it takes."""
        self.show_only(session, am, shape.table)
        once = self.time(statement, draw, 3, 1)[0]
        return min(self.time(statement, draw, round(max(3, min(1000, 200 / once))), seed)[0] for seed in (1, 2))

    def visit(self, session, am, statement, line, *, shape, draw, transactions):  # pylint: disable=arguments-differ
        seeds = itertools.count(1)

        def sample():
            self.show_only(session, am, shape.table)
            return self.time(statement, draw, transactions, next(seeds))
        return sample

    def time(self, statement, draw, transactions, seed):
        """pgbench's milliseconds a statement, and the server's of a processor."""
        tps, used = self.server.pgbench('bench', f'{draw}{statement.sql}\n', transactions=transactions,
                                        pinned=statement.workers == 0, seed=seed, settings=statement.settings)
        return 1000 / tps, used if statement.workers == 0 else None
