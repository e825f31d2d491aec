"""The data: rows whose key is computed from their number, in SQL and in pgbench alike.

Row number i has v = i and k = key(i), which looks random, so that keys come in no order of the heap. Because
the same few integer operations exist in pgbench, a client can draw a row number and ask for its key, without a
table of keys at its side, and can check the answer.
"""

from dataclasses import dataclass

# Each step turns x into the next x: a multiplication that can't overflow for row numbers below 2^30, shifts,
# and one product of low bits, without which keys would be linear in the bits of the row number.
STEPS = (
    '{x} * 6364136223',
    '{x} # ({x} << 21)',
    '{x} # ({x} >> 13)',
    '{x} # ({x} << 31)',
    '{x} # ((({x} & 2147483647) * 4294967291) >> 29)',
    '{x} # ({x} << 37)',
)

LARGEST_ROW = 2**30 - 1


@dataclass(frozen=True)
class Column:
    """A key column: an integer out of the 64 scrambled bits x, in an expression both SQL and pgbench know, and the SQL
    that makes the column's value of that integer n."""
    name: str
    type: str
    integer: str
    value: str = '{n}'


@dataclass(frozen=True)
class Key:
    """What is indexed: one column or several, gpu_kary's operator class if not the default, and what must be reached."""
    name: str
    columns: tuple
    opclass: str = ''
    largest_size: float = 0.65      # of btree's
    longest_build: float = 0.5

    @property
    def type(self):
        return self.columns[0].type

    @property
    def is_integer(self):
        return self.type in ('int4', 'int8') and len(self.columns) == 1

    @property
    def has_order(self):
        return not self.opclass

    def index_columns(self, am):
        names = ', '.join(column.name for column in self.columns)
        return f'{names} {self.opclass}' if am == 'gpu_kary' and self.opclass else names

    def condition(self, parameters=False):
        """The key whose integers are in pgbench's variables, or in a statement's parameters."""
        return ' AND '.join(f'{column.name} = ' + column.value.format(n=f'${number}' if parameters else f':{column.name}')
                            for number, column in enumerate(self.columns, 1))

    def values(self):
        """The key columns' values of the integers in pgbench's variables."""
        return ', '.join(column.value.format(n=f':{column.name}') for column in self.columns)


INSTANT = "(timestamptz '2020-01-01 00:00:00+00' + ({n})::int8 * interval '1 microsecond')"

KEYS = {key.name: key for key in (
    Key('int8', (Column('k', 'int8', '{x}'),), longest_build=0.45),
    Key('int4', (Column('k', 'int4', '{x} >> 32'),), largest_size=0.50, longest_build=0.45),
    Key('timestamptz', (Column('k', 'timestamptz', '{x} >> 13', INSTANT),)),
    Key('uuid', (Column('k', 'uuid', '{x}', '(md5(({n})::int8::text)::uuid)'),), largest_size=0.75),
    Key('text', (Column('k', 'text', '{x}', "('key number ' || ({n})::int8)"),), opclass='gpu.hash_ops',
        largest_size=0.5),
    Key('int4-timestamptz', (Column('k', 'int4', '{x} >> 44'), Column('k2', 'timestamptz', '{x} >> 13', INSTANT))),
)}


def scrambled(first, last):
    """Rows first to last, in this order, as (i, x): number and scrambled bits."""
    query = f'SELECT i, i AS x FROM generate_series({first}::int8, {last}::int8) AS i'
    for step in STEPS:
        # OFFSET 0 keeps the planner from writing each x out, which would double the expression at every step.
        query = f'SELECT i, {step.format(x="x")} AS x FROM ({query} OFFSET 0) AS s'
    return query


def rows_query(key, first, last):
    """Rows first to last, in this order."""
    columns = ', '.join(f'({column.value.format(n="(" + column.integer.format(x="x") + ")")})::{column.type} '
                        f'AS {column.name}' for column in key.columns)
    return f'SELECT {columns}, i AS v FROM ({scrambled(first, last)} OFFSET 0) AS s'


def draw_key(key, first, last):
    """pgbench lines that draw a row number :i and set the key columns' integers."""
    lines = [f'\\set i random({first}, {last})', '\\set x :i']
    lines += [f'\\set x {step.format(x=":x")}' for step in STEPS]
    lines += [f'\\set {column.name} {column.integer.format(x=":x")}' for column in key.columns]
    return '\n'.join(lines) + '\n'


def load(session, key, rows, table='t'):
    columns = ', '.join(f'{column.name} {column.type}' for column in key.columns)
    session.run(f'CREATE TABLE {table} ({columns}, v int8) WITH (parallel_workers = 2)')
    session.run(f'INSERT INTO {table} {rows_query(key, 1, rows)}')
    session.run(f'VACUUM (ANALYZE) {table}')


def prepare_probes(session, key, sizes, table='t'):
    """For each size a random sample of the keys, once as rows and once as one stored array."""
    session.run(f'CREATE TABLE probe (size int8 PRIMARY KEY, keys {key.type}[])')
    # Random keys don't compress, and trying to would be measured, too.
    session.run('ALTER TABLE probe ALTER COLUMN keys SET STORAGE EXTERNAL')
    total = int(session.value(f'SELECT count(*) FROM {table}'))
    for size in sizes:
        percent = min(100.0, 120.0 * size / total + 0.05)
        session.run(f'CREATE TABLE keys_{size} AS SELECT k FROM {table} TABLESAMPLE BERNOULLI ({percent}) '
                    f'REPEATABLE ({size}) ORDER BY hashint8extended(v, {size}) LIMIT {size}')
        session.run(f'INSERT INTO probe SELECT {size}, array_agg(k) FROM keys_{size}')
        if int(session.value(f'SELECT cardinality(keys) FROM probe WHERE size = {size}')) != size:
            raise AssertionError(f'the sample of {size} keys came out smaller')
    session.run(f'CREATE FUNCTION stored_keys(wanted int8) RETURNS {key.type}[] LANGUAGE sql STABLE '
                'RETURN (SELECT keys FROM probe WHERE size = wanted)')
    session.run('VACUUM (ANALYZE)')


# ---- Points, for gpu_grid ----------------------------------------------------------------------------------
# Makes whole numbers of the same scrambled bits, uniform and independent of one another.

AXES = ('({x} >> 44)', '(({x} << 20) >> 44)', '(({x} << 40) >> 44)')
AXIS_LOW, AXIS_SIZE = -2**19, 2**20
PLANE = ('({x} >> 32)', '(({x} << 32) >> 32)')
PLANE_LOW, PLANE_SIZE = -2**31, 2**32


def load_boxed(session, rows):
    """boxed (x, y, z, v): points of three int4 columns. v tells the row, and looks random."""
    x, y, z = (axis.format(x='x') for axis in AXES)
    session.run('CREATE TABLE boxed (x int4, y int4, z int4, v int8) WITH (parallel_workers = 2)')
    session.run(f'INSERT INTO boxed SELECT {x}, {y}, {z}, x FROM ({scrambled(1, rows)} OFFSET 0) AS s')
    session.run('VACUUM (ANALYZE) boxed')


def load_placed(session, rows):
    """placed (p, v): points of the plane."""
    x, y = (axis.format(x='x') for axis in PLANE)
    session.run('CREATE TABLE placed (p point, v int8) WITH (parallel_workers = 2)')
    session.run(f'INSERT INTO placed SELECT point(({x})::float8, ({y})::float8), x FROM ({scrambled(1, rows)} OFFSET 0) AS s')
    session.run('VACUUM (ANALYZE) placed')
