# suite: check
# LIKE is told by a value's bytes where an encoding lets it: random strings and patterns in several encodings, each as a condition and as
# a FILTER, by the index and by PostgreSQL's own plan. Characters share bytes with others' beginnings and ends, and what LIKE treats
# specially stands in strings as well as in patterns. PG_GPU_TEST_SEED chooses others.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use Test::More;

# Characters as hexadecimal bytes.
my %characters = (
	UTF8 => [qw(61 62 61 25 5f 5c c3a9 c2a9 c3a8 e697a5 e6a5 f09d849e)],
	LATIN1 => [qw(61 62 61 25 5f 5c e9 a9 c3)],
	EUC_JP => [qw(61 62 61 25 5f 5c c4c4 c4c2 c2c4 c4c2 8ec4 8fc4c2)],
	SQL_ASCII => [qw(61 62 61 25 5f 5c c3 a9 ff)]);
# Not all bytes above are a character of UTF-8.
$characters{UTF8} = [ grep { $_ ne 'e6a5' } @{ $characters{UTF8} } ];

my $random = new_random(16);
my $node = new_cluster('main', extension => 0, conf => "pg_gpu.path = host\n");
my ($strings, $patterns) = (few_or_many(300, 2000), few_or_many(60, 400));

# So many characters; special ones once in a while.
sub some_characters
{
	my ($all, $count) = @_;
	return join '', map { my $one = $random->pick(@$all); $random->once_in(3) ? $one : $random->pick($one, '61', '62', $all->[6]) } 1 .. $count;
}

sub some_pattern
{
	my ($all) = @_;
	return join '', map { $random->pick('25', '25', $random->once_in(8) ? '5f' : '', '') . some_characters($all, $random->pick(0, 0, 1, 1, 2, 3, 17)) } 1 .. $random->between(0, 4);
}

sub hex_list
{
	return join ', ', map { "('\\x$_'::bytea)" } @_;
}

foreach my $encoding (sort keys %characters)
{
	my $all = $characters{$encoding};
	my $database = lc $encoding;
	my @strings = map { some_characters($all, $random->pick(0, 1, 2, 3, 5, 8, 14, 16, 17, 30, 33)) } 1 .. $strings;
	my @patterns = ('', '25', '2525', '5c', '255c', '5c25', '6125', '2561', (map { ("25$_", "25${_}25") } @$all), map { some_pattern($all) } 1 .. $patterns);
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'");
	# What comes last has no run yet.
	$node->safe_psql($database, <<SQL);
CREATE EXTENSION pg_gpu;
CREATE TABLE bytes (id int4 GENERATED ALWAYS AS IDENTITY, value bytea);
INSERT INTO bytes (value) VALUES @{[ hex_list(@strings) ]}, (NULL), (NULL);
CREATE TABLE likes (id int4, t text, v varchar(80), c char(80), y bytea);
INSERT INTO likes SELECT id, convert_from(value, '$encoding'), convert_from(value, '$encoding'), convert_from(value, '$encoding'), value FROM bytes WHERE id <= $strings - 20;
CREATE INDEX likes_i ON likes USING gpu_column (id, t, v, c, y);
VACUUM ANALYZE likes;
INSERT INTO likes SELECT id, convert_from(value, '$encoding'), convert_from(value, '$encoding'), convert_from(value, '$encoding'), value FROM bytes WHERE id > $strings - 20;
CREATE TABLE patterns (id int4 GENERATED ALWAYS AS IDENTITY, value bytea);
INSERT INTO patterns (value) VALUES @{[ hex_list(@patterns) ]};
CREATE FUNCTION answer_of(query text) RETURNS text LANGUAGE plpgsql AS \$\$
DECLARE
	answer text;
BEGIN
	EXECUTE query INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END \$\$;
CREATE VIEW queries AS
SELECT id, replace(replace(query, 'COLUMN', column_name), 'PATTERN',
	CASE column_name WHEN 'y' THEN quote_literal(value) || '::bytea' ELSE quote_literal(convert_from(value, '$encoding')) END) AS query
FROM patterns, unnest(ARRAY['t', 'v', 'c', 'y', 'lower(t)', 'substr(v, 2)', 'nullif(t, ''a'')']) AS column_name, unnest(ARRAY[
	'SELECT (count(*), sum(id)) FROM likes WHERE COLUMN LIKE PATTERN',
	'SELECT (count(*) FILTER (WHERE COLUMN LIKE PATTERN), sum(id) FILTER (WHERE COLUMN NOT LIKE PATTERN), max(id)) FROM likes',
	'SELECT count(*) FROM likes WHERE COLUMN LIKE ANY (ARRAY[PATTERN, ''a%''])']) AS query;
SQL
	my $plans = $node->safe_psql($database, q{SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN SELECT (count(*), sum(id)) FROM likes WHERE t LIKE '%a'; EXPLAIN SELECT count(*) FROM likes WHERE t LIKE ANY (ARRAY['%a', 'a%'])});
	like($plans, qr/GpuQuery.*GpuCount/s, "$encoding: the nodes answer");
	my $answers = $node->safe_psql($database, <<'SQL');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TEMP TABLE by_index AS SELECT query, answer_of(query) AS answer FROM queries;
SET enable_seqscan = on;
SET pg_gpu.enable_query = off;
SET pg_gpu.enable_count_scan = off;
CREATE TEMP TABLE without AS SELECT query, answer_of(query) AS answer FROM queries;
SELECT query, i.answer, w.answer FROM by_index AS i JOIN without AS w USING (query) WHERE i.answer IS DISTINCT FROM w.answer LIMIT 5;
SQL
	is($answers, '', "$encoding: the same answers");
	cmp_ok($node->safe_psql($database, "SELECT count(*) FROM queries WHERE answer_of(query) ~ '^.([1-9]|0,.*[1-9]+,)'"), '>', 50, "$encoding: many patterns match something");
}

done_testing();
