# suite: check
# gpu.advise: a recorded workload is given the indexes that serve it, at costs that come true once they are made, and those that
# nobody uses are told. Statements are planned as the roles that ran them, and never executed.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libraries = configured('--pkglibdir');
plan skip_all => 'pg_stat_statements is not installed' unless -e "$libraries/pg_stat_statements.so";

my $node = new_cluster('advise', conf => "shared_preload_libraries = 'pg_gpu, pg_stat_statements'\nmax_parallel_workers_per_gather = 0\n" .
	"pg_stat_statements.track_utility = off\npg_gpu.path = host\n");

sub value { my ($sql) = @_; return $node->safe_psql('postgres', $sql); }
# Output and notices.
sub outcome
{
	my ($sql) = @_;
	my ($out, $err);
	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err, on_error_die => 0);
	return ($out, $err);
}

value(q{
	CREATE TABLE sale (id int PRIMARY KEY, city text, product int, price numeric(10, 2), at timestamptz, x float4, y float4, note text);
	INSERT INTO sale SELECT g, 'city ' || g % 50, g * 7919 % 20000, g % 1000, '2026-01-01'::timestamptz + g * interval '1 minute',
		g * 37 % 1000, g * 91 % 1009, md5(g::text) FROM generate_series(1, 60000) g;
	CREATE TABLE page (id int, body tsvector);
	INSERT INTO page SELECT g, to_tsvector('simple', 'word' || g % 3000 || ' text' || g % 7) FROM generate_series(1, 20000) g;
	CREATE INDEX page_unused ON page USING gpu_kary (id);
	CREATE INDEX sale_used ON sale USING gpu_kary (note gpu.hash_ops);
	VACUUM ANALYZE});

# ---- without records ------------------------------------------------------------------------------------------------

my ($out, $err) = outcome('SELECT advice, table_name, command, cost FROM gpu.advise()');
is(join("\n", sort split /\n/, $out), "drop|page|DROP INDEX public.page_unused|\ndrop|sale|DROP INDEX public.sale_used|", 'unused indexes are told without pg_stat_statements');
like($err, qr/NOTICE:  without pg_stat_statements only unused indexes are reported\nHINT:  Add pg_stat_statements to shared_preload_libraries/, 'and what is missing');

# ---- a workload -----------------------------------------------------------------------------------------------------

my %workload = (
	groups => q{SELECT city, sum(price) FROM sale GROUP BY city},
	summed => q{SELECT product % 10, count(*), avg(price) FROM sale WHERE at >= '2026-01-10' GROUP BY 1},
	range => q{SELECT count(*) FROM sale WHERE product BETWEEN 100 AND 200},
	keys => q{SELECT note FROM sale WHERE product = ANY ('{5, 10, 15}')},
	box => q{SELECT count(*) FROM sale WHERE x BETWEEN 10 AND 20 AND y BETWEEN 10 AND 20},
	text => q{SELECT id FROM page WHERE body @@ 'word17'::tsquery},
	hashed => q{SELECT id FROM sale WHERE note = 'none'},
	primary => q{SELECT note FROM sale WHERE id = 17},
	refused => q{SELECT coalesce(strpos(note, city), strpos(city, note)), count(*) FROM sale GROUP BY 1});
value('CREATE EXTENSION pg_stat_statements');
value('SELECT pg_stat_statements_reset()');
value("SET enable_seqscan = off; $workload{hashed}");
value(join(';', map { $workload{$_} } sort keys %workload)) foreach 1 .. 2;
value('CREATE TABLE gone (k int)');
value('SELECT count(*) FROM gone WHERE k = 1');
value('DROP TABLE gone');

