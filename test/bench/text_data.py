"""The text benchmark's documents and queries, BM25 in SQL, and the judged collections."""

import hashlib
import lzma
import os
import re
import subprocess

from server import Failure

# Fields are taken as they are: no character quotes or escapes.
FORMAT = "FORMAT csv, DELIMITER E'\\t', QUOTE E'\\x01', ESCAPE E'\\x01'"

COLLECTIONS = ('cacm', 'cranfield', 'npl', 'scifact')

# So many queries are looked through for those that match ten documents.
CANDIDATES = 20_000


def copy(session, target, path):
    session.send(f"\\copy {target} FROM '{path}' ({FORMAT})")


def need(path, hint):
    if not os.path.exists(path):
        raise Failure(f'{path} is not there. Hint: {hint}')
    return path


# ---- Documents ---------------------------------------------------------------------------------------


def load_corpus(session, server, options):
    """Makes table doc (id, title, body, tsv), in shared buffers and vacuumed; returns the number of documents."""
    path = options.corpus
    if not path:
        script = need(os.path.join(options.data, 'make_corpus.sh'), '--corpus names a file of documents, --data a folder with make_corpus.sh')
        path = server.file('corpus.tsv')
        subprocess.run([script, '-o', path, '-w', server.file('corpus')], check=True, stdout=subprocess.DEVNULL)
    session.run('CREATE TABLE loaded (id text, title text, body text)')
    copy(session, 'loaded', need(path, 'make_corpus.sh makes it'))
    total = int(session.value('SELECT count(*) FROM loaded'))
    wanted = min(options.documents or total, total)
    session.run("CREATE TABLE doc AS SELECT id, title, body, to_tsvector('english', title || ' ' || body) AS tsv "
                f'FROM (SELECT *, row_number() OVER () AS number FROM loaded) AS x WHERE number * {wanted} % {total} < {wanted}')
    session.run('DROP TABLE loaded')
    session.run('VACUUM (ANALYZE) doc')
    return int(session.value('SELECT count(*) FROM doc'))


# ---- Queries -----------------------------------------------------------------------------------------


def literal(lexemes, operator):
    """A tsquery for a statement. Lexemes of letters and digits hold neither quotes nor backslashes."""
    query = f' {operator} '.join(f"''{lexeme}''" for lexeme in lexemes)
    return f"'{query}'::tsquery"


def pick_queries(session, options):
    """Two sets of real queries with several lexemes, each in an order of chance: such as match at least ten documents by all of
    their lexemes, so that there is a best ten, and any."""
    path = need(os.path.join(options.data, 'queries', 'topics.terabyte05.efficiency.txt.xz'), '--data names the folder of queries/')
    with lzma.open(path, 'rt', encoding='utf-8', errors='replace') as file:
        texts = {line.partition(':')[2].strip() for line in file}
    drawn = sorted((text for text in texts if re.fullmatch(r'[a-z0-9]+( [a-z0-9]+)+', text)),
                   key=lambda text: hashlib.md5(text.encode()).hexdigest())[:CANDIDATES]
    session.run('CREATE TABLE candidate (place int, lexemes text[])')
    for first in range(0, len(drawn), 1000):
        values = ', '.join(f"({first + number}, tsvector_to_array(to_tsvector('english', '{text}')))"
                           for number, text in enumerate(drawn[first:first + 1000]))
        session.run(f'INSERT INTO candidate VALUES {values}')
    session.run('DELETE FROM candidate WHERE cardinality(lexemes) < 2')
    session.run("ALTER TABLE candidate ADD matched bool")
    session.run("UPDATE candidate SET matched = (SELECT count(*) = 10 FROM gpu.search('doc_gpu_text', "
                "(SELECT string_agg(quote_literal(l), ' & ') FROM unnest(lexemes) AS l)::tsquery, 10, 'and'))")

    def picked(condition):
        found = session.run(f"SELECT array_to_string(lexemes, ' ') FROM candidate WHERE {condition} ORDER BY place LIMIT {options.queries}")
        if len(found) < options.queries:
            raise Failure(f'only {len(found)} queries instead of {options.queries}. Hint: more documents')
        return [line.split(' ') for line in found]
    return picked('matched'), picked('true')


