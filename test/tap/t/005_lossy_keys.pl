# suite: check
# Keys that don't tell the values: by hash, of types that collide too, numerics by the nearest float8, and text by its first bytes. Random histories, then
# random conditions, joins and gpu.lookup, each through the index and through the heap.
# PG_GPU_TEST_SEED and PG_GPU_TEST_ROUNDS choose other histories.

use strict;
use warnings;
use utf8;

use Encode qw(encode_utf8);
use Test::More;
use PgGpuTest;

my @words = ('', 'a', 'A', 'ab', 'ab ', 'abc', 'B', ' ', '%', '_', '\\', 'a%b', 'é', 'É', 'straße', 'STRASSE', '日本語');

# These strings repeat, begin alike for about as long as a key, and hold what LIKE treats specially.
sub some_text
{
	my ($random) = @_;
	my $case = $random->between(0, 5);
	return $random->pick(@words) if $case <= 1;
	return 'https://example.com/' . $random->between(0, 30) if $case == 2;
	return 'exactly 15 byte' . $random->pick(@words) if $case == 3;
	return 'word' . $random->between(0, 40) . ' ' x $random->between(0, 2) if $case == 4;
	return join('', map { $random->pick('a', 'b', ' ', 'é') } 1 .. $random->between(1, 20));
}

sub some_number
{
	my ($random) = @_;
	return $random->pick('NaN', 'Infinity', '-Infinity', '1e-30') if $random->once_in(15);
	# These have the float8 of their neighbours.
	return $random->between(-3, 3) . $random->pick('.00000000000000000001', '.99999999999999999999', '00000000000000000000.25') if $random->once_in(4);
	return $random->between(-30, 30) . $random->pick('', '.0', '.50', '.5');
}

sub some_json
{
	my ($random) = @_;
	my $n = $random->between(0, 9);
	return $random->pick($n, "$n.0", "\"$n\"", "{\"a\": $n, \"b\": [1]}", "{\"b\": [1.0], \"a\": $n}", "[$n, null]", 'null');
}

sub some_array
{
	my ($random) = @_;
	return '{' . join(',', map { $random->once_in(9) ? 'NULL' : $random->between(0, 3) } 1 .. $random->between(0, 3)) . '}';
}

my %values = (
	text => \&some_text,
	varchar => \&some_text,
	'char(24)' => sub { return substr(some_text(@_), 0, 24) },
	numeric => \&some_number,
	jsonb => \&some_json,
	'int4[]' => \&some_array,
	inet => sub { return '10.0.' . $_[0]->between(0, 1) . '.' . $_[0]->between(0, 20) . $_[0]->pick('', '/24', '/32') },
	mood => sub { return $_[0]->pick('sad', 'ok', 'happy') },
	int4 => sub { return $_[0]->between(-12, 12) },
	collider => sub { return $_[0]->between(0, 60) });

my $hash = 'gpu.hash_ops';
my @kinds = (
	(map { [ { type => $_, opclass => $hash } ] } 'text', 'varchar', 'char(24)', 'numeric', 'jsonb', 'int4[]', 'inet', 'mood', 'collider'),
	[ { type => 'text', collation => '"C"', opclass => 'gpu.text_prefix_ops', patterns => 1, orders => 1 } ],
	[ { type => 'varchar', opclass => 'gpu.text_pattern_prefix_ops', patterns => 1 } ],
	[ { type => 'char(24)', collation => '"C"', opclass => 'gpu.bpchar_prefix_ops DESC', patterns => 1, orders => 1 } ],
	[ { type => 'int4', opclass => '' }, { type => 'text', opclass => $hash } ],
	[ { type => 'numeric', opclass => '', orders => 1 } ],
	[ { type => 'numeric', opclass => 'DESC', orders => 1 }, { type => 'varchar', opclass => '' } ],
	[ { type => 'char(24)', opclass => '' }, { type => 'int4', opclass => '' } ],
	[ { type => 'text', opclass => $hash }, { type => 'collider', opclass => "$hash DESC" } ]);