# The advice is taken once, for many questions.
sub take { value('SET pg_stat_statements.track = none; SET client_min_messages = warning; DROP TABLE IF EXISTS taken; CREATE TABLE taken AS SELECT * FROM gpu.advise()'); return; }
sub ask { my ($sql) = @_; return value("SET pg_stat_statements.track = none; $sql"); }
my $about = sub { my ($words) = @_; return ask("SELECT command FROM taken WHERE advice = 'create' AND query LIKE '%$words%'"); };
value(q{SET pg_stat_statements.track = 'all'; SELECT count(*) FROM gpu.advise()});
take();
like($about->('sum(price)'), qr/^CREATE INDEX ON public\.sale USING gpu_column \((?=.*city)(?=.*price).*\)$/, 'groups are served by gpu_column');
is($about->('avg(price)'), $about->('sum(price)'), 'and all statements on a table by one such index');
like($about->('avg(price)'), qr/(?=.*product)(?=.*\bat\b)/, 'which has all their columns');
is($about->('product BETWEEN'), 'CREATE INDEX ON public.sale USING gpu_kary (product)', 'a range is counted by gpu_kary');
is($about->('ANY'), 'CREATE INDEX ON public.sale USING gpu_kary (product)', 'which finds keys, too');
is($about->('x BETWEEN'), 'CREATE INDEX ON public.sale USING gpu_grid (x, y)', 'a box is counted by gpu_grid');
is($about->('@@'), 'CREATE INDEX ON public.page USING gpu_text (body)', 'text is searched by gpu_text');
is($about->('WHERE id ='), '', 'a primary key needs nothing');
is($about->('note ='), '', 'and what has an index of ours neither');
is($about->('strpos'), '', 'nor what no index answers');
is(ask(q{SELECT string_agg(command, ',') FROM taken WHERE advice = 'drop'}), 'DROP INDEX public.page_unused',
	'an index that was used is no longer told');
is(ask(q{SELECT bool_and(calls = 2 AND milliseconds > 0 AND cost_with < 0.9 * cost AND queryid IS NOT NULL AND bytes IS NULL)
	FROM taken WHERE advice = 'create'}), 't', 'with calls, time and costs');
($out, $err) = outcome('SELECT count(*) FROM gpu.advise(1000)');
like($err, qr/NOTICE:  1 recorded statement could not be planned\nDETAIL:  The first error was "relation "gone" does not exist"\./, 'what cannot be planned is told');
is(value(q{SELECT count(*) FROM gpu.advise(0) WHERE advice = 'create'}), '0', 'no statements, no advice');
like((outcome('SELECT gpu.advise(-1)'))[1], qr/the number of statements is negative/, 'nor fewer');
is(value(q{SELECT count(*) FROM pg_class WHERE relname LIKE 'sale_%_idx' OR relname LIKE 'page_%_idx'}), 0, 'nothing was made');

# ---- roles ------------------------------------------------------------------------------------------------------------

value(q{
	CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats;
	CREATE ROLE other LOGIN;
	CREATE SCHEMA other AUTHORIZATION other;
	GRANT SELECT ON sale TO other;
	SET ROLE other;
	CREATE SEQUENCE other.seen MINVALUE 0 START 0;
	CREATE FUNCTION other.trap() RETURNS int LANGUAGE plpgsql IMMUTABLE AS
		$$ BEGIN PERFORM setval('other.seen', CASE WHEN current_user = 'other' THEN 1 ELSE 99 END); RETURN 5; END $$;
	SELECT count(*) FROM sale WHERE product = other.trap();
	SELECT setval('other.seen', 0)});