# ---- BM25 in SQL -------------------------------------------------------------------------------------


def define_bm25(session):
    """Function bm25 over table doc, with sums of integers as the index's, so that scores are the same to the bit."""
    session.run('CREATE TABLE doc_length AS SELECT d.ctid AS tid, (SELECT sum(cardinality(positions)) FROM unnest(tsv))::float8 AS dl FROM doc AS d')
    session.run('CREATE TABLE total AS SELECT count(*)::float8 AS n, sum(dl) / count(*) AS avgdl FROM doc_length')
    session.run('''
        CREATE FUNCTION bm25(wanted text[], fewest int, most int) RETURNS TABLE (tid tid, score real) LANGUAGE sql STABLE AS $$
        WITH asked AS MATERIALIZED (SELECT string_agg(quote_literal(l), ' | ')::tsquery AS query FROM unnest(wanted) AS l),
        found AS MATERIALIZED (SELECT d.ctid AS tid, u.lexeme, cardinality(u.positions)::float8 AS tf
            FROM doc AS d, unnest(d.tsv) AS u WHERE d.tsv @@ (SELECT query FROM asked) AND u.lexeme = ANY (wanted)),
        weight AS MATERIALIZED (SELECT lexeme, ln(1 + (n - df + 0.5::float8) / (df + 0.5::float8)) * (1.2::float8 + 1) * 4294967296 AS w
            FROM (SELECT lexeme, count(*)::float8 AS df FROM found GROUP BY lexeme) AS x, total),
        score AS (SELECT f.tid, count(*) AS lexemes,
                sum(greatest(floor(w * tf / (tf + (1.2::float8 * (1 - 0.75::float8) + 1.2::float8 * 0.75 / avgdl * coalesce(dl, 0))) + 0.5), 1)::int8)::float8 AS units
            FROM found AS f JOIN weight USING (lexeme) JOIN doc_length USING (tid), total GROUP BY f.tid)
        SELECT s.tid, (units / 4294967296)::real FROM score AS s WHERE lexemes >= fewest ORDER BY units DESC, s.tid LIMIT most $$''')
    session.run('ANALYZE doc_length')


def bm25(session, lexemes, fewest, most):
    array = ', '.join(f"'{lexeme}'" for lexeme in lexemes)
    return session.run(f'SELECT tid, score FROM bm25(ARRAY[{array}], {fewest}, {most})')


# ---- Judged collections ------------------------------------------------------------------------------


def judge_collections(server, data):
    """nDCG@10 of gpu.search and of BM25 in SQL, whose best 100 must be the same."""
    with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), 'judged.sql'), encoding='utf-8') as file:
        functions = file.read()
    lines = []
    for collection in COLLECTIONS:
        folder = os.path.join(data, 'text', collection)
        if not os.path.exists(os.path.join(folder, 'docs.tsv.xz')):
            print(f'{folder} is not there: no nDCG for it')
            continue
        server.session('postgres').run(f"CREATE DATABASE {collection} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
        session = server.session(collection)
        session.run('CREATE EXTENSION pg_gpu')
        session.send(functions)
        documents = server.file(f'{collection}.tsv')
        with lzma.open(os.path.join(folder, 'docs.tsv.xz')) as source, open(documents, 'wb') as target:
            target.write(source.read())
        copy(session, 'document (id, title, body)', documents)
        copy(session, 'query (id, body)', os.path.join(folder, 'queries.tsv'))
        copy(session, 'judgement', os.path.join(folder, 'qrels.tsv'))
        session.run("SELECT prepare_collection('english')")
        if session.value('SELECT ranking_differences()') != '0':
            raise Failure(f'gpu.search ranks {collection} otherwise than BM25 in SQL')
        own, reference, queries = session.value("SELECT ndcg('gpu_text'), ndcg('sql'), (SELECT count(DISTINCT query) FROM judgement WHERE gain > 0)").split('|')
        lines.append({'collection': collection, 'gpu_text': float(own), 'sql': float(reference), 'queries': int(queries)})
        server.close_session(collection)
    return lines
