"""What test/bench/mixed reads and writes: the table, the kinds of indexes, the six questions and the workloads.

Statements are pgbench's: `:name` is a number that a client draws anew for each statement. The same text with numbers in
place of names asks in a session of psql.
"""

import random
import re
from dataclasses import dataclass

AXIS = 2**20            # x and y are below
BOX = AXIS // 10        # a side of a box: a hundredth of the rows lie in it
FEW, VALUES = 100, 10_000
BINS = 64
KEYS = 3_000
KEY_LISTS = 16
COMMON_WORDS, RARE_WORDS = 20, 500
BEST = 10

# ---- The table -------------------------------------------------------------------------------------------

# Rows are computed from their numbers, by hashes that look random. `number` equals `id`: writers find rows by `number`,
# so that readers must do without an index on `id`.
MADE = f'''CREATE FUNCTION made_rows(first int8, last int8) RETURNS TABLE (id int8, number int8, x int4, y int4, few int4, value int4, touched int4, words tsvector)
LANGUAGE sql IMMUTABLE AS $$
    SELECT g, g, (a & {AXIS - 1})::int4, (a >> 20 & {AXIS - 1})::int4, ((b & 1048575) % {FEW})::int4, ((b >> 20 & 1048575) % {VALUES})::int4, 0,
           array_to_tsvector(ARRAY['c' || (b >> 40 & 65535) % {COMMON_WORDS}, 'r' || (a >> 40 & 1048575) % {RARE_WORDS}, 'u' || (b >> 44 & 262143)])
    FROM (SELECT g, hashint8extended(g, 1) AS a, hashint8extended(g, 2) AS b FROM (SELECT generate_series(first, last) AS g) AS n OFFSET 0) AS s
$$'''

# Each page has room for new versions of its rows, without which no UPDATE could be HOT.
TABLE = '''CREATE TABLE t (id int8, number int8, x int4, y int4, few int4, value int4, touched int4, words tsvector) WITH (fillfactor = 90)'''

# How many hundreds of rows there are, so that writers add rows with new numbers and draw among all of them.
HUNDREDS = 'CREATE SEQUENCE hundreds START {next}'
LAST_ROW = '(SELECT last_value * 100 FROM hundreds)'


