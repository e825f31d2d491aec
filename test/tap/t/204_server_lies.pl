# suite: check
# A server process of another version, and ones that send garbage, half messages, answers to other requests, results that
# lie outside of the buffer, or nothing: every statement gets its right answer from pages, and nobody crashes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

fault_seed();

# This program stands in for pg_gpu_server. What it does is in the file "behaviour" of the data directory.
my $impostor = PostgreSQL::Test::Utils::tempdir . '/impostor';
append_to_file($impostor, <<'PERL');
#!/usr/bin/perl
use strict;
use warnings;
use Socket;

$SIG{CHLD} = 'IGNORE';
my ($name) = map { $ARGV[ $_ + 1 ] } grep { $ARGV[$_] eq '--socket' } 0 .. $#ARGV;
open my $file, '<', 'behaviour' or die;
chomp(my $behaviour = <$file>);
unlink $name;
socket(my $listener, AF_UNIX, SOCK_SEQPACKET, 0) or die;
bind($listener, pack_sockaddr_un($name)) or die;
listen($listener, 20) or die;
print STDERR "listening, to $behaviour\n";

# The header of a reply: magic, type, 0, bytes, answer, request, lacking, times, status, padding.
sub header
{
	my ($magic, $type, $bytes, $answer, $request) = @_;
	return pack('L S S L L Q Q Q Q l x200 x4', $magic, $type, 0, $bytes, $answer, $request, 0, 1, 1, 0);
}

my $process = $$;
while (accept(my $session, $listener))
{
	next if fork;
	close $listener;
	my $number = 0;
	while (defined recv($session, my $message, 8192, 0))
	{
		exit if length $message == 0;
		my ($magic, $type, $engine, $bytes, $deadline, $request) = unpack('L S S L L Q', $message);
		my $hello = pack('L l L L Q L L', $type == 1 ? unpack('x48 L', $message) : 1, $process, 1, 0, 1, 1, 0);
		my $said = $type == 1 || $type == 2 ? header($magic, $type, 288, 0, $request) . $hello : header($magic, $type, 256, 0, $request);
		# These requests come before questions: mirrors are dropped, of which there are none, and listed.
		$said = header($magic, $type, 272, 0, $request) . pack('Q2', 0, 0) if $type == 10 || $type == 31;
		$said = header($magic, $type, 320, 0, $request) . pack('x64') if $type == 14;
		# It claims more mirrors, rows of statistics and devices than there are bytes of memory.
		$said = header($magic, $type, 320, 0, $request) . pack('Q x56', (1 << 63) + 99) if $type >= 14 && $type <= 16 && $behaviour eq 'lies about results';
		# To questions about arrays, grids, columns and lists it says that all results are far away, of one entry in each run.
		my $is_question = grep { $type == $_ } 11 .. 13, 19 .. 21, 23 .. 25, 27 .. 29;
		$said = header($magic, $type, 2320, 0, $request) . pack('Q*', 64, 1, (1 << 60) x 192, (1) x 64) if $is_question;
		$said = header($magic, $type, 1808, 0, $request) . pack('Q*', 64, 1, (1 << 60) x 192) if $type >= 23 && $type <= 25;
		# For columns it makes up a row in each run, about which nobody asked.
		$said = header($magic, $type, 1808, 0, $request) . pack('Q*', 64, 1, (64) x 64, (1) x 64, (64) x 64) if $behaviour eq 'made-up rows' && $type >= 23 && $type <= 25;
		if ($behaviour eq 'mismatch') { $said = header($magic, $type, 256, 2, $request); }
		elsif ($behaviour eq 'garbage') { $said = join '', map { chr rand 256 } 1 .. 300; }
		elsif ($behaviour eq 'garbage later' && $type > 2) { $said = join '', map { chr rand 256 } 1 .. 300; }
		elsif ($behaviour eq 'half messages' && $type > 2) { $said = substr $said, 0, 100; }
		elsif ($behaviour eq 'long messages' && $type > 2) { $said .= 'x' x 5000; }
		elsif ($behaviour eq 'other requests' && $type > 2) { $said = header($magic, $type, 256, 0, $request + 1); }
		elsif ($behaviour eq 'silence') { next; }
		elsif ($behaviour eq 'silence later' && $type > 2) { next; }
		elsif ($behaviour eq 'hanging up') { exit; }
		elsif ($behaviour eq 'telling deadlines' && $is_question) { print STDERR "asked for an answer within $deadline ms\n"; exit; }
		elsif ($behaviour eq 'hanging up later' && $type > 2) { exit; }
		# It ends its main process first, and then this connection's. Where the fault is the question's, it says so.
		elsif ($behaviour =~ /^(SEGV|KILL)( of others)? on questions$/ && $is_question)
		{
			printf STDERR "a request ends the process: %u %u %u %u on engine %u\n", unpack('x32 L4', $message), $engine if $1 eq 'SEGV' && !$2;
			kill $1, $process;
			exit;
		}
		send($session, $said, 0);
	}
	exit;
}
PERL
chmod 0755, $impostor or die;

