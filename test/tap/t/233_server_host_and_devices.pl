# suite: long
# What devices have no room for lies with the host engine, and questions are asked of both: emulated devices are the devices. Indexes are larger than one device, and than all of
# them; runs are divided between devices and host; nothing leaves that is used while there is room; an index that fits nowhere is read on pages.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::EveryRequest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant CUDA => 'SET pg_gpu.path = cuda';
use constant PAGED => 'SET pg_gpu.path = paged; SET pg_gpu.enable_query = off';

local $ENV{PG_GPU_SERVER} = server_with('--engines host,emulated --colocated-bytes 0 --testing');
my $node = new_node('overflow', conf => "autovacuum = off\njit = off\npg_gpu.request_timeout = 60s\npg_gpu.min_mirror_entries = 0\n"
	. "pg_gpu.device_memory_limit = 1MB\npg_gpu.host_memory_limit = 64MB\n");
make_every_index($node);
sub compare { return compare_with_pages($node, 'cuda', @_); }
# Where the mirrors lie that answer for the device: numbers of devices, and - for the machine's memory.
sub places
{
	my ($where) = @_;
	return sql_value($node, q{SELECT string_agg(place, ' ' ORDER BY place COLLATE "C") FROM (SELECT DISTINCT coalesce(device::text, '-') AS place FROM gpu.mirrors WHERE path = 'cuda' AND }
		. ($where // 'true') . ') AS p');
}
sub explain_path { return sql_value($node, $_[0]) =~ /Path: ([a-z, ]+)/ ? $1 : 'none'; }
my $within_limits = 'SELECT count(*) FROM gpu.devices() WHERE memory_used > memory_limit';

# ---- one device -----------------------------------------------------------------------------------------------------------

compare('one device and the host');
is(sql_value($node, q{SELECT string_agg(concat_ws(' ', device, name, engine, state), '; ' ORDER BY device) FROM gpu.devices()}), '0 emulated cuda ready', 'a device, of a kind');
is(places(), '- 0', 'both have runs');
is(sql_value($node, $within_limits), 0, 'no more than there is room for');
# Where a question finds no memory to compute with on the device, one of its runs goes, once.
cmp_ok(sql_value($node, q{SELECT evictions FROM gpu.server}), '<=', 1, 'and what is used stayed');
is(sql_value($node, q{SELECT count(*) FROM gpu.mirrors WHERE path = 'host'}), 0, 'nothing answers for the host');
sql_value($node, 'DELETE FROM t WHERE k % 9 = 0');
compare('after a DELETE');
$node->safe_psql('postgres', 'VACUUM t');
compare('after VACUUM');
$node->safe_psql('postgres', CUDA . "; SELECT count(*) FROM gpu.merge('$_')") foreach every_index();
is(sql_value($node, "SELECT count(*) FROM gpu.verify('$_')"), 0, "$_ is sound after a merge") foreach every_index();
compare('after a merge');
$node->safe_psql('postgres', 'SELECT gpu.evict_all()');

# A run that the device hasn't room for.
$node->safe_psql('postgres', q{
CREATE TABLE wide (k int8, a int8, b float8);
INSERT INTO wide SELECT i, hashint8(i), hashint8(i) / 4.0 FROM generate_series(1, 200000) AS i;
CREATE INDEX wide_c ON wide USING gpu_column (k, a, b);
CREATE INDEX wide_k ON wide USING gpu_kary (k);
});
$node->safe_psql('postgres', 'VACUUM ANALYZE wide');
my @wide = ('SELECT count(*), sum(a), min(b), max(k) FROM wide WHERE a > 1000', 'SELECT a % 50 AS g, count(*), sum(k), avg(b) FROM wide GROUP BY g ORDER BY g',
	'SELECT k, a, b FROM wide ORDER BY a DESC, k LIMIT 20', 'SELECT count(DISTINCT a) FROM wide WHERE k > 777', 'SELECT a, sum(k) FROM wide GROUP BY a ORDER BY sum(k) DESC, a LIMIT 5',
	q{SELECT bin, count FROM gpu.histogram('wide_c', 'a', 16) ORDER BY 1}, q{SELECT gpu.count('wide_c', $$a > 0 AND k < 150000$$)});
sub compare_wide
{
	my ($title) = @_;
	foreach my $question (@wide)
	{
		is(sql_value($node, 'SET enable_seqscan = off; ' . CUDA . "; $question"), sql_value($node, PAGED . "; $question"), "$title: $question");
	}
	return;
}
compare_wide('a run that is divided');
is(places(q{index_name = 'wide_c'::regclass}), '- 0', 'between the device and the host');
is(sql_value($node, q{SELECT sum(entries) = 200000 AND max(parts) = 2 FROM gpu.mirrors WHERE index_name = 'wide_c'::regclass}), 't', 'all of it');
is(explain_path('SET enable_seqscan = off; ' . CUDA . "; EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $wide[0]"), 'cuda, host', 'which EXPLAIN tells');
cmp_ok(sql_value($node, CUDA . "; SELECT gpu.load('wide_k')"), '>', 2_000_000, 'keys, too, find room');
my ($code, $output, $messages) = $node->psql('postgres', CUDA . "; SELECT gpu.load('wide_k'); SELECT gpu.evict('wide_k'); SELECT gpu.load('wide_k')");
like($messages, qr/NOTICE:  \d+ kB of index "wide_k" lie in the machine's memory\nDETAIL:  No device has room for them/, 'gpu.load tells of it');
my $lookup = q{SELECT count(*), sum(ordinal), sum((l.tid::text::point)[0]) FROM gpu.lookup('wide_k', ARRAY(SELECT generate_series(-5, 210000::bigint, 7))) AS l};
is(sql_value($node, CUDA . "; $lookup"), sql_value($node, PAGED . "; $lookup"), 'and are found');
is(sql_value($node, $within_limits), 0, 'no more than there is room for');

# What has no room anywhere is read on pages, and gpu.load says how much that is.
set_host_limit($node, '1MB');
ok(wait_until(sub { return sql_value($node, 'SELECT host_memory_limit <= 1048576 AND host_memory_used <= 1048576 FROM gpu.server') eq 't' }), 'a lower limit holds for what lies with the host');
compare_wide('hardly any room');
my $refused = sql($node, CUDA . "; SELECT gpu.load('wide_c')");
is($refused->{code}, '53200', 'gpu.load refuses');
set_host_limit($node, '64MB');
ok(wait_until(sub { return sql_value($node, 'SELECT host_memory_limit > 1048576 FROM gpu.server') eq 't' }), 'room again');
ok(wait_until(sub { return sql($node, CUDA . q{; SELECT gpu.load('wide_c')})->{code} eq '' }), 'is used');
compare_wide('room again');

# Room on the device: what the host has stays there, until it is loaded anew.
change_setting($node, 'pg_gpu.device_memory_limit', '256MB');
ok(wait_until(sub { return sql_value($node, 'SELECT max(memory_limit) > 1048576 FROM gpu.devices()') eq 't' }), 'a higher limit for the device');
compare_wide('room on the device');
is(places(), '- 0', 'nothing moves');
$node->safe_psql('postgres', 'SELECT gpu.evict_all()');
$node->safe_psql('postgres', CUDA . "; SELECT gpu.load('$_')") foreach every_index(), 'wide_c', 'wide_k';
compare_wide('loaded anew');
is(places(), '0', 'what is loaded anew goes to the device');
# Dictionaries of strings, which a gpu_column index has few of here, always lie in the machine's memory.
cmp_ok(sql_value($node, q{SELECT host_memory_used FROM gpu.server}), '<', 4096, 'and nothing else stays');
change_setting($node, 'pg_gpu.device_memory_limit', '1MB');

# ---- several devices ------------------------------------------------------------------------------------------------------

$ENV{PG_GPU_SERVER} = server_with('--engines host,emulated,emulated --colocated-bytes 0 --divide-all --testing');
$node->restart;
compare('two devices and the host');
my $pid = wait_for_server($node);
compare_wide('two devices and the host');
is(places(), '- 0 1', 'all have runs');
is(sql_value($node, q{SELECT max(parts) FROM gpu.mirrors}), 3, 'and parts of runs');
kill 'USR1', $pid;
compare('one device lost');
compare_wide('one device lost');
is(places(), '- 0', 'the others have its runs');
is(wait_for_server($node), $pid, 'the server process goes on');
is(sql_value($node, $within_limits), 0, 'no more than there is room for');

done_testing();
