# suite: check host
# gpu_grid on PostGIS's geometries: all operators and functions that GiST answers, and the nearest, against sequential scans, with
# empty points, points far out and queries that are NaN, on a table that changes. What cannot be indexed is refused. The
# extension survives dump and restore, and goes with PostGIS.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $share = configured('--sharedir');
plan skip_all => 'PostGIS is not installed' unless -e "$share/extension/postgis.control";

my $node = new_cluster('postgis', extension => 0, conf => "max_parallel_workers_per_gather = 0\n");
sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }

# ---- where there is no PostGIS --------------------------------------------------------------------------------------

value('CREATE EXTENSION pg_gpu');
like(query_error($node, 'CREATE EXTENSION pg_gpu_postgis'), qr/required extension "postgis" is not installed/,
	'the extension says that PostGIS is missing');
# Not in public: its operators are looked for where it is.
value('CREATE SCHEMA gis; CREATE EXTENSION postgis SCHEMA gis; CREATE EXTENSION pg_gpu_postgis;
	ALTER DATABASE postgres SET search_path = public, gis');
is(value("SELECT bool_and(amvalidate(oid)) FROM pg_opclass WHERE opcnamespace = 'gpu'::regnamespace AND opcname = 'geometry_ops'"),
	't', 'the operator class is sound');
install_checker($node);

# ---- answers --------------------------------------------------------------------------------------------------------

sub coordinate
{
	my ($random) = @_;
	return $random->pick('Infinity', '-Infinity', '1e300', '-1e39', '3.4028235e38', '1e-310', '16777217', '-0') if $random->once_in(60);
	# Those of single precision, in which PostGIS keeps boxes, and others that it rounds to them.
	return $random->between(-10, 10) + $random->pick(0, 0, 1e-8, -1e-8, 2e-7) if $random->once_in(4);
	return $random->between(-100000, 100000) / 9973;
}

sub indexed_point
{
	my ($random) = @_;
	return 'NULL' if $random->once_in(40);
	return $random->pick("'POINT EMPTY'", "'POINT Z EMPTY'") if $random->once_in(40);
	my ($x, $y) = map { "'" . coordinate($random) . "'" } 1, 2;
	return "st_makepoint($x, $y)" unless $random->once_in(10);
	return $random->pick("st_makepoint($x, $y, 7)", "st_makepointm($x, $y, 7)", "st_makepoint($x, $y, 7, 9)");
}

sub asked_geometry
{
	my ($random) = @_;
	my ($x, $y) = map { coordinate($random) } 1, 2;
	return $random->pick("'POINT EMPTY'::geometry", "'POLYGON EMPTY'::geometry", "st_makepoint('NaN', '$y')",
		"st_makeline(st_makepoint('$x', '$y'), st_makepoint(0, 'NaN'))", "st_makepoint('$x', '$y')") if $random->once_in(10);
	($x, $y) = map { $random->once_in(2) ? $random->between(-10, 10) : $random->between(-100000, 100000) / 9973 } 1, 2;
	my ($width, $height) = map { $random->between(0, 30000) / 9973 } 1, 2;
	my $box = "st_makeenvelope($x, $y, $x + $width, $y + $height)";
	return $random->pick("st_makepoint($x, $y)", $box, $box, "st_buffer(st_makepoint($x, $y), $width)",
		"st_makeline(st_makepoint($x, $y), st_makepoint($x + $width, $y - $height))", "(SELECT g FROM p WHERE id = " . $random->between(1, 900) . ')');
}

sub condition
{
	my ($random) = @_;
	my $asked = asked_geometry($random);
	my $distance = $random->pick(0, 0.01, 0.5, 2);
	my $operator = $random->pick(qw(<< &< && && && &> >> ~= ~ @ &<| <<| |>> |&>), ('') x 6);
	# Some of PostGIS's operators have no commutator.
	return $operator =~ /&[<>]|~=|&>$/ || $random->once_in(2) ? "g $operator $asked" : "$asked $operator g" if $operator;
	# Functions of GEOS raise an error where they meet NaN.
	$asked = asked_geometry($random) while $asked =~ /NaN/;
	return $random->pick("st_dwithin(g, $asked, $distance)", "st_dwithin($asked, g, $distance)", "st_intersects(g, $asked)",
		"st_intersects($asked, g)", "st_within(g, $asked)", "st_covers($asked, g)", "st_3ddwithin(g, $asked, $distance)",
		'g IS NULL', 'g IS NOT NULL');
}

sub questions
{
	my ($random, $count) = @_;
	my @questions;
	for (1 .. $count)
	{
		my $where = condition($random);
		$where .= ' AND n ' . $random->pick('< 3', '>= 5', '= 7', 'IS NULL') if $random->once_in(3);
		push @questions, { sql => "SELECT id AS k, st_astext(g), n FROM p WHERE $where", mode => $random->pick('index', 'bitmap') };
		my $asked = asked_geometry($random);
		my $only = $random->pick('', 'WHERE ' . condition($random), 'WHERE n < 4');
		# Rows at the same distance are in no order, and a LIMIT leaves out any of them.
		my $by = $random->pick('g <-> ' . $asked, 'g <#> ' . $asked);
		push @questions, { sql => "SELECT $by AS k FROM p $only ORDER BY $by LIMIT " . $random->between(1, 800), mode => 'index', ordered => 1 };
	}
	push @questions, { sql => 'SELECT a.id AS k, b.id FROM p AS a JOIN p AS b ON st_dwithin(b.g, a.g, 0.2) WHERE a.id < 20', mode => 'bitmap' };
	push @questions, { sql => 'SELECT a.id AS k, (SELECT string_agg(d::text, chr(44)) FROM (SELECT b.g <-> a.g AS d FROM p AS b ORDER BY b.g <-> a.g LIMIT 3) AS near) ' .
		'FROM p AS a WHERE a.id < 20', mode => 'index' };
	return \@questions;
}

for my $round (1 .. test_rounds())
{
	my $random = new_random($round + 22700);
	value('DROP TABLE IF EXISTS p; CREATE TABLE p (id int GENERATED ALWAYS AS IDENTITY, g geometry, n int)');
	my $insert = sub { my ($count) = @_; return value('INSERT INTO p (g, n) VALUES ' .
		join(', ', map { '(' . indexed_point($random) . ', ' . $random->pick('NULL', 0 .. 9) . ')' } 1 .. $count)); };
	$insert->(1500);
	my $columns = $random->pick('g', 'g, n', 'n, g');
	value("CREATE INDEX p_i ON p USING gpu_grid ($columns)");
	for my $batch (1 .. few_or_many(2, 6))
	{
		$insert->(400);
		value('DELETE FROM p WHERE id % 7 = ' . $random->between(0, 6));
		value('UPDATE p SET g = ' . indexed_point($random) . ' WHERE id % 29 = 3');
		value($random->pick('VACUUM p', "SELECT count(*) FROM gpu.merge('p_i')", 'REINDEX INDEX p_i'));
		my @few = @{ questions($random, few_or_many(25, 120)) };
		# A condition on a column behind another one is no use to these plans.
		@few = grep { $_->{sql} !~ /WHERE n IS NULL$/ } @few;
		check_queries($node, "round $round, batch $batch, ($columns)", 'p_i', \@few);
	}
	check_sound($node, "round $round, ($columns) is sound", 'p_i');
}
check_path($node);

# ---- plans ----------------------------------------------------------------------------------------------------------

value('CREATE TABLE t (id int, g geometry(Point), n int);
	INSERT INTO t SELECT i, st_makepoint(i % 200, i / 200), i % 10 FROM generate_series(0, 39999) AS i;
	CREATE INDEX t_g ON t USING gpu_grid (g); VACUUM ANALYZE t');
my $within = 'SELECT id FROM t WHERE st_dwithin(g, st_makepoint(50, 50), 1.5)';
uses_index($node, $within, 't_g', 'Bitmap Index Scan', 'ST_DWithin uses the index');
uses_index($node, 'SELECT id FROM t ORDER BY g <-> st_makepoint(50, 50) LIMIT 4', 't_g', 'Index Scan', 'and so do the nearest');
is(value("SET plan_cache_mode = force_generic_plan; PREPARE near (float8) AS SELECT count(*) FROM t WHERE st_dwithin(g, st_makepoint(50, 50), \$1);
	EXECUTE near (1.5); EXECUTE near (0)"), "9\n1", 'a generic plan takes its distance when it is executed');
unlike(value('EXPLAIN SELECT count(*) FROM t WHERE g && st_makeenvelope(1, 1, 4, 4)'), qr/GpuCount/, 'a count is not taken from an index that finds roughly');
is(value('SELECT count(*) FROM t WHERE g && st_makeenvelope(1, 1, 4, 4)'), 16, 'and is right');

# An operator that PostGIS's family has and ours lacks isn't asked for by any scan of ours; nor is a function then.
value('ALTER OPERATOR FAMILY gis.gist_geometry_ops_2d USING gist ADD OPERATOR 15 gis.&&& (geometry, geometry)');
unlike(value("SET enable_seqscan = off; EXPLAIN $_"), qr/t_g/, "not by the index: $_")
  foreach $within, 'SELECT id FROM t WHERE g &&& st_makepoint(50, 50)';
uses_index($node, 'SELECT id FROM t WHERE g && st_makepoint(50, 50)', 't_g', 'Index Scan', 'what ours has is');
value('ALTER OPERATOR FAMILY gis.gist_geometry_ops_2d USING gist DROP OPERATOR 15 (geometry, geometry)');

# ---- what is refused ------------------------------------------------------------------------------------------------

value('CREATE TABLE any_shape (g geometry); CREATE INDEX ON any_shape USING gpu_grid (g)');
like(query_error($node, q{INSERT INTO any_shape VALUES ('LINESTRING(0 0, 1 1)')}),
	qr/ERROR:.*Point.*CONTEXT:  making a point of a value of type geometry, for an index of gpu_grid, which takes points alone/s, 'a line');
like(query_error($node, q{INSERT INTO any_shape VALUES (st_makepoint('NaN', 1))}),
	qr/ERROR:  a value of type geometry with a coordinate that is NaN cannot be indexed by gpu_grid\nHINT:  Leave such rows out/, 'NaN');
is(value('SELECT count(*) FROM any_shape'), 0, 'and nothing of these rows is left');
like(query_error($node, $_), qr/ERROR:.*\nDETAIL:  It finds values of a column only roughly\./, $_)
  foreach q{SELECT gpu.count('t_g', ARRAY[st_makepoint(1, 1)], NULL)}, q{SELECT gpu.lookup('t_g', ARRAY[st_makepoint(1, 1)])},
  q{SELECT gpu.count_batch('t_g', NULL, ARRAY[[st_makepoint(1, 1)]])};
my $mixed = q{SELECT count(*) FROM t WHERE st_dwithin(g, 'SRID=4326;POINT(50 50)', 1)};
my ($by_index, $by_table) = map { query_error($node, "SET enable_seqscan = $_; SET enable_bitmapscan = $_; $mixed") =~ /ERROR:  (.*)/ } 'off', 'on';
like($by_index, qr/mixed SRID/, 'mixed SRIDs');
is($by_index, $by_table, 'are the same error on any way');
value('CREATE TABLE place (g geometry, EXCLUDE USING gpu_grid (g WITH &&)); INSERT INTO place SELECT st_makepoint(i, 1) FROM generate_series(1, 50) AS i');
like(query_error($node, 'INSERT INTO place VALUES (st_makepoint(7, 1))'), qr/conflicting key value violates exclusion constraint/, 'a constraint');
value('INSERT INTO place VALUES (st_makepoint(7.001, 1))');

# ---- dump, restore, removal -----------------------------------------------------------------------------------------

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'the database is dumped');
$node->safe_psql('template1', 'CREATE DATABASE restored; ALTER DATABASE restored SET search_path = public, gis');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'and restored');
is($node->safe_psql('restored', "SET enable_seqscan = off; $within ORDER BY id"), value("SET enable_indexscan = off; SET enable_bitmapscan = off; $within ORDER BY id"),
	'with the index, which answers the same');
is($node->safe_psql('restored', q{SELECT count(*) FROM pg_index WHERE indexrelid = 't_g'::regclass AND indisvalid}), 1, 'and is valid');

like(query_error($node, 'DROP EXTENSION postgis'), qr/extension pg_gpu_postgis depends on/, 'PostGIS stays while an index needs it');
like(query_error($node, 'DROP EXTENSION pg_gpu_postgis'), qr/index t_g depends on operator class gpu\.geometry_ops/, 'and so does the extension');
value('SET client_min_messages = warning; DROP EXTENSION pg_gpu_postgis CASCADE');
is(value("SELECT count(*) FROM ($within) AS q"), 9, 'without it tables answer');
is(value(q{SELECT count(*) FROM pg_class WHERE relname IN ('t_g', 'p_i')}), 0, 'and the indexes are gone');
value('CREATE EXTENSION pg_gpu_postgis; CREATE INDEX t_g ON t USING gpu_grid (g)');
is(value("SET enable_seqscan = off; SELECT count(*) FROM ($within) AS q"), 9, 'it can come again');

$node->stop;
done_testing();