($out, $err) = outcome(q{SET ROLE watcher; SELECT count(*) FROM gpu.advise() WHERE advice = 'create'});
is($out, 0, 'statements of roles that one is no member of are not planned');
like($err, qr/\d+ recorded statements are other roles' and were left out/, 'which is told');
is(value('SELECT last_value FROM other.seen'), 0, 'nor does the planner call their functions');
take();
is($about->('other.trap'), 'CREATE INDEX ON public.sale USING gpu_kary (product)', 'a superuser has them planned');
is(value('SELECT last_value FROM other.seen'), 1, 'with the rights of the role that ran them');
value('REVOKE SELECT ON sale FROM other');
take();
is($about->('other.trap'), '', 'and nothing is told of tables that it may no longer read');

# ---- the file for psql ----------------------------------------------------------------------------------------------

value('SELECT pg_stat_statements_reset()');
value(join(';', @workload{qw(groups summed range keys box text)})) foreach 1 .. 2;
($out, $err) = outcome("\\i $FindBin::RealBin/../../../contrib/monitoring/advise.sql");
is($err, '', 'the file runs');
my @rows = map { [ split /\|/ ] } split /\n/, $out;
is(join("\n", sort map { "@$_[0, 1, 2]" } grep { $_->[0] =~ /^CREATE/ } @rows), join("\n",
	'CREATE INDEX ON public.page USING gpu_text (body) 1 2',
	'CREATE INDEX ON public.sale USING gpu_column (city, product, price, at) 2 4',
	'CREATE INDEX ON public.sale USING gpu_grid (x, y) 1 2',
	'CREATE INDEX ON public.sale USING gpu_kary (product) 2 4'), 'and shows what the page shows');
is(join(',', map { $_->[0] } grep { $_->[0] =~ /^DROP/ } @rows), 'DROP INDEX public.page_unused', 'and what nobody uses');
ok((grep { $_->[3] > 0 && $_->[4] >= 0.1 } grep { $_->[0] =~ /^CREATE/ } @rows) == 4, 'with what would be saved');

# ---- what it is worth ----------------------------------------------------------------------------------------------------

# Costs are those of a freshly made index within a factor, and then there is nothing left to advise.
value('SELECT pg_stat_statements_reset()');
value(join(';', @workload{qw(groups summed range keys box text)})) foreach 1 .. 2;
take();
is(ask(q{SELECT count(*) FROM taken WHERE advice = 'create'}), 6, 'each statement is advised on');
my @commands = split /\n/, ask(q{SELECT DISTINCT command FROM taken WHERE advice = 'create' ORDER BY 1});
value($_) foreach @commands;
value('VACUUM ANALYZE');
is(value(q{SET client_min_messages = warning; SELECT count(*) FROM gpu.advise() WHERE advice = 'create'}), 0, 'once the indexes are there, none is missing');
foreach my $name (qw(groups summed range keys box text))
{
	my ($words) = $workload{$name} =~ /(sum\(price\)|avg\(price\)|product BETWEEN|ANY|x BETWEEN|@@)/;
	my $promised = ask("SELECT cost_with FROM taken WHERE query LIKE '%$words%'");
	my $text = ask("SELECT query FROM taken WHERE query LIKE '%$words%'");
	my $count = () = $text =~ /\$\d+/g;
	# A generic plan, as the estimate's.
	my $arguments = join(', ', ('NULL') x $count);
	my $execute = $count > 0 ? "EXECUTE s($arguments)" : 'EXECUTE s';
	my $explained = value("SET plan_cache_mode = force_generic_plan; PREPARE s AS $text; EXPLAIN $execute");
	my ($cost) = $explained =~ /cost=[\d.]+\.\.([\d.]+)/;
	like($explained, qr/Gpu(?:Count|Query)|Scan (?:using|on) (?:sale|page)_\w+_idx/, "$name: the index is used");
	ok($cost < 2 * $promised && $promised < 2 * $cost, "$name: at the promised cost") or diag("promised $promised, found $cost\n$explained");
}

# ---- joins, expressions, partitions -------------------------------------------------------------------------------------

value(q{
	CREATE TABLE region (id int PRIMARY KEY, name text, payload json);
	INSERT INTO region SELECT g, 'region ' || g % 100, '{}' FROM generate_series(1, 1000) g;
	CREATE TABLE visit (region int, day date, guests int, note text) PARTITION BY RANGE (day);
	CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM (MINVALUE) TO ('2026-03-01');
	CREATE TABLE visit_2 (note text, guests int, gone int, day date, region int);
	ALTER TABLE visit_2 DROP COLUMN gone;
	ALTER TABLE visit ATTACH PARTITION visit_2 FOR VALUES FROM ('2026-03-01') TO (MAXVALUE);
	INSERT INTO visit SELECT g % 1000, '2026-01-01'::date + g % 120, g % 7, md5(g::text) FROM generate_series(1, 100000) g;
	VACUUM ANALYZE});
my %joins = (
	joined => q{SELECT name, sum(guests * 2) FROM visit JOIN region ON region = id WHERE day >= date '2026-01-12' - interval '1' day GROUP BY name},
	nested => q{WITH w AS (SELECT region, max(day) AS last FROM visit GROUP BY region) SELECT count(*) FROM w JOIN region ON id = region WHERE last > '2026-04-01'},
	# Constants that were recorded as parameters where none can stand, or whose type nothing tells.
	year => q{SELECT extract(month FROM day), count(*) FROM visit WHERE day < timestamp '2026-03-01 00:00:00' GROUP BY 1},
	cases => q{SELECT sum(CASE WHEN guests > 3 THEN 1 ELSE 0 END) FROM visit},
	unfit => q{SELECT payload::text, count(*) FROM visit JOIN region ON region = id GROUP BY 1});
value('SELECT pg_stat_statements_reset()');
value(join(';', @joins{qw(joined nested year cases unfit)})) foreach 1 .. 2;
take();
is(ask(q{SELECT string_agg(command, E'\n' ORDER BY command) FROM taken WHERE query LIKE '%guests *%'}),
	"CREATE INDEX ON public.region USING gpu_column (id, name)\nCREATE INDEX ON public.visit USING gpu_column (region, day, guests)",
	'a join is served by the columns of all its tables');
is(ask(q{SELECT string_agg(command, E'\n' ORDER BY command) FROM taken WHERE query LIKE '%last%'}),
	ask(q{SELECT string_agg(command, E'\n' ORDER BY command) FROM taken WHERE query LIKE '%guests *%'}), 'and other statements on them by the same ones');
is($about->($_), 'CREATE INDEX ON public.visit USING gpu_column (region, day, guests)', "$_: it is planned without its constants") foreach 'extract', 'CASE';
value($_) foreach split /\n/, ask(q{SELECT DISTINCT command FROM taken WHERE advice = 'create' ORDER BY 1});
value('VACUUM ANALYZE');
is(value(q{SET client_min_messages = warning; SELECT count(*) FROM gpu.advise() WHERE advice = 'create'}), 0, 'once they are there, none is missing');
like(value("EXPLAIN $joins{$_}"), qr/GpuQuery/, "$_: they are used, by partitions too") foreach qw(joined nested year cases);

# ---- lists --------------------------------------------------------------------------------------------------------------

# From PostgreSQL 18 on a list of constants is recorded as its first one and a comment, which is written here for those before.
value(q{
	CREATE TABLE listed AS SELECT g AS k, g % 10 AS v FROM generate_series(1, 50000) g;
	VACUUM ANALYZE listed});
value('SELECT pg_stat_statements_reset()');
value(q{SELECT sum(v) FROM listed WHERE k IN (1 /*, ... */); SELECT max(v) FROM listed WHERE k IN (1, 2); SELECT min(v) FROM listed WHERE k IN (1)}) foreach 1 .. 2;
take();
my %costs = map { split /\|/ } split /\n/, ask(q{SELECT substring(query, '(sum|max|min)\('), cost_with FROM taken WHERE query LIKE '%listed%'});
is($costs{sum}, $costs{max}, 'a list that was recorded by its first constant is planned as a list');
isnt($costs{sum}, $costs{min}, 'which costs more than one constant');

# ---- numerics of many values ------------------------------------------------------------------------------------------

value(q{
	CREATE TABLE paid (amount numeric(10, 2));
	INSERT INTO paid SELECT g * 7919::bigint % 1000003 / 100.0 FROM generate_series(1, 150000) g;
	VACUUM ANALYZE paid});
value('SELECT pg_stat_statements_reset()');
value('SELECT max(amount) FROM paid') foreach 1 .. 2;
take();
my ($made, $promised) = split /\|/, ask(q{SELECT command, cost_with FROM taken WHERE query LIKE '%max(amount)%'});
is($made, 'CREATE INDEX ON public.paid USING gpu_column (amount)', 'the greatest of many numerics is found by gpu_column');
value('CREATE INDEX paid_i ON paid USING gpu_column (amount)');
my ($cost) = value('EXPLAIN SELECT max(amount) FROM paid') =~ /^Custom Scan \(GpuQuery\)  \(cost=[\d.]+\.\.([\d.]+)/m;
ok($cost < 2 * $promised && $promised < 2 * $cost, 'at the promised cost') or diag("promised $promised, found $cost");

$node->stop;
done_testing();