my $node = new_cluster('main');
install_checker($node);
my $has_icu = $node->safe_psql('postgres', q{SELECT count(*) > 0 FROM pg_collation WHERE collprovider = 'i'}) eq 't';
if ($has_icu)
{
	$node->safe_psql('postgres', q{CREATE COLLATION ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)});
	$node->safe_psql('postgres', q{CREATE COLLATION german (provider = icu, locale = 'de')});
	push @kinds, [ { type => 'text', collation => 'ignore_case', opclass => $hash } ], [ { type => 'varchar', collation => 'ignore_case', opclass => '' } ],
	  [ { type => 'text', collation => 'german', opclass => 'gpu.text_pattern_prefix_ops', patterns => 1 } ];
}
$node->safe_psql('postgres', <<'SQL');
SET client_min_messages = error;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
-- A type of three hashes.
CREATE TYPE collider;
CREATE FUNCTION collider_in(cstring) RETURNS collider LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION collider_out(collider) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE collider (INPUT = collider_in, OUTPUT = collider_out, LIKE = int4);
CREATE FUNCTION collider_equal(collider, collider) RETURNS bool LANGUAGE internal IMMUTABLE STRICT AS 'int4eq';
CREATE OPERATOR = (LEFTARG = collider, RIGHTARG = collider, FUNCTION = collider_equal, COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES);
CREATE FUNCTION collider_hash(collider) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1::text::int4 % 3';
CREATE FUNCTION collider_hash(collider, int8) RETURNS int8 LANGUAGE sql IMMUTABLE STRICT AS 'SELECT ($1::text::int4 % 3)::int8';
CREATE OPERATOR CLASS collider_ops DEFAULT FOR TYPE collider USING hash AS
  OPERATOR 1 =, FUNCTION 1 collider_hash(collider), FUNCTION 2 collider_hash(collider, int8);
ALTER OPERATOR FAMILY gpu.hash_ops USING gpu_kary ADD OPERATOR 3 = (collider, collider);
SQL

sub quoted
{
	my ($string) = @_;
	$string =~ s/'/''/g;
	return encode_utf8("'$string'");
}

# Returns a value of the column as an SQL constant.
sub constant
{
	my ($random, $column) = @_;
	return quoted($values{ $column->{type} }->($random)) . "::$column->{type}";
}

# Makes a LIKE pattern of a value: with its wildcards as they come, or with more of them, and without an escape
# character at its end.
sub pattern
{
	my ($random, $column) = @_;
	my $string = $values{ $column->{type} }->($random);
	$string =~ s/([\\%_])/\\$1/g if $random->once_in(2);
	$string = substr($string, 0, $random->between(0, length $string)) if $random->once_in(2);
	$string .= $random->pick('%', '%', '_', '', '%a', '_%');
	$string .= '\\' if $string =~ /(\\*)$/ && length($1) % 2;
	return quoted($string);
}

sub array
{
	my ($random, $column, $make) = @_;
	# Long arrays are searched by the access method itself.
	my $length = $random->once_in(2) ? $random->between(9, 30) : $random->between(1, 6);
	return 'ARRAY[' . join(', ', (map { $make->($random, $column) } 1 .. $length), $random->once_in(2) ? 'NULL' : ()) . ']';
}