def make_table(session, rows):
    """The table without an index, and the lists of keys that are asked for."""
    session.run(MADE)
    session.run(TABLE)
    session.run(f'INSERT INTO t SELECT * FROM made_rows(1, {rows})')
    session.run(HUNDREDS.format(next=-(-rows // 100) + 1))
    # Without these the planner expects as many groups as rows, and doesn't go parallel.
    session.run(f'CREATE STATISTICS t_bins ON ({bin_of("value")}) FROM t')
    session.run('CREATE TABLE wanted (n int PRIMARY KEY, keys int8[])')
    # Random keys don't compress, and trying to would be measured, too.
    session.run('ALTER TABLE wanted ALTER COLUMN keys SET STORAGE EXTERNAL')
    session.run(f'INSERT INTO wanted SELECT n, (SELECT array_agg(1 + ((hashint8extended(i, n) & 4611686018427387903) % {rows})) '
                f'FROM generate_series(1, {KEYS}) AS i) FROM generate_series(1, {KEY_LISTS}) AS n')
    session.run('VACUUM (ANALYZE, FREEZE) t')
    session.run('VACUUM (ANALYZE, FREEZE) wanted')


def bin_of(column):
    return f'width_bucket({column}::float8, 0, {VALUES}, {BINS})'


# Each kind of indexes has a database of its own, so that its writers maintain no other's.
INDEXES = {
    'gpu': {'t_kary': 'USING gpu_kary (id)', 't_grid': 'USING gpu_grid (x, y)', 't_column': 'USING gpu_column (few, value)',
            't_text': 'USING gpu_text (words)'},
    'btree': {'t_id': '(id)', 't_xy': '(x, y)', 't_few': '(few, value)', 't_words': 'USING gin (words)'},
    'brin': {'t_number': '(number)', 't_brin': 'USING brin (id, few, value, x, y) WITH (pages_per_range = 32)'},
    'plain': {'t_number': '(number)'},
}


@dataclass(frozen=True)
class Way:
    """Who answers: a kind of indexes, and the settings of the readers' sessions."""
    name: str
    kind: str
    settings: tuple = ()


PATHS = ('paged', 'host', 'cuda', 'auto')
# Values drawn are known to the planner; and no join looks each of the keys up by a scan of its own, which it takes where it expects few.
STOCK = (('plan_cache_mode', 'force_custom_plan'), ('enable_nestloop', 'off'))
COMPETITORS = {
    'btree': Way('btree', 'btree', STOCK),
    'brin': Way('brin', 'brin', (*STOCK, ('enable_indexscan', 'off'), ('enable_indexonlyscan', 'off'))),
    'plain': Way('plain', 'plain', (*STOCK, ('enable_indexscan', 'off'), ('enable_indexonlyscan', 'off'), ('enable_bitmapscan', 'off'))),
}


def way_of_path(path):
    return Way(path, 'gpu', (('pg_gpu.path', path),))


# ---- Questions -------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Question:
    """One statement of the readers. `stock` asks the same without pg_gpu, and a sequential scan by it is what answers are compared with."""
    name: str
    draws: dict         # variable: lowest and highest
    gpu: str
    stock: str
    checked: str = ''   # asked of pg_gpu in place of `gpu` where `gpu` tells too little of its rows
    btree: str = ''     # in place of `stock`
    compared: str = ''  # in place of `stock`, for comparisons
    node: str = ''      # pg_gpu's plan must have it

    def of(self, kind):
        if kind == 'gpu':
            return self.gpu
        return self.btree if kind == 'btree' and self.btree else self.stock

    def reference(self):
        return self.compared or self.stock

    def drawn(self, generator):
        return {name: generator.randint(low, high) for name, (low, high) in self.draws.items()}

    def script(self, kind):
        """Returns the statement as pgbench reads it."""
        return ''.join(f'\\set {name} random({low}, {high})\n' for name, (low, high) in self.draws.items()) + self.of(kind) + ';\n'


def with_numbers(sql, numbers):
    return re.sub(r'(?<!:):(\w+)', lambda match: str(numbers[match.group(1)]), sql)


# Counts rows by a bitmap and a look at each row, as a query does that reads more than the index has.
BITMAP_COUNT = '''CREATE FUNCTION bitmap_count(low int8, high int8) RETURNS int8 LANGUAGE plpgsql STABLE
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off {more} AS $$
BEGIN RETURN (SELECT count(*) FROM t WHERE id BETWEEN low AND high); END $$'''


def questions(rows):
    range_of_ids = max(1, rows // 50)
    wanted = '(SELECT keys FROM wanted WHERE n = :n)'
    any_of = f'SELECT count(*) FROM t WHERE id = ANY ({wanted}::int8[])'
    query = "('c' || :c || ' & r' || :r)::tsquery"
    filter_of = "'few < ' || :f || ' AND value >= ' || :v"
    in_box = f'x BETWEEN :x AND :x + {BOX} AND y BETWEEN :y AND :y + {BOX}'
    found = f"gpu.search('t_text', {query}, {BEST}, 'and')"
    matching = f'FROM t WHERE words @@ {query}'
    return (
        Question('histogram with a filter', {'f': (20, 80)},
                 f"SELECT count(*), sum(bin::int8 * count) FROM gpu.histogram('t_column', 'value', {BINS}, 0, {VALUES}, 'few < ' || :f) WHERE count > 0",
                 f'SELECT count(*), sum(bin::int8 * n) FROM (SELECT {bin_of("value")} AS bin, count(*) AS n FROM t WHERE few < :f GROUP BY 1) AS h'),
        Question('count, a filter', {'f': (10, 90), 'v': (0, VALUES)}, f"SELECT gpu.count('t_column', {filter_of})",
                 'SELECT count(*) FROM t WHERE few < :f AND value >= :v'),
        Question('count of a box', {'x': (0, AXIS - BOX), 'y': (0, AXIS - BOX)},
                 f"SELECT gpu.count('t_grid', ARRAY[:x, :y]::int4[], ARRAY[:x + {BOX}, :y + {BOX}]::int4[])",
                 f'SELECT count(*) FROM t WHERE {in_box}'),
        # Where no index is used this is a hash join, since an array that isn't a constant would be searched from its
        # beginning for each row.
        Question(f'= ANY of {KEYS:,} keys', {'n': (1, KEY_LISTS)}, any_of,
                 'SELECT count(*) FROM t WHERE id IN (SELECT unnest(keys) FROM wanted WHERE n = :n)', btree=any_of, node='Custom Scan'),
        Question('bitmap count', {'i': (1, rows - range_of_ids)}, f'SELECT bitmap_count(:i, :i + {range_of_ids})',
                 f'SELECT count(*) FROM t WHERE id BETWEEN :i AND :i + {range_of_ids}', btree=f'SELECT bitmap_count(:i, :i + {range_of_ids})'),
        Question('text search', {'c': (0, COMMON_WORDS - 1), 'r': (0, RARE_WORDS - 1)}, f'SELECT count(*) FROM {found}',
                 f'SELECT count(*) FROM (SELECT ctid {matching} ORDER BY ts_rank(words, {query}) DESC LIMIT {BEST}) AS s',
                 checked=f'SELECT count(*) FROM {found} AS s JOIN t ON t.ctid = s.tid WHERE words @@ {query}',
                 compared=f'SELECT least({BEST}, count(*)) {matching}'),
    )


def make_indexes(session, kind):
    """Indexes, and what the questions of this kind call."""
    if kind == 'gpu':
        session.run('CREATE EXTENSION pg_gpu')
    for name, definition in INDEXES[kind].items():
        session.run(f'CREATE INDEX {name} ON t {definition}')
    if kind in ('gpu', 'btree'):
        session.run(BITMAP_COUNT.format(more='SET pg_gpu.enable_count_scan = off' if kind == 'gpu' else ''))
    # Makes each column's statistics, and visibility maps, without which nothing could be index-only.
    session.run('VACUUM (ANALYZE) t')
    for relation in ('t', *INDEXES[kind]):
        session.run(f"SELECT pg_prewarm('{relation}')")


WITHOUT_INDEXES = ('enable_indexscan', 'enable_indexonlyscan', 'enable_bitmapscan', 'enable_nestloop', 'pg_gpu.enable_count_scan',
                   'pg_gpu.enable_lookup_join', 'pg_gpu.enable_query')


def differences(session, question, numbers):
    """Asks pg_gpu and a sequential scan in one snapshot; returns what differs, or None."""
    session.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
    own = session.run(with_numbers(question.checked or question.gpu, numbers))
    for setting in WITHOUT_INDEXES:
        session.run(f'SET LOCAL {setting} = off')
    expected = session.run(with_numbers(question.reference(), numbers))
    session.run('COMMIT')
    return None if own == expected else f'{question.name}: {own} by pg_gpu, {expected} by a sequential scan, of {numbers}'


# ---- Workloads -------------------------------------------------------------------------------------------

INSERTED, CHANGED = 100, 75     # rows a transaction
RATE = 20                       # transactions of a writer in a second, so that two insert 4,000 rows and delete 3,000


@dataclass(frozen=True)
class Workload:
    """What a writer's transaction does. `rate` is that of one writer, in transactions a second."""
    name: str
    inserts: bool = False
    change: str = ''

    @property
    def rows(self):
        """Returns how many rows a transaction writes."""
        return INSERTED * self.inserts + CHANGED * bool(self.change)

    def script(self, kind):
        number = 'number' if kind in ('brin', 'plain') else 'id'
        # Rows are changed in the order of their numbers, so that two writers that meet in several rows don't wait for
        # each other.
        drawn = (f'WHERE {number} = ANY (ARRAY(SELECT 1 + (random() * ({LAST_ROW} - 1))::int8 AS drawn FROM generate_series(1, {CHANGED}) ORDER BY drawn))')
        lines = ['BEGIN']
        if self.inserts:
            lines.append(f"INSERT INTO t SELECT made.* FROM (SELECT (nextval('hundreds') - 1) * {INSERTED} AS before OFFSET 0) AS s, "
                         f'made_rows(before + 1, before + {INSERTED}) AS made')
        if self.change:
            lines.append(f'{self.change} {drawn}')
        lines.append('END')
        return ''.join(line + ';\n' for line in lines)


WORKLOADS = {workload.name: workload for workload in (
    Workload('mixed', True, 'DELETE FROM t'),
    Workload('hot', change='UPDATE t SET touched = touched + 1'),
    Workload('updates', change=f'UPDATE t SET x = (x + 7919) % {AXIS}, few = (few + 1) % {FEW}, value = (value + 7) % {VALUES}'),
    Workload('inserts', True),
    Workload('deletes', change='DELETE FROM t'),
)}


def random_of(seed):
    """The draws of comparisons: the same in each run."""
    return random.Random(seed)
