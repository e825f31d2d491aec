# suite: check
# Three host engines in one server process stand for devices, and runs are shared out among them. Large batches count as requests that meet others, so
# engines get copies of the runs that they lack, of gpu_kary and gpu_text, and share batches out or answer alone: the same as pages do, also while documents
# die, are vacuumed, and runs merge or leave.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::EveryQuestion;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

local $ENV{PG_GPU_SERVER} = server_with('--engines host,host,host --kept-together 0 --shared-items 64 --testing');
my $node = new_node('copies', conf => "autovacuum = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n");
make_every_index($node);

my $searches = q{SELECT md5(string_agg(ordinal || ' ' || tid, ',' ORDER BY ordinal, tid)) FROM gpu.search_batch('t_text',
	ARRAY['w3 | u9000', 'w1 & common', 'u5 | u17999', 'w2 & u30', 'w4', 'u777 | u778 | w0', 'none', 'w5 & !u40']::tsquery[], 10000, 'or')};
my %question = (
	t_text => $searches,
	t_kary => q{SELECT count(*), sum((l.tid::text::point)[0]), sum(ordinal) FROM gpu.lookup('t_kary', ARRAY(SELECT generate_series(1, 20000::bigint, 3))) AS l});

sub make_copies
{
	my ($index) = @_;
	sql_value($node, 'SET pg_gpu.path = host; ' . join('; ', ($question{$index}) x 200));
	# A session reads a run on pages that has a sixteenth of the documents or less, where that is cheaper.
	return sql_value($node, "SELECT count(*) FROM (SELECT FROM gpu.mirrors WHERE index_name = '$index'::regclass
		GROUP BY run_id HAVING count(DISTINCT device) <> 3 AND max(entries) > (SELECT sum(entries) / 16 FROM gpu.runs('$index'))) AS lacking");
}
sub hits { my ($device) = @_; return sql_value($node, "SELECT coalesce(sum(hits), 0) FROM gpu.mirrors WHERE index_name = 't_text'::regclass AND device = $device"); }

sql_value($node, "SET pg_gpu.path = host; SELECT gpu.load('$_')") foreach every_index();
is(sql_value($node, "SELECT count(DISTINCT device) FROM gpu.mirrors WHERE index_name = '$_'::regclass"), 3, "runs of $_ are shared out") foreach sort keys %question;
is(make_copies($_), 0, "each engine has all larger runs of $_") foreach sort keys %question;
my @before = map { hits($_) } 0 .. 2;
compare_with_pages($node, 'host', 'with copies');
cmp_ok(hits($_), '>', $before[$_], "engine $_ has answered") foreach 0 .. 2;

# Dead documents. Whoever asks afterwards knows of them, and copies are made anew.
sql_value($node, 'DELETE FROM t WHERE k % 9 = 0');
compare_with_pages($node, 'host', 'after a DELETE');
$node->safe_psql('postgres', 'VACUUM t');
compare_with_pages($node, 'host', 'after VACUUM');
is(make_copies($_), 0, "there are copies of $_ again") foreach sort keys %question;
compare_with_pages($node, 'host', 'with new copies');

# Sessions compare answers in one snapshot, which knows nothing of what happens meanwhile.
$node->safe_psql('postgres', qq{
CREATE FUNCTION compare() RETURNS void LANGUAGE plpgsql AS \$compare\$
DECLARE
	question text;
	found text;
	expected text;
BEGIN
	FOREACH question IN ARRAY ARRAY[\$\$$searches\$\$,
		\$\$SELECT md5(string_agg(tid::text, ',' ORDER BY tid)) FROM gpu.search('t_text', 'w3 & common', 10000, 'and')\$\$,
		\$\$SELECT md5(string_agg(tid::text, ',' ORDER BY tid)) FROM gpu.intersect('t_text', ARRAY['w3', 'common']) AS tid\$\$,
		\$\$SELECT count(*) || ' ' || sum((l.tid::text::point)[0]) FROM gpu.lookup('t_kary', ARRAY(SELECT generate_series(1, 20000::bigint, 37))) AS l\$\$]
	LOOP
		PERFORM set_config('pg_gpu.path', 'host', true);
		EXECUTE question INTO found;
		PERFORM set_config('pg_gpu.path', 'paged', true);
		EXECUTE question INTO expected;
		IF found IS DISTINCT FROM expected THEN
			RAISE EXCEPTION 'not the same answer to: %', question;
		END IF;
	END LOOP;
END \$compare\$});
my $turn = 0;
under_load($node, 'while documents die',
	{
		seconds => few_or_many(6, 60),
		loaded => 't_text',
		start => sub {
			return start_clients($node, [ [ "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT compare();\nCOMMIT;\n", 1 ] ], clients => 5, seconds => shift);
		},
		check => sub {
			is(make_copies($_), 0, "each engine has all larger runs of $_ afterwards") foreach sort keys %question;
			compare_with_pages($node, 'host', 'afterwards');
		}
	},
	sub {
		$turn++;
		sql_value($node, "DELETE FROM t WHERE k % 53 = $turn");
		$node->safe_psql('postgres', 'VACUUM t');
		sql_value($node, "SELECT gpu.evict('t_text')") if $turn % 3 == 0;
		sql_value($node, "SELECT add($turn * 1000 + 50001, $turn * 1000 + 51000)") if $turn % 2 == 0;
	});

# A copy leaves with its engine, and so do those of mirrors that it had.
kill 'USR1', wait_for_server($node);
compare_with_pages($node, 'host', 'one engine lost');
is(sql_value($node, q{SELECT string_agg(DISTINCT device::text, ' ' ORDER BY device::text) FROM gpu.mirrors}), '0 1', 'the others have its runs');

done_testing();