my $node = new_node('lies', conf => "pg_gpu.path = paged\npg_gpu.request_timeout = 200ms\n");
make_table($node, rows => 5_000, keys => 10_000);
my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 3000) AS g))};
my $right = sql_value($node, 'SELECT count(*) FROM t WHERE k BETWEEN 0 AND 3000');
my $count = sql_value($node, 'SELECT count(*) FROM t WHERE k BETWEEN 10 AND 2000');
$node->safe_psql('postgres', q{CREATE TABLE doc AS SELECT to_tsvector('simple', 'w' || i % 7 || ' w' || i % 11) AS tsv FROM generate_series(1, 3000) AS i;
	CREATE INDEX doc_tsv ON doc USING gpu_text (tsv)});
my $search = q{SELECT count(*), sum(score) FROM gpu.search('doc_tsv', 'w1 & w2', 5000, 'or')};
my $intersect = q{SELECT count(*) FROM gpu.intersect('doc_tsv', '{w1,w2}')};
$node->safe_psql('postgres', q{CREATE TABLE place AS SELECT i % 100 AS x, i / 100 AS y, (i % 16)::money AS m FROM generate_series(1, 20000) AS i;
	CREATE INDEX place_grid ON place USING gpu_grid (x, y); CREATE INDEX place_columns ON place USING gpu_column (x, m); ANALYZE place});
my $boxes = q{SELECT gpu.count('place_grid', ROW(10, 20), ROW(30, 40))};
my $inside = sql_value($node, 'SELECT count(*) FROM place WHERE x BETWEEN 10 AND 30 AND y BETWEEN 20 AND 40');
my $columns = q{SELECT gpu.count('place_columns', 'x < 20')};
my $bitmap = q{SET enable_seqscan = off; SELECT count(*) FROM place WHERE m = 7::money};
my $few = sql_value($node, 'SELECT count(*) FROM place WHERE x < 20');
my $paid = sql_value($node, 'SELECT count(*) FROM place WHERE m = 7::money');
my $ranked = sql_value($node, $search);
my $common = sql_value($node, $intersect);
$node->stop;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_gpu'\n");

my %reasons = (
	'mismatch' => qr/of another version/,
	'garbage' => qr/no reply|no server process|closed the connection/,
	'garbage later' => qr/no reply/,
	'half messages' => qr/no reply/,
	'long messages' => qr/no reply/,
	'other requests' => qr/no reply/,
	'lies about results' => qr/outside of the transfer buffer/,
	'made-up rows' => qr/outside of the transfer buffer/,
	'silence' => qr/no answer within/,
	'silence later' => qr/no answer within/,
	'hanging up' => qr/closed the connection|no server process/,
	'hanging up later' => qr/closed the connection|broke/,);

