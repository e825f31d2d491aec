# suite: check
# What a session has checked of an answer is what it uses: the transfer buffer, which the server process may change at any
# time, is overwritten between the check and the use.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

use constant KEY => 4711;
my $node = new_node('changed', conf => "pg_gpu.path = host\npg_gpu.min_mirror_entries = 0\npg_gpu.request_timeout = 100s\nautovacuum = off\n");
$node->safe_psql('postgres', q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE t AS SELECT i AS k, i % 100 AS x, i / 100 AS y, i % 7 AS c, to_tsvector('simple', 'w' || i % 7 || ' w' || i % 11) AS words FROM generate_series(1, 20000) AS i;
CREATE INDEX t_k ON t USING gpu_kary (k);
CREATE INDEX t_grid ON t USING gpu_grid (x, y);
CREATE INDEX t_column ON t USING gpu_column (x, c);
CREATE INDEX t_text ON t USING gpu_text (words);
ANALYZE t;
CREATE TABLE coded (n int8);
CREATE INDEX coded_n ON coded USING gpu_column (n) WITH (fanout = 64);
INSERT INTO coded SELECT i % 1500 * 1000003::int8 FROM generate_series(1, 12000) AS i;
INSERT INTO coded SELECT (i % 1500 + 700) * 1000003::int8 FROM generate_series(1, 12000) AS i;
});

# The buffer of a session, which nobody but it and the server process can reach otherwise.
sub overwrite_buffer
{
	my ($pid) = @_;
	my ($name) = grep { (readlink($_) // '') =~ m{^/memfd:pg_gpu} } glob("/proc/$pid/fd/*");
	open my $buffer, '+<:raw', $name or die "the session has no buffer: $!";
	my $bytes = -s $buffer;
	# Numbers that are too large beside ones that are too small, as codes of 32 bits and as TIDs, too.
	syswrite $buffer, pack('Q2', ~0, 0) x ($bytes / 16);
	close $buffer;
	return $bytes;
}

# Asks, and overwrites the buffer each time the session has checked an answer. Returns how often, and what came of it.
sub ask_and_change
{
	my ($statement) = @_;
	my $gate = $node->background_psql('postgres', on_error_stop => 1);
	my $key = KEY;
	$gate->query_safe("SELECT pg_advisory_lock($key)");
	my $run = start_sql($node, "LOAD 'pg_gpu'; LOAD 'pg_gpu_test'; SET pg_gpu_test.hold_results = $key; SET enable_seqscan = off; $statement; SELECT 'done'");
	my $changes = 0;
	my $waiting = q{SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event = 'advisory'};
	while (1)
	{
		my $pid = 0;
		wait_until(sub {
			# An error or the statement's end comes at last.
			return 1 if -s $run->{err} || slurp_file($run->{out}) =~ /done/;
			$pid = sql_value($node, $waiting);
			return $pid; });
		last unless $pid;
		overwrite_buffer($pid);
		$changes++;
		# Hands the lock over, and takes it back behind the session.
		$gate->query_safe("SELECT pg_advisory_unlock($key); SELECT pg_advisory_lock($key)");
	}
	$gate->quit;
	my $done = finish_sql($run);
	return ($changes, $done->{code}, $done->{out} =~ s/\ndone\n\z//r);
}

# Rows that the server process tells of are looked up where it says; outside of the table that is an error, as with any index.
my $corrupted = qr/^XX002$/;
my %questions = (
	'gpu.lookup' => q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(100, 900) AS g))},
	'gpu.count' => q{SELECT gpu.count('t_k', ARRAY[10], ARRAY[2000])},
	'a scan of keys' => q{SELECT count(*), sum(x) FROM t WHERE k BETWEEN 10 AND 900},
	'gpu.count of a box' => q{SELECT gpu.count('t_grid', ROW(10, 20), ROW(30, 40))},
	'a scan of a box' => q{SELECT count(*), sum(c) FROM t WHERE x BETWEEN 10 AND 30 AND y BETWEEN 20 AND 40},
	'gpu.count of columns' => q{SELECT gpu.count('t_column', 'x < 20')},
	'gpu.histogram' => q{SELECT sum(count), count(*) FROM gpu.histogram('t_column', 'x', 10, 0, 100)},
	'groups' => q{SELECT string_agg(x || ' ' || n, ',') FROM (SELECT x, count(*) AS n FROM t GROUP BY x ORDER BY x) AS g},
	'gpu.search' => q{SELECT count(*) FROM gpu.search('t_text', 'w1 & w2', 100, 'or')},
	'gpu.intersect' => q{SELECT count(*) FROM gpu.intersect('t_text', '{w1,w2}')},);
$node->safe_psql('postgres', "SELECT gpu.load('$_')") foreach 't_k', 't_grid', 't_column', 't_text';
foreach my $name (sort keys %questions)
{
	my $right = sql_value($node, "SET pg_gpu.path = paged; SET enable_seqscan = off; $questions{$name}");
	is(sql_value($node, "SET enable_seqscan = off; $questions{$name}"), $right, "$name: the server process is right");
	my ($changes, $code, $out) = ask_and_change($questions{$name});
	cmp_ok($changes, '>', 0, "$name: it is asked");
	ok($code eq '' || $code =~ $corrupted, "$name: changed $changes times, the session goes on") or diag("$code $out");
}

# Codes that a merge writes into the index.
my ($changes, $code) = ask_and_change(q{SELECT count(*) FROM gpu.merge('coded_n')});
cmp_ok($changes, '>', 0, 'gpu.merge: the server process merges dictionaries');
is($code, '', 'gpu.merge: changed, the session goes on');
is(sql_value($node, q{SELECT count(*) FROM gpu.runs('coded_n')}), 1, 'gpu.merge: it has merged');
check_sound($node, 'gpu.merge: the index is sound', 'coded_n');

is(bad_log_lines($node), '', 'nothing died');
$node->stop;
done_testing();
