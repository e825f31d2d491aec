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
class Key:
    """A key type: how its value comes out of the 64 scrambled bits, in an expression both SQL and pgbench know."""
    name: str
    bytes: int
    expression: str


KEYS = {
    'int8': Key('int8', 8, '{x}'),
    'int4': Key('int4', 4, '{x} >> 32'),
}


def rows_query(key, first, last):
    """Rows first to last, in this order."""
    query = f'SELECT i, i AS x FROM generate_series({first}::int8, {last}::int8) AS i'
    for step in STEPS:
        # OFFSET 0 keeps the planner from writing each x out, which would double the expression at every step.
        query = f'SELECT i, {step.format(x="x")} AS x FROM ({query} OFFSET 0) AS s'
    return f'SELECT ({key.expression.format(x="x")})::{key.name} AS k, i AS v FROM ({query} OFFSET 0) AS s'


def draw_key(key, first, last):
    """pgbench lines that draw a row number :i and set :k to its key."""
    lines = [f'\\set i random({first}, {last})', '\\set x :i']
    lines += [f'\\set x {step.format(x=":x")}' for step in STEPS]
    lines.append(f'\\set k {key.expression.format(x=":x")}')
    return '\n'.join(lines) + '\n'


def load(session, key, rows, table='t'):
    session.run(f'CREATE TABLE {table} (k {key.name}, v int8) WITH (parallel_workers = 2)')
    session.run(f'INSERT INTO {table} {rows_query(key, 1, rows)}')
    session.run(f'VACUUM (ANALYZE) {table}')


def prepare_probes(session, key, sizes, table='t'):
    """For each size a random sample of the keys, once as rows and once as one stored array."""
    session.run(f'CREATE TABLE probe (size int8 PRIMARY KEY, keys {key.name}[])')
    # Random keys don't compress: trying to would be measured too.
    session.run('ALTER TABLE probe ALTER COLUMN keys SET STORAGE EXTERNAL')
    total = int(session.value(f'SELECT count(*) FROM {table}'))
    for size in sizes:
        percent = min(100.0, 120.0 * size / total + 0.05)
        session.run(f'CREATE TABLE keys_{size} AS SELECT k FROM {table} TABLESAMPLE BERNOULLI ({percent}) '
                    f'REPEATABLE ({size}) ORDER BY hashint8extended(v, {size}) LIMIT {size}')
        session.run(f'INSERT INTO probe SELECT {size}, array_agg(k) FROM keys_{size}')
        if int(session.value(f'SELECT cardinality(keys) FROM probe WHERE size = {size}')) != size:
            raise AssertionError(f'the sample of {size} keys came out smaller')
    session.run(f'CREATE FUNCTION stored_keys(wanted int8) RETURNS {key.name}[] LANGUAGE sql STABLE '
                'RETURN (SELECT keys FROM probe WHERE size = wanted)')
    session.run('VACUUM (ANALYZE)')