local $ENV{PG_GPU_SERVER} = $impostor;
foreach my $behaviour (sort keys %reasons)
{
	my $file = $node->data_dir . '/behaviour';
	unlink $file;
	append_to_file($file, "$behaviour\n");
	# Only silence may be taken for a timeout, and not a slow processor, so the timeout is short only there. It isn't
	# long elsewhere, because some requests wait it out in vain there, too.
	$node->adjust_conf('postgresql.conf', 'pg_gpu.request_timeout', $behaviour =~ /^silence/ ? '200ms' : '1s');
	$node->start;
	ok(wait_for_log($node, qr/listening, to $behaviour$/), "$behaviour: there is such a process");
	my $session = new_session($node);
	$session->query_safe('SET pg_gpu.path = host');
	is($session->query_safe($question), $right, "$behaviour: gpu.lookup is right");
	is($session->query_safe(q{SELECT gpu.count('t_k', ARRAY[10], ARRAY[2000])}), $count, "$behaviour: gpu.count is right");
	is($session->query_safe($question), $right, "$behaviour: again");
	is($session->query_safe($search), $ranked, "$behaviour: gpu.search is right");
	is($session->query_safe($intersect), $common, "$behaviour: gpu.intersect is right");
	is($session->query_safe($boxes), $inside, "$behaviour: gpu.count of a box is right");
	foreach my $asked ([ 'gpu.count of columns', $columns, $few ], [ 'a scan of columns', $bitmap, $paid ])
	{
		my ($name, $statement, $answer) = @$asked;
		# Rows that it tells of are looked up in the table. One outside of the table is an error, as with any index.
		my (undef, $out, $err) = $node->psql('postgres', "SET client_min_messages = error; SET pg_gpu.path = host; $statement");
		ok($out eq $answer || ($behaviour eq 'made-up rows' && $err =~ /TID lies outside the table/), "$behaviour: $name is right") or diag "$out $err";
	}
	is($session->query_safe('SELECT count(*) FROM gpu.mirrors') . $session->query_safe('SELECT count(*) FROM gpu.devices()'), '00',
		"$behaviour: lists are empty") if $behaviour eq 'lies about results';
	like($session->query_safe(q{SELECT string_agg(last_reason, ' ') FROM gpu.stat WHERE path = 'host'}), $reasons{$behaviour},
		"$behaviour: gpu.stat tells");
	$session->quit;
	my ($rc, $out, $err) = $node->psql('postgres', "SET pg_gpu.path = host; $question; $question");
	is($out, "$right\n$right", "$behaviour: another session's answers are right");
	like($err, qr/\A(?:psql:<stdin>:\d+: )?NOTICE:  path "host" is not available\nDETAIL:  The paged path is used instead.\nHINT:  Set pg_gpu.path to "auto" or "paged".\z/,
		"$behaviour: it is told, once") if $behaviour !~ /^(lies about results|made-up rows)$/;
	is(bad_log_lines($node), '', "$behaviour: nothing died");
	$node->stop;
}

# ---- deadlines ------------------------------------------------------------------------------------------------------

# A session's estimates are part of its deadlines, but a session that has made up what things cost asks nobody to work for days.
{
	my $file = $node->data_dir . '/behaviour';
	unlink $file;
	append_to_file($file, "telling deadlines\n");
	$node->adjust_conf('postgresql.conf', 'pg_gpu.request_timeout', '10s');
	$node->start;
	ok(wait_for_log($node, qr/listening, to telling deadlines$/), 'there is a process that tells deadlines');
	my @deadlines;
	foreach my $cost ('1', '3e4', '1e6')
	{
		my $from = -s $node->logfile;
		my ($deadline, $tries, $reasons) = (-1, 0, '');
		# A session that is short of processor time may find the process too slow to connect to, and asks pages.
		until ($deadline >= 0 || $tries++ == 5)
		{
			my $out = sql_value($node, "SET client_min_messages = error; LOAD 'pg_gpu_test'; SET pg_gpu.path = host; SET pg_gpu_test.costs = 'host_request = $cost, host_key = $cost'; $question;"
				  . q{SELECT ';' || coalesce(string_agg(last_reason, ' '), '') FROM gpu.stat WHERE path = 'host'});
			(my $answer, $reasons) = split /\n;/, $out;
			is($answer, $right, "at a cost of $cost a lookup is right") if $tries == 1 || $answer ne $right;
			$deadline = $1 if slurp_file($node->logfile, $from) =~ /asked for an answer within (\d+) ms/;
		}
		ok($deadline >= 0, "at a cost of $cost the process is asked") or diag $reasons;
		push @deadlines, $deadline;
	}
	cmp_ok($deadlines[0], '>=', 10_000, 'the server process has at least pg_gpu.request_timeout');
	cmp_ok($deadlines[0], '<', 11_000, 'and hardly more');
	cmp_ok($deadlines[1], '>=', 100_000, 'a request that takes a minute and a half has that time');
	is($deadlines[2], 3_610_000, 'an hour more at most');
	$node->stop;
}