sub condition
{
	my ($random, $column) = @_;
	my $name = $column->{name};
	my $case = $random->between(0, $column->{patterns} ? 11 : $column->{orders} ? 7 : 5);
	return "$name IS NULL" if $case == 0;
	return "$name = ANY (" . array($random, $column, \&constant) . ')' if $case <= 2 && $column->{type} !~ /\[/;
	return "$name = " . constant($random, $column) if $case <= 5;
	return "$name " . $random->pick('<', '<=', '>=', '>') . ' ' . constant($random, $column) if !$column->{patterns};
	return "$name LIKE " . pattern($random, $column) if $case <= 7;
	return "$name LIKE ANY (" . array($random, $column, \&pattern) . ')' if $case == 8;
	return "$name ^@ " . constant($random, $column) . '::text' if $case == 9 && $column->{type} !~ /char\(/;
	my $operator = $random->pick('~<~', '~<=~', '~>=~', '~>~', $column->{orders} ? ('<', '<=', '>=', '>') : ());
	return "$name $operator " . constant($random, $column);
}

sub lossy_queries
{
	my ($random, $table, $columns, $count) = @_;
	my @queries;
	for (1 .. $count)
	{
		my @conditions = map { condition($random, $_) } grep { !$random->once_in(4) } @$columns;
		push @conditions, condition($random, $columns->[0]) if !@conditions || $random->once_in(6);
		push @queries, {
			sql => "SELECT c1::text AS k, id, ctid FROM $table WHERE " . join(' AND ', @conditions),
			mode => $random->pick('index', 'bitmap') };
	}
	for (1 .. $count / 3)
	{
		# There is one condition a column, because the planner sees through `k = 1 AND k = 2` by itself. Arrays on
		# further columns than the first may become a filter.
		my @conditions = map { condition($random, $_) } @$columns;
		next if grep { /ANY/ } @conditions[1 .. $#conditions];
		push @queries, { sql => "SELECT count(*) AS k FROM $table WHERE " . join(' AND ', @conditions), mode => 'count_rows' };
	}
	my $equal = join(' AND ', map { "t.$_->{name} = p.$_->{name}" } @$columns);
	push @queries, {
		sql => "SELECT t.c1::text AS k, t.id, p.id AS other FROM (SELECT * FROM $table WHERE id % 97 = 0 LIMIT 40) AS p JOIN $table AS t ON $equal",
		mode => 'index', settings => { enable_hashjoin => 'off', enable_mergejoin => 'off', enable_material => 'off', enable_memoize => 'off' } };
	return @queries;
}

# Compares gpu.lookup with a join with the heap: for keys that are there, some that aren't, and NULLs.
sub check_lookup
{
	my ($name, $random, $table, $columns) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $names = join(', ', map { $_->{name} } @$columns);
	my $one = sub { return @_ == 1 ? $_[0] : 'row(' . join(', ', @_) . ')' };
	my $keys = 'ARRAY[' . join(', ', map { $one->(map { $random->once_in(8) ? "NULL::$_->{type}" : constant($random, $_) } @$columns) } 1 .. 20) . ']'
	  . '|| (SELECT array_agg(' . $one->(map { $_->{name} } @$columns) . ") FROM (SELECT * FROM $table ORDER BY id LIMIT 20) AS few)";
	my $unnest = @$columns == 1 ? 'unnest(keys)' : 'ROWS FROM (unnest(keys) AS (' . join(', ', map { "$_->{name} $_->{type}" } @$columns) . '))';
	my $equal = join(' AND ', map { "t.$_->{name} = u.$_->{name}" } @$columns);
	my $answers = $node->safe_psql('postgres', <<"SQL");
SET enable_indexscan = off; SET enable_bitmapscan = off;
WITH wanted AS MATERIALIZED (SELECT $keys AS keys),
  lookup AS (SELECT format('%s %s', ordinal, tid) AS found FROM wanted, gpu.lookup('${table}_k', keys)),
  heap AS (SELECT format('%s %s', u.ordinal, t.ctid) AS found FROM wanted, $unnest WITH ORDINALITY AS u ($names, ordinal) JOIN $table AS t ON $equal)
(SELECT 'missing', found FROM heap EXCEPT ALL SELECT 'missing', found FROM lookup)
UNION ALL (SELECT 'too many', found FROM lookup EXCEPT ALL SELECT 'too many', found FROM heap);
SQL
	return is($answers, '', $name);
}

for my $round (1 .. test_rounds())
{
	my $random = new_random($round + 900);
	my $number = 0;
	for my $kind (@kinds)
	{
		my $i = 0;
		my @columns = map { { %$_, name => 'c' . ++$i } } @$kind;
		my $table = 'lossy' . ++$number;
		my $name = "round $round, " . join(', ', map { join(' ', $_->{type}, $_->{collation} || (), $_->{opclass} || ()) } @columns);
		my $definition = join(', ', map { "$_->{name} $_->{type}" . ($_->{collation} ? " COLLATE $_->{collation}" : '') } @columns);
		my $names = join(', ', map { $_->{name} } @columns);
		my $value = sub { return $random->once_in(15) ? 'NULL' : constant($random, $_[0]) };
		my $insert = sub {
			my ($rows) = @_;
			return "INSERT INTO $table ($names) VALUES " . join(', ', map { '(' . join(', ', map { $value->($_) } @columns) . ')' } 1 .. $rows) . ';';
		};
		$node->safe_psql('postgres', "DROP TABLE IF EXISTS $table; CREATE TABLE $table ($definition, id int GENERATED ALWAYS AS IDENTITY)");
		$node->safe_psql('postgres', $insert->($random->between(300, 1500))) unless $random->once_in(4);
		my $fanout = $random->pick(2, 8);
		$node->safe_psql('postgres',
			"CREATE INDEX ${table}_k ON $table USING gpu_kary (" . join(', ', map { "$_->{name} $_->{opclass}" } @columns) . ") WITH (fanout = $fanout)");
		for my $batch (1 .. few_or_many(1, 3))
		{
			my $column = $random->pick(@columns);
			$node->safe_psql('postgres', $_) for
			  $insert->($random->between(10, 900)),
			  "DELETE FROM $table WHERE id % 5 = " . $random->between(0, 4),
			  "UPDATE $table SET $column->{name} = " . $value->($column) . ' WHERE id % 13 = 5',
			  $insert->($random->between(10, 600)),
			  $random->pick("VACUUM ANALYZE $table", "SELECT count(*) FROM gpu.merge('${table}_k')", "REINDEX INDEX CONCURRENTLY ${table}_k", "VACUUM $table");
			check_queries($node, "$name, batch $batch", "${table}_k", [ lossy_queries($random, $table, \@columns, 20) ]);
			check_lookup("$name, batch $batch, gpu.lookup", $random, $table, \@columns) unless grep { $_->{type} =~ /\[/ } @columns;
		}
		check_sound($node, "$name is sound", "${table}_k");
		$node->safe_psql('postgres', "DROP TABLE $table");
	}
}

$node->stop;
done_testing();