# ---- quarantine -----------------------------------------------------------------------------------------------------

# Where the choice of a path is free, a request that crashes the server process is not sent again, by nobody. One that was
# under way when somebody killed the process is, or when another one crashed it.
sub fallbacks { my ($session, $request) = @_; return $session->query_safe("SELECT coalesce(sum(fallbacks), 0) FROM gpu.stat WHERE path = 'host' AND request = '$request'"); }
my %kept = (SEGV => 1, KILL => 0, 'SEGV of others' => 0);
my $new_session = sub
{
	my $session = new_session($node);
	$session->query_safe(q{LOAD 'pg_gpu_test'; SET pg_gpu.path = auto; SET pg_gpu_test.costs = 'paged_key = 1e6, host_request = 0.01, host_key = 0.001, host_entry = 0.001, transfer = 0.01'});
	return $session;
};
foreach my $signal (sort keys %kept)
{
	my $file = $node->data_dir . '/behaviour';
	unlink $file;
	append_to_file($file, "$signal on questions\n");
	$node->start;
	my $from = -s $node->logfile;
	ok(wait_for_log($node, qr/listening, to $signal on questions$/), "$signal: there is a process that ends by questions");
	my $session = $new_session->();
	is($session->query_safe($question), $right, "$signal: a lookup is right");
	is(fallbacks($session, 'lookup'), 1, "$signal: it was sent");
	ok(wait_until(sub { return log_count($node, qr/LOG:  pg_gpu server process \d+ ended:/, $from) > 0 && log_count($node, qr/listening, to/, $from) > 1; }),
		"$signal: there is another process");
	# After each failure the path isn't used for a moment. Then the request is sent again, or kept from it.
	my $kept = sub { return log_count($node, qr/LOG:  requests "lookup" to index "t_k" are kept from path host for 60 s/, $from); };
	my $answer;
	ok(wait_until(sub { $answer = $session->query_safe($question); return $answer ne $right || $kept->() > 0 || fallbacks($session, 'lookup') > 1; }),
		"$signal: the path is thought of again");
	is($answer, $right, "$signal: the next ones are right");
	is(fallbacks($session, 'lookup'), 2 - $kept{$signal}, $kept{$signal} ? "$signal: none was sent" : "$signal: one was sent, too");
	is($kept->(), $kept{$signal}, "$signal: what the log tells");
	# The supervisor, to which this program says nothing, ends such processes, too.
	my $crashes = sub { return log_count($node, qr/LOG:  pg_gpu server process \d+ ended: it stopped by itself/, $from); };
	my $sent = 2 - $kept{$signal};
	ok(wait_until(sub { return $crashes->() == $sent; }), "$signal: a process has ended for each that was sent");
	if ($kept{$signal})
	{
		my $other = $new_session->();
		is($other->query_safe($question), $right, "$signal: another session is right");
		is(fallbacks($other, 'lookup'), $sent, "$signal: and doesn't send it either");
		$other->quit;
	}
	$session->query_safe('SET pg_gpu.path = host');
	ok(wait_until(sub { $answer = $session->query_safe($question); return $answer ne $right || $crashes->() > $sent; }), "$signal: a forced path is taken");
	is($answer, $right, "$signal: and the answer is right");
	$session->quit;
	is(bad_log_lines($node), '', "$signal: nothing of PostgreSQL's died");
	$node->stop;
}

done_testing();
